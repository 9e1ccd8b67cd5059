/**
 * Figures: the numbers that pages draw over time, each made of metrics of all workers. Their names are fixed, but for
 * those with a code of docs/rejections.md or the name of a destination of the configuration behind them.
 */
import { boundsOf, type HistogramName, type MetricName } from '#engine/telemetry/catalog.ts'

/** count: what was added within a step. gauge: as it was at the end of a step. */
export type FigureKind = 'count' | 'gauge'

/** Adds to a figure. */
export type AddTo = (figure: string, kind: FigureKind, value: number) => void

export type Labels = Readonly<Record<string, string>>

/** `at(i)`: slot i of the series (metrics.ts). */
type Reader = (add: AddTo, labels: Labels, at: (slot: number) => number) => void

/** Not refusals of the gateway (recorder.ts). */
const ANSWERS = new Set(['Upstream', 'DirectResponse'])
const TOKENS_SUM = boundsOf('gen_ai_client_token_usage')!.length + 1

const sum =
  (figure: string, kind: FigureKind): Reader =>
  (add, _, at) =>
    add(figure, kind, at(0))

/** What of a metric goes into which figure. Those that are not here are in no figure. */
export const READERS: Readonly<Partial<Record<MetricName, Reader>>> = {
  weir_requests_total: (add, { status = '', reason = '' }, at) => {
    add('requests', 'count', at(0))
    if (/^[1-5]\d\d$/.test(status)) add(`responses.${status[0]}xx`, 'count', at(0))
    if (!ANSWERS.has(reason)) add(`errors.${reason}`, 'count', at(0))
  },
  weir_request_bytes_total: sum('bytes.received', 'count'),
  weir_response_bytes_total: sum('bytes.sent', 'count'),
  gen_ai_client_token_usage: (add, { gen_ai_token_type: type }, at) => add(`tokens.${type}`, 'count', at(TOKENS_SUM)),
  weir_llm_cost_total: sum('cost', 'count'),
  weir_downstream_connections: sum('connections', 'gauge'),
  weir_upstream_connections: (add, { state }, at) => add(`upstream.${state}`, 'gauge', at(0)),
  weir_upstream_retries_total: sum('retries', 'count'),
  weir_upstream_addresses: (add, { destination, state }, at) => {
    add(`addresses.${state}`, 'gauge', at(0))
    add(`backends.${destination}.${state === 'healthy' ? 'healthy' : 'out'}`, 'gauge', at(0))
  },
  weir_buffered_bytes: sum('bytes.buffered', 'gauge'),
  weir_config_reloads_total: (add, { result }, at) => add(`reloads.${result}`, 'count', at(0)),
  weir_worker_restarts_total: sum('workers.restarts', 'count'),
  weir_workers: sum('workers', 'gauge')
}

/** Histograms whose percentiles are figures: `latency.p50`, in seconds. */
export const PERCENTILES_OF: Readonly<
  Partial<Record<MetricName, { readonly figure: string; readonly of: HistogramName }>>
> = {
  weir_request_duration_seconds: { figure: 'latency', of: 'weir_request_duration_seconds' },
  gen_ai_server_time_to_first_token_seconds: {
    figure: 'firstToken',
    of: 'gen_ai_server_time_to_first_token_seconds'
  }
}

export const PERCENTILES = [50, 90, 99] as const

/**
 * Below it are `percent` of all values, as far as buckets tell: between bounds it is drawn straight. NaN: there is no
 * value. Those above the last bound are taken for it.
 */
export function percentileOf(counts: ArrayLike<number>, bounds: readonly number[], percent: number): number {
  let total = 0
  for (let i = 0; i <= bounds.length; i++) total += counts[i]!
  if (total <= 0) return Number.NaN
  const wanted = (total * percent) / 100
  let below = 0
  for (const [i, bound] of bounds.entries()) {
    const count = counts[i]!
    if (below + count >= wanted) {
      const from = i === 0 ? 0 : bounds[i - 1]!
      return from + ((bound - from) * (wanted - below)) / count
    }
    below += count
  }
  return bounds.at(-1)!
}
