/** Whom a request goes to after an error of a kind that the configuration has a list for. */
import type { AiFallback, ErrorClass } from '#backends/llm/config/snapshot.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Attempts } from './attempts.ts'
import type { ProviderSlot } from './balancer.ts'
import { isAboutRequest } from './error-class.ts'
import { isTooLong } from './prompt-size.ts'
import type { ProviderRuntime } from './provider-runtime.ts'

type Slot = ProviderSlot<ProviderRuntime>
type Groups = readonly (readonly Slot[])[]

export class Fallbacks {
  readonly #lists: ReadonlyMap<ErrorClass, Groups>
  readonly slots: readonly Slot[]
  /** Errors about the request itself are looked into. */
  readonly readsErrors: boolean

  constructor(all: readonly AiFallback[], slotOf: (provider: AiFallback['providers'][number]) => Slot) {
    const lists = all.map(({ on, providers }) => ({ on, groups: providers.map((provider) => [slotOf(provider)]) }))
    this.#lists = new Map(lists.flatMap(({ on, groups }) => on.map((kind) => [kind, groups] as const)))
    this.slots = lists.flatMap(({ groups }) => groups.flat())
    this.readsErrors = this.#lists.has('context_window') || this.#lists.has('content_policy')
  }

  /** Whether the list for `kind` has one that was not asked. */
  has(kind: ErrorClass | null, { tried }: Attempts): boolean {
    return kind !== null && isLeft(this.#lists.get(kind) ?? [], tried)
  }

  /** Whether anybody is left after an error of `kind`, of which the next provider of `state` may have none. */
  isLeft(kind: ErrorClass, state: Attempts, home: Groups): boolean {
    return isLeft(this.#lists.get(kind) ?? state.home ?? home, state.tried)
  }

  /** For the next attempt, which may be one of a list: it is gone through to its end then. */
  groupsFor(ex: Exchange, state: Attempts, home: Groups): Groups {
    const { failure } = state
    state.failure = null
    const list = failure === null ? undefined : this.#lists.get(failure)
    if (list !== undefined) state.home = list
    const groups = state.home ?? home
    const fitting = takers(groups, ex, state)
    if (fitting.length > 0) return fitting
    // All would answer that it is too long. Where nobody is known to take it, they are asked all the same.
    const larger = takers(this.#lists.get('context_window') ?? [], ex, state)
    if (larger.length > 0) state.home = larger
    return larger.length > 0 ? larger : groups
  }

  /** Whether the body of an error with `status` decides. */
  reads(status: number): boolean {
    return this.readsErrors && isAboutRequest(status)
  }
}

function takers(groups: Groups, ex: Exchange, state: Attempts): Groups {
  if (!groups.some((group) => group.some(({ provider }) => provider.settings.contextTokens !== undefined)))
    return groups
  const takes = ({ provider: { settings } }: Slot) =>
    settings.contextTokens === undefined || !isTooLong(ex, state, settings.contextTokens)
  return groups.map((group) => group.filter(takes)).filter((group) => group.length > 0)
}

const isLeft = (groups: Groups, tried: readonly Slot[]): boolean =>
  groups.some((group) => group.some((slot) => !tried.includes(slot)))
