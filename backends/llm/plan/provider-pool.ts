/** All providers of a backend, in the order in which they are asked. */
import { FAILOVER_DEFAULT } from '#backends/llm/config/failover.ts'
import type { AiBackend, AiProvider } from '#backends/llm/config/snapshot.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import type { Store } from '#backends/llm/stored/stores.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { RetryPlan } from '#engine/contract/filter.ts'
import { asksWhyDrawn, MODEL_ROUTING } from '#engine/contract/model-routing.ts'
import type { Attempts } from './attempts.ts'
import { chooseSlot, type ProviderSlot } from './balancer.ts'
import { failover } from './failover.ts'
import { Fallbacks } from './fallbacks.ts'
import { buildProvider, type ProviderRuntime, slotFor } from './provider-runtime.ts'
import { compileRanking, type Ranking } from './ranking.ts'
import { whyDrawn } from './why-drawn.ts'

type Slot = ProviderSlot<ProviderRuntime>

export class ProviderPool {
  /** With those of all lists for errors. */
  readonly total: number
  /** One of them is shown what the client has shown. */
  readonly wantsClient: boolean
  /** By priority. */
  readonly groups: readonly (readonly Slot[])[]
  readonly #ranking: Ranking | undefined
  /** All of them. */
  readonly slots: readonly Slot[]
  readonly #backend: AiBackend
  readonly #fallbacks: Fallbacks
  readonly #budget: RetryPlan['budget']
  readonly #random: () => number

  /** `random`: 0 <= x < 1. */
  constructor(
    backend: AiBackend,
    context: BackendContext,
    random: () => number,
    storeOf: (settings: AiProvider) => Store
  ) {
    const { budget, cooldown } = backend.failover ?? FAILOVER_DEFAULT
    const slotOf = (settings: AiProvider) =>
      slotFor(buildProvider(settings, backend, storeOf(settings), context), context, cooldown)
    this.groups = backend.groups.map((group) => group.map(slotOf))
    this.#fallbacks = new Fallbacks(backend.fallbacks ?? [], slotOf)
    this.#backend = backend
    this.#budget = budget
    this.#random = random
    this.#ranking = compileRanking(backend.ranking, random)
    const all = [...this.groups.flat(), ...this.#fallbacks.slots]
    this.slots = all
    this.total = all.length
    this.wantsClient = all.some(({ provider }) => provider.authenticator.wantsClient)
  }

  get isUsable(): boolean {
    return this.groups.some((group) => group.some(({ provider }) => provider.endpoint.usable))
  }

  /** Null: there is one provider. */
  retryPlan(attemptsOf: (ex: Exchange) => Attempts | null): RetryPlan | null {
    if (this.total === 1) return null
    return failover({
      groups: this.groups,
      fallbacks: this.#fallbacks,
      total: this.total,
      budget: this.#budget,
      attemptsOf,
      random: this.#random
    })
  }

  /** Which of equal providers is asked; undefined: by latency and load. */
  choiceFor(ex: Exchange, state: Attempts): Attempts['choose'] {
    return state.kept.isAny ? ([slot]) => slot! : this.#ranking?.(ex, state)
  }

  /** Another attempt begins: who may be asked in it. */
  begin(ex: Exchange, state: Attempts): void {
    // Who tries again more often than there are providers begins anew.
    if (state.tried.length === this.total) {
      state.tried.length = 0
      state.passedOver = []
    }
    state.groups = this.#keeping(state) ?? this.#fallbacks.groupsFor(ex, state, this.groups)
    state.refusal = null
    state.round++
  }

  /** Those that have what the request is about; null: it is about nothing that is kept. Throws FormatError. */
  #keeping({ kept, operation }: Attempts): readonly (readonly Slot[])[] | null {
    const { store, isAny } = kept
    if (isAny) return [this.slots]
    if (store === null) return null
    const keeping = this.slots.filter(({ provider }) => provider.account.store === store)
    if (keeping.length > 0) return [keeping]
    const what = operation === null ? 'what the request names' : 'this'
    throw new FormatError('', `${what} is kept by a provider that does not serve this model`)
  }

  /** Null: all of them have been tried. */
  next(ex: Exchange, state: Attempts): Slot | null {
    const now = performance.now()
    const chosen = chooseSlot(state.groups, state.tried, now, this.#random, state.choose)
    if (chosen !== null && asksWhyDrawn(ex)) {
      const isStored = state.kept.store !== null || state.kept.isAny
      const all = isStored ? this.slots : [...this.groups, ...(state.home ?? [])].flat()
      MODEL_ROUTING.set(ex, whyDrawn({ ex, state, backend: this.#backend, now }, chosen, all))
    }
    return chosen
  }
}
