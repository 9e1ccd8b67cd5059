/** How each model has fared in the last minutes, read out of the metrics of all workers. Runs in the main thread. */
import { boundsOf } from '#engine/telemetry/catalog.ts'
import type { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { type Labels, percentileOf } from './table.ts'
import { Window } from './window.ts'

/** As many as a worker has names for (model-metrics.ts); about 500 bytes each in every snapshot. */
export const MODELS_MAX = 256
/** Of one model: those that are the most frequent. */
const ERRORS_SHOWN = 5

export interface ModelUseNow {
  /** As the conventions for generative AI call it: "openai", "aws.bedrock". */
  readonly provider: string
  /** By which it was asked for; those that have no room in the metrics are "other". */
  readonly model: string
  readonly calls: number
  readonly failed: number
  /** The most frequent first. */
  readonly errors: readonly { readonly type: string; readonly calls: number }[]
  /** Milliseconds of streamed answers until the first piece; null: there was none. */
  readonly firstTokenMs: { readonly p50: number; readonly p99: number } | null
  /** Milliseconds for each token behind the first one; null: none was measured. */
  readonly perTokenMs: { readonly p50: number; readonly p99: number } | null
}

export interface ModelsNow {
  /** How long ago the counting began: less than five minutes after a start only. */
  readonly seconds: number
  /** Those that were called in this time, the busiest first. */
  readonly models: readonly ModelUseNow[]
  /** Models that are not counted, since there are more than MODELS_MAX. */
  readonly leftOut: number
}

const FIRST = boundsOf('gen_ai_server_time_to_first_token_seconds')!
const EACH = boundsOf('gen_ai_server_time_per_output_token_seconds')!
const OPERATION = boundsOf('gen_ai_client_operation_duration_seconds')!

interface Counts {
  /** Calls by error type; "" for success. */
  readonly calls: Map<string, number>
  readonly first: Float64Array
  readonly each: Float64Array
}

interface Read {
  /** By JSON of provider and model. */
  readonly counts: ReadonlyMap<string, Counts>
  readonly leftOut: number
}

export class ModelCounts {
  readonly #table: Pick<MetricsTable, 'each'>
  readonly #window: Window<Read>

  /** `clock`: milliseconds that only rise. */
  constructor(table: Pick<MetricsTable, 'each'>, clock = () => performance.now()) {
    this.#table = table
    this.#window = new Window(() => this.#read(), clock)
  }

  /** To be called every second or so. */
  sample(): void {
    this.#window.sample()
  }

  use(): ModelsNow {
    const { seconds, before, now } = this.#window.look()
    const models = [...now.counts].map(([key, counts]) => useOf(key, counts, before.counts.get(key)))
    const called = models.filter(({ calls }) => calls > 0).toSorted((a, b) => b.calls - a.calls)
    return { seconds, models: called, leftOut: now.leftOut }
  }

  #read(): Read {
    const counts = new Map<string, Counts>()
    const leftOut = new Set<string>()
    const countsOf = ({ gen_ai_provider_name: provider, gen_ai_request_model: model }: Labels): Counts | null => {
      const key = JSON.stringify([provider, model])
      const known = counts.get(key)
      if (known !== undefined) return known
      if (counts.size >= MODELS_MAX) {
        leftOut.add(key)
        return null
      }
      const made = {
        ...{ calls: new Map<string, number>(), first: new Float64Array(FIRST.length + 1) },
        each: new Float64Array(EACH.length + 1)
      }
      counts.set(key, made)
      return made
    }
    this.#table.each((name, labels, values, slot) => {
      if (name === 'gen_ai_client_operation_duration_seconds') {
        const of = countsOf(labels)
        if (of === null) return
        const { error_type: type = '' } = labels
        let calls = of.calls.get(type) ?? 0
        for (let i = 0; i <= OPERATION.length; i++) calls += values[slot + i]!
        of.calls.set(type, calls)
      } else if (name === 'gen_ai_server_time_to_first_token_seconds') add(countsOf(labels)?.first, values, slot)
      else if (name === 'gen_ai_server_time_per_output_token_seconds') add(countsOf(labels)?.each, values, slot)
    })
    return { counts, leftOut: leftOut.size }
  }
}

function add(buckets: Float64Array | undefined, values: ArrayLike<number>, slot: number): void {
  if (buckets === undefined) return
  for (let i = 0; i < buckets.length; i++) buckets[i]! += values[slot + i]!
}

function useOf(key: string, now: Counts, before: Counts | undefined): ModelUseNow {
  const [provider, model] = JSON.parse(key) as [string, string]
  const byType = [...now.calls].map(([type, calls]) => ({ type, calls: calls - (before?.calls.get(type) ?? 0) }))
  const errors = byType.filter(({ type, calls }) => type !== '' && calls > 0).toSorted((a, b) => b.calls - a.calls)
  return {
    ...{ provider, model, errors: errors.slice(0, ERRORS_SHOWN) },
    calls: byType.reduce((sum, { calls }) => sum + calls, 0),
    failed: errors.reduce((sum, { calls }) => sum + calls, 0),
    firstTokenMs: percentiles(now.first, before?.first, FIRST),
    perTokenMs: percentiles(now.each, before?.each, EACH)
  }
}

function percentiles(now: Float64Array, before: Float64Array | undefined, bounds: readonly number[]) {
  const within = now.map((count, i) => count - (before?.[i] ?? 0))
  const at = (percent: number) => percentileOf(within, bounds, percent) * 1000
  return Number.isNaN(at(50)) ? null : { p50: at(50), p99: at(99) }
}
