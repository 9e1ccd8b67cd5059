/** What people are shown of a call's key, and of what its backend says of it: nothing secret, nothing too long. */
import { budgetText } from '#engine/accounts/budget-report.ts'
import type { LookedKey } from '#engine/accounts/looking.ts'
import { ownerText } from '#engine/accounts/refusals.ts'
import type { RateSpec } from '#engine/contract/accounts.ts'
import type { CallExplanation } from '#engine/contract/call-explanation.ts'
import { decimalText, NANO_PLACES, PICO_PLACES } from '#engine/kit/money.ts'
import { shownText } from '#engine/story/shown.ts'
import type { ShownKey } from './explanation.ts'

export const NOT_JUDGED =
  'limits and budgets of the key are not judged: what is used of them is known only to the gateway that runs'
export const NOT_COUNTED = 'requests at a time of the key, and limits that a server keeps, are not judged'

/** `currency`: ISO 4217, of all amounts. */
export function shownKey(key: LookedKey, currency: string): ShownKey {
  const { spec, organisation, accounts, model, setAside, judged } = key
  return {
    id: spec.name,
    owner: spec.owner === null ? null : shownText(spec.owner),
    team: spec.team,
    organisation,
    model: model && {
      name: shownText(model.name),
      isAllowed: model.refusedBy.length === 0,
      refusedBy: model.refusedBy.map(ownerText)
    },
    limits: accounts.flatMap(({ id, spec: { limits, concurrency } }) => {
      const rates = limits.map((rate) => ({ limit: rateText(rate), left: judged?.leftOfRate(id, rate) ?? null }))
      const atATime = concurrency === null ? [] : [{ limit: `${concurrency} requests at a time`, left: null }]
      return [...rates, ...atATime].map((one) => ({ of: ownerText(id), ...one }))
    }),
    budgets: accounts.flatMap(({ id, spec: { budgets } }) =>
      budgets.map((budget) => {
        const left = judged === null ? null : decimalText(judged.leftOfBudget(id, budget), NANO_PLACES)
        return { of: ownerText(id), budget: budgetText(budget, currency), left }
      })
    ),
    setAside: typeof setAside === 'number' ? decimalText(setAside, PICO_PLACES) : null
  }
}

const rateText = ({ amount, kind, unitMs, burst }: RateSpec): string =>
  `${amount} ${kind} per ${unitMs / 1_000}s${burst === 0 ? '' : ` and a burst of ${burst}`}`

/** Clients choose names of models. */
export function shownCall(call: CallExplanation): CallExplanation {
  const { targets, price } = call
  return {
    ...call,
    targets: targets.map((target) => ({ ...target, model: target.model === null ? null : shownText(target.model) })),
    price: price && { ...price, note: price.note === null ? null : shownText(price.note) }
  }
}

/** Lines for people. */
export function keyLines({ id, owner, team, organisation, model, limits, budgets, setAside }: ShownKey): string[] {
  const whose = Object.entries({ owner, team, organisation }).flatMap(([name, value]) =>
    value === null ? [] : [`${name} ${value}`]
  )
  const lines = [`key       ${[id, ...whose].join(', ')}`]
  if (model !== null) {
    const verdict = model.isAllowed ? 'is allowed' : `is not allowed by ${model.refusedBy.join(', ')}`
    lines.push(`  model   ${model.name === '' ? 'none that is named' : model.name} ${verdict}`)
  }
  for (const { of, limit, left } of limits) lines.push(`  limit   of ${of}: ${limit} (${leftText(left)})`)
  for (const { of, budget, left } of budgets) lines.push(`  budget  of ${of}: ${budget} (${leftText(left)})`)
  if (setAside !== null) lines.push(`  aside   ${setAside} is set aside in each budget until the cost is known`)
  return lines
}

const leftText = (left: number | string | null): string => (left === null ? 'not judged' : `${left} left`)

/** Lines for people. */
export function callLines({ branch, targets, choice, fallbacks, cache, price }: CallExplanation): string[] {
  const lines = branch === null ? [] : [`  branch  ${branch}`]
  lines.push(`  choice  ${choice}`)
  for (const { name, provider, model, priority, isChosen, usualCost } of targets) {
    const cost = usualCost === null ? '' : `, ${usualCost} for this request`
    const chosen = isChosen ? ', asked here' : ''
    lines.push(
      `  target  ${name}: ${provider}${model === null ? '' : ` ${model}`}, priority ${priority}${cost}${chosen}`
    )
  }
  for (const one of fallbacks) lines.push(`  after   ${one.on.join(', ')}: ${one.targets.join(', ')}`)
  if (cache !== null) lines.push(`  cache   by ${cache.key}, for ${cache.scope}: ${cache.lookup}`)
  return price === null ? lines : [...lines, ...priceLines(price)]
}

function priceLines({ row, atMost, currency, note }: NonNullable<CallExplanation['price']>): string[] {
  const lines: string[] = []
  if (row !== null) {
    const { name, origin, tier, rates } = row
    lines.push(`  price   ${name}, ${origin}; ${tier}: ${rates} (${currency}, tokens per million)`)
  }
  if (atMost !== null) lines.push(`  costs   ${atMost} ${currency} at most`)
  if (note !== null) lines.push(`  price   ${note}`)
  return lines
}
