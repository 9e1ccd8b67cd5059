/** What callers with a key have spent on models. Keys and teams are the configuration's, but there may be many. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { totalCost, unitsOf } from '#engine/contract/model-use.ts'
import type { Counter, Metrics } from './metrics.ts'

const KEYS_MAX = 1024
const NAME_CHARS_MAX = 128
const OTHER = 'other'

/** Of one worker. */
export class CostMetrics {
  readonly #metrics: Metrics
  readonly #counters = new Map<string, Counter>()
  /** Many calls are of the key of the one before. */
  #last: { readonly key: string; readonly team: string; readonly counter: Counter } | null = null

  constructor(metrics: Metrics) {
    this.#metrics = metrics
  }

  /** ex.llm is there. */
  record({ llm, identity }: Exchange): void {
    const cost = unitsOf(totalCost(llm!))
    const claims = identity?.apiKey ?? null
    if (cost === undefined || claims === null) return
    const key = nameIn(claims.id ?? claims.name)
    const team = nameIn(claims.team)
    if (key !== '' || team !== '') this.#counter(key, team).add(cost)
  }

  #counter(key: string, team: string): Counter {
    if (this.#last?.key === key && this.#last.team === team) return this.#last.counter
    const counter = this.#find(key, team)
    this.#last = { key, team, counter }
    return counter
  }

  #find(key: string, team: string): Counter {
    const name = JSON.stringify([key, team])
    const known = this.#counters.get(name)
    if (known !== undefined) return known
    const isNamed = this.#counters.size < KEYS_MAX
    const labels = isNamed ? { key, team } : { key: OTHER, team: OTHER }
    const rest = JSON.stringify([OTHER, OTHER])
    const made =
      (isNamed ? undefined : this.#counters.get(rest)) ?? this.#metrics.counter('weir_llm_key_cost_total', labels)
    this.#counters.set(isNamed ? name : rest, made)
    return made
  }
}

const nameIn = (value: unknown): string => (typeof value === 'string' ? value.slice(0, NAME_CHARS_MAX) : '')
