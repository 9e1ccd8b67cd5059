/** Why a provider was drawn (ModelRouting), from what was known between the choice and the attempt. */
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { LeftReason, LeftTarget, ModelRouting } from '#engine/contract/model-routing.ts'
import { unitsOf } from '#engine/contract/model-use.ts'
import { decimalText, PICO_PLACES } from '#engine/kit/money.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderSlot } from './balancer.ts'
import { isTooLong } from './prompt-size.ts'
import type { ProviderRuntime } from './provider-runtime.ts'
import { isOverShare, usualCost } from './ranking.ts'

type Slot = ProviderSlot<ProviderRuntime>

/** Targets of one model are few; of a file that has more, these are told. */
const EXCLUDED_MAX = 32

interface Drawing {
  readonly ex: Exchange
  readonly state: Attempts
  readonly backend: AiBackend
  readonly now: number
}

/** `all`: the targets of the model, or of the list for errors that is gone through. `chosen` has not been asked yet. */
export function whyDrawn(drawing: Drawing, chosen: Slot, all: readonly Slot[]): ModelRouting {
  const { state, backend } = drawing
  const strategy = strategyOf(drawing)
  const group = state.groups.find((slots) => slots.includes(chosen)) ?? [chosen]
  const mayBe = group.filter((slot) => !state.tried.includes(slot) && isFree(slot, drawing.now))
  const among = strategy === 'consistentHash' ? mayBe.filter((slot) => !isPassedOver(slot, mayBe, state)) : mayBe
  const left = all.filter((slot) => slot !== chosen && !among.includes(slot)).slice(0, EXCLUDED_MAX)
  const { text, figure } = among.includes(chosen) ? reasonOf(drawing, strategy, chosen, among) : NOBODY_FREE
  return {
    strategy,
    target: shownName(chosen),
    candidates: among.includes(chosen) ? among.length : 0,
    excluded: left.map((slot) => leftOf(drawing, slot, { group, mayBe })),
    ...(figure === undefined ? {} : { figure }),
    reason: text,
    ...(state.failedBy === null ? {} : { fallback: state.failedBy }),
    ...(state.hasShadow ? { shadow: backend.shadow!.provider.called ?? backend.shadow!.provider.name } : {})
  }
}

export const shownName = ({ provider: { settings } }: Slot): string => settings.called ?? settings.name

function strategyOf({ state, backend }: Drawing): string {
  if (state.kept.isAny || state.kept.store !== null) return 'stored'
  return backend.branch?.strategy ?? backend.ranking?.kind ?? 'failover'
}

const isFree = ({ isUp, health }: Slot, now: number): boolean => isUp() && health.breaker.allows(now)

const isPassedOver = (slot: Slot, slots: readonly Slot[], { choose }: Attempts): boolean =>
  choose?.isKeyless !== true && isOverShare(slot, slots)

// --- the others ---

function leftOf(
  drawing: Drawing,
  slot: Slot,
  { group, mayBe }: { readonly group: readonly Slot[]; readonly mayBe: readonly Slot[] }
): LeftTarget {
  const { health } = slot
  const { home } = drawing.state
  const isListed = home === null || home.some((slots) => slots.includes(slot))
  const last = isListed ? 'priority' : 'other_list'
  const reason = reasonToLeave(drawing, slot, mayBe) ?? (group.includes(slot) ? 'over_share' : last)
  const forMs = Math.ceil(health.breaker.openUntil - drawing.now)
  return { target: shownName(slot), reason, ...(reason === 'circuit_open' ? { forMs } : {}) }
}

/** Null: nothing is wrong with it. */
function reasonToLeave({ ex, state, now }: Drawing, slot: Slot, mayBe: readonly Slot[]): LeftReason | null {
  if (mayBe.includes(slot)) return null
  if (state.passedOver.includes(slot)) return 'cannot_take_it'
  if (state.tried.includes(slot)) return 'tried'
  const { settings, account } = slot.provider
  if (state.kept.store !== null && account.store !== state.kept.store) return 'other_account'
  const { contextTokens } = settings
  if (contextTokens !== undefined && isTooLong(ex, state, contextTokens)) return 'context_too_long'
  const { breaker } = slot.health
  if (!breaker.allows(now)) return breaker.openUntil > now ? 'circuit_open' : 'probe_under_way'
  return slot.isUp() ? null : 'unhealthy'
}

// --- the one that was drawn ---

interface Reason {
  readonly text: string
  readonly figure?: number | undefined
}

const NOBODY_FREE: Reason = { text: 'all rest: the one that is back first' }

function reasonOf(drawing: Drawing, strategy: string, chosen: Slot, among: readonly Slot[]): Reason {
  const { ex, state, backend } = drawing
  const { branch } = backend
  // Which of several backends a request gets is drawn ahead of them; what follows an error is the order of the file.
  if (branch !== undefined && state.tried.length === 0) return branchReason(branch)
  if (strategy === 'stored') return { text: 'it keeps what the request names' }
  if (among.length === 1) return { text: 'the only one that can be asked', figure: figureOf(drawing, strategy, chosen) }
  const figure = figureOf(drawing, strategy, chosen)
  switch (strategy) {
    case 'cost': {
      const cost = usualCost(chosen, ex.requestBytes?.length ?? 0, state)
      if (cost === null) return { text: `no price is known of any of ${among.length}` }
      const text = `${decimalText(cost, PICO_PLACES)} ${chosen.provider.prices.currency}, the lowest of ${among.length}`
      return { text, figure }
    }
    case 'latency':
      return latencyReason(chosen, among)
    case 'leastBusy':
      return { text: `${calls(chosen)} under way, the fewest of ${among.length}`, figure }
    case 'consistentHash':
      return state.choose?.isKeyless === true
        ? { text: `without a key: ${calls(chosen)} under way, the fewest of ${among.length}`, figure }
        : { text: `the hash of the key, of ${among.length}` }
    default:
      return { text: `latency by load ${rounded(figure!)} ms, the better of two of ${among.length}`, figure }
  }
}

function branchReason({ when, key, percent, strategy }: NonNullable<AiBackend['branch']>): Reason {
  if (strategy === 'conditional' && when !== undefined) return { text: 'its condition is the first that is true' }
  const figure = rounded(percent)
  if (strategy === 'conditional') return { text: `no condition is true: ${figure} % of the rest`, figure }
  return { text: `${figure} %, ${key === undefined ? 'drawn' : 'by the hash of the key'}`, figure }
}

function latencyReason(chosen: Slot, among: readonly Slot[]): Reason {
  const own = chosen.health.firstTokenMs
  if (own === 0) return { text: 'it was never measured', figure: 0 }
  const isBest = among.every(({ health }) => own <= health.firstTokenMs)
  const text = `${rounded(own)} ms to the first token, ${isBest ? 'the lowest' : 'any'} of ${among.length}`
  return { text, figure: rounded(own) }
}

function figureOf({ ex, state }: Drawing, strategy: string, chosen: Slot): number | undefined {
  switch (strategy) {
    case 'cost':
      return unitsOf(usualCost(chosen, ex.requestBytes?.length ?? 0, state) ?? undefined)
    case 'latency':
      return rounded(chosen.health.firstTokenMs)
    case 'leastBusy':
      return chosen.health.pending
    case 'consistentHash':
      return state.choose?.isKeyless === true ? chosen.health.pending : undefined
    default:
      return rounded(chosen.health.load)
  }
}

const calls = ({ health }: Slot): string => (health.pending === 1 ? '1 call' : `${health.pending} calls`)

const rounded = (value: number): number => Number(value.toFixed(3))
