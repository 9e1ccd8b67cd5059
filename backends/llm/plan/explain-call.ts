/** What would become of a call, for people who ask: whom it goes to and why, what it costs (docs/explain.md). */
import type { AiBackend, AiCache, AiProvider, AiRanking } from '#backends/llm/config/snapshot.ts'
import { providerModel } from '#backends/llm/request/provider-request.ts'
import { costAtMost, inputTokensAtMost, isFree } from '#backends/llm/usage/spending.ts'
import { REQUEST_HEAD_ROOTS, REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import { showReads } from '#engine/cel/show-reads.ts'
import type { CallCache, CallExplanation, CallPrice, CallTarget } from '#engine/contract/call-explanation.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { decimalText, PICO_PLACES } from '#engine/kit/money.ts'
import { ratesFor } from '#engine/prices/cost.ts'
import { nameOf, originOf, ratesText } from '#engine/prices/shown.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderSlot } from './balancer.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { usualCost } from './ranking.ts'

type Slot = ProviderSlot<ProviderRuntime>

/** Targets of one model are few; of a file that has more the first are shown. */
const TARGETS_MAX = 32

/** `groups`: all of its providers. `ex`: as it is sent. `state` null: nothing is asked. */
export function explainCall(
  ex: Exchange,
  state: Attempts | null,
  groups: readonly (readonly Slot[])[],
  backend: AiBackend
): CallExplanation | null {
  if (state === null) return null
  const { ranking, fallbacks = [], cache, branch } = backend
  const chosen = state.tried.at(-1) ?? null
  const bytes = state.original?.byteCount ?? ex.requestBytes?.length ?? 0
  const all = groups.flatMap((group, i) =>
    group.map((slot): CallTarget => {
      const { settings, prices } = slot.provider
      const usual = ranking?.kind === 'cost' ? usualCost(slot, bytes, state) : null
      return {
        name: shownName(settings),
        provider: prices.name,
        model: modelOf(slot, state),
        priority: i + 1,
        isChosen: slot === chosen,
        usualCost: usual === null ? null : decimalText(usual, PICO_PLACES)
      }
    })
  )
  return {
    branch: branch === undefined ? null : branchText(branch, ex),
    targets: all.slice(0, TARGETS_MAX),
    choice: choiceOf(ranking, all.length, ex),
    fallbacks: fallbacks.map(({ on, providers }) => ({ on, targets: providers.map(shownName) })),
    cache: cache === undefined ? null : cacheOf(cache, state, ex),
    price: chosen === null ? null : priceOf(ex, state, chosen.provider)
  }
}

const shownName = ({ name, called = name }: AiProvider): string => called

/** Null: the request names none, and neither does the target. */
function modelOf({ provider: { settings, aliases } }: Slot, { chat }: Attempts): string | null {
  const requested = chat?.model ?? ''
  return requested === '' && settings.model === null ? null : providerModel(requested, settings.model, aliases)
}

// --- who is asked ---

const SEEN = 'decided by what the worker has seen, which is not known here'

function choiceOf(ranking: AiRanking | undefined, count: number, ex: Exchange): string {
  if (count === 1) return 'there is one target'
  switch (ranking?.kind) {
    case 'cost':
      return 'cost: the lowest usual price for this request'
    case 'latency':
      return `latency: the one that has begun its answers soonest, ${SEEN}; ${ranking.explore * 100} % go to any`
    case 'leastBusy':
      return `leastBusy: the one with the fewest calls under way, ${SEEN}`
    case 'consistentHash': {
      const { key, prefixChars } = ranking
      const what = key === null ? `how the prompt begins, ${prefixChars} characters` : readsOf(key, ex)
      return `consistentHash: by ${what}; without it, or where one has more than its share, the fewest calls under way`
    }
    case undefined:
      return `of those with the lowest priority the better of two by latency and load, ${SEEN}`
  }
}

function branchText({ name, when, key, percent }: NonNullable<AiBackend['branch']>, ex: Exchange): string {
  if (when !== undefined) return `${name}: the first condition that is true: ${readsOf(when, ex, 'bool')}`
  const share = `${Number(percent.toFixed(2))} % of what no condition takes`
  return key === undefined ? `${name}: drawn, ${share}` : `${name}: by ${readsOf(key, ex)}, ${share}`
}

/** The expression and what it reads, without secrets. It has passed the schema. */
function readsOf(source: string, ex: Exchange, type?: 'bool', roots = REQUEST_HEAD_ROOTS): string {
  return showReads(compileExpression(source, roots, type), roots, ex, type === undefined)
}

// --- whether anybody is ---

const SCOPES: { readonly [scope in AiCache['scope']]: string } = {
  key: 'clients with the same key, subject or credential',
  team: 'clients of the same team',
  all: 'all clients'
}

function cacheOf({ key, scope }: AiCache, { flight }: Attempts, ex: Exchange): CallCache {
  const isFresh = flight?.status === 'bypass'
  return {
    key: key === null ? 'the whole body' : readsOf(key, ex, undefined, REQUEST_ROOTS),
    scope: SCOPES[scope],
    lookup:
      flight === null
        ? 'its answer is neither looked for nor kept'
        : isFresh
          ? 'its answer is not looked for, as the client wants, and it is kept'
          : 'its answer is looked for; whether it is there is known to the gateway that runs'
  }
}

// --- what it costs ---

function priceOf(ex: Exchange, state: Attempts, { prices }: ProviderRuntime): CallPrice {
  const { currency } = prices
  if (isFree(state)) return { currency, row: null, atMost: '0', note: 'such calls cost nothing' }
  const model = ex.llm?.requestModel ?? ''
  const price = prices.rowFor(model)
  if (price === null) {
    const note = `there is no price for ${JSON.stringify(model)} of ${prices.name}: what it costs is not known`
    return { currency, row: null, atMost: null, note }
  }
  const { row } = price
  const tokens = inputTokensAtMost(ex, state)
  const long = row.long.find(({ above }) => tokens > above)
  const tiers = Object.keys(row.tiers)
  const cost = costAtMost(ex, state, prices)
  return {
    currency,
    row: {
      name: nameOf(row),
      origin: originOf(price),
      tier: long === undefined ? 'usual' : `above ${long.above} tokens of input`,
      rates: ratesText(ratesFor(row, tokens))
    },
    atMost: cost === null ? null : decimalText(cost, PICO_PLACES),
    note: tiers.length === 0 ? null : `the answer may name another tier, with prices of its own: ${tiers.join(', ')}`
  }
}
