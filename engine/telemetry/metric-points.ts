/**
 * The metrics of all workers as OTLP has them (opentelemetry/proto/metrics/v1/metrics.proto): sums and histograms since
 * the process started, and gauges. Once a minute, in the main thread: objects cost nothing there.
 */
import {
  AggregationTemporality,
  type HistogramDataPoint,
  Metric,
  type NumberDataPoint
} from '#engine/proto/generated/opentelemetry/proto/metrics/v1/metrics.ts'
import { boundsOf, METRICS, type MetricName, type MetricRow } from './catalog.ts'
import type { MetricChunk } from './metrics-exports.ts'
import type { Summed, Sums } from './metrics-table.ts'

/** In one Metric message, so that requests keep to their size: the points of a metric may be in several. */
const POINTS_MAX = 256
const CUMULATIVE = AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE

/** Names and units of the semantic conventions, which the catalogue has as Prometheus writes them. */
const CONVENTIONS: Readonly<Partial<Record<MetricName, readonly [name: string, unit: string]>>> = {
  gen_ai_client_token_usage: ['gen_ai.client.token.usage', '{token}'],
  gen_ai_client_operation_duration_seconds: ['gen_ai.client.operation.duration', 's'],
  gen_ai_server_time_to_first_token_seconds: ['gen_ai.server.time_to_first_token', 's'],
  gen_ai_server_time_per_output_token_seconds: ['gen_ai.server.time_per_output_token', 's'],
  mcp_server_operation_duration_seconds: ['mcp.server.operation.duration', 's']
}
const CONVENTIONAL_LABELS: Readonly<Record<string, string | undefined>> = {
  gen_ai_operation_name: 'gen_ai.operation.name',
  gen_ai_provider_name: 'gen_ai.provider.name',
  gen_ai_request_model: 'gen_ai.request.model',
  gen_ai_response_model: 'gen_ai.response.model',
  gen_ai_token_type: 'gen_ai.token.type',
  gen_ai_tool_name: 'gen_ai.tool.name',
  gen_ai_prompt_name: 'gen_ai.prompt.name',
  mcp_method_name: 'mcp.method.name',
  error_type: 'error.type'
}

/**
 * A name as Prometheus has it -> name and unit of OTLP. What a collector writes for Prometheus is the first again: it
 * adds the unit, and "total" to sums (OpenTelemetry specification, "Prometheus and OpenMetrics Compatibility").
 */
export function otlpName(name: MetricName): readonly [name: string, unit: string] {
  const known = CONVENTIONS[name]
  if (known !== undefined) return known
  const { type } = METRICS[name]
  const base = type === 'counter' ? name.replace(/_total$/, '') : name
  const [, stem = base, suffix = ''] = /^(.*)_(seconds|bytes)$/.exec(base) ?? []
  return [stem.replace('_', '.'), suffix === 'seconds' ? 's' : suffix === 'bytes' ? 'By' : '']
}

/** Milliseconds since 1970. */
interface Times {
  readonly startedAt: number
  readonly now: number
}

/** Metric messages, each with as many points as go into one request. */
export function encodeMetrics(sums: Sums, times: Times): MetricChunk[] {
  const chunks: MetricChunk[] = []
  for (const [name, series] of sums) {
    const all = [...series.values()]
    for (let i = 0; i < all.length; i += POINTS_MAX) {
      const some = all.slice(i, i + POINTS_MAX)
      chunks.push({ bytes: Metric.encode(metricOf(name, some, times)).finish(), points: some.length })
    }
  }
  return chunks
}

function metricOf(name: MetricName, series: readonly Summed[], times: Times): Metric {
  const row: MetricRow = METRICS[name]
  const [otlp, unit] = otlpName(name)
  const bounds = boundsOf(name)
  return {
    name: otlp,
    description: row.help,
    unit,
    metadata: [],
    data:
      bounds !== null
        ? {
            $case: 'histogram',
            value: {
              dataPoints: series.map((one) => histogramPoint(one, bounds, times)),
              aggregationTemporality: CUMULATIVE
            }
          }
        : row.type === 'gauge'
          ? { $case: 'gauge', value: { dataPoints: series.map((one) => numberPoint(one, unit, times, 0n)) } }
          : {
              $case: 'sum',
              value: {
                dataPoints: series.map((one) => numberPoint(one, unit, times, nanoseconds(times.startedAt))),
                aggregationTemporality: CUMULATIVE,
                isMonotonic: true
              }
            }
  }
}

/** Seconds are fractions; everything else is counted. */
function numberPoint(
  { labels, slots }: Summed,
  unit: string,
  { now }: Times,
  startTimeUnixNano: bigint
): NumberDataPoint {
  const value = slots[0]!
  const isWhole = unit !== 's' && Number.isSafeInteger(value)
  return {
    attributes: attributesOf(labels),
    startTimeUnixNano,
    timeUnixNano: nanoseconds(now),
    value: isWhole ? { $case: 'asInt', value: BigInt(value) } : { $case: 'asDouble', value },
    exemplars: [],
    flags: 0
  }
}

function histogramPoint(
  { labels, slots }: Summed,
  bounds: readonly number[],
  { startedAt, now }: Times
): HistogramDataPoint {
  const buckets = slots.slice(0, bounds.length + 1)
  return {
    attributes: attributesOf(labels),
    startTimeUnixNano: nanoseconds(startedAt),
    timeUnixNano: nanoseconds(now),
    count: BigInt(buckets.reduce((sum, count) => sum + count, 0)),
    sum: slots[bounds.length + 1]!,
    bucketCounts: buckets.map(BigInt),
    explicitBounds: [...bounds],
    exemplars: [],
    flags: 0
  }
}

/** A label without a value is none. */
function attributesOf(labels: Summed['labels']): NumberDataPoint['attributes'] {
  return Object.entries(labels)
    .filter(([, value]) => value !== '')
    .map(([label, value]) => ({
      key: CONVENTIONAL_LABELS[label] ?? label,
      value: { value: { $case: 'stringValue', value } },
      keyStrindex: 0
    }))
}

function nanoseconds(ms: number): bigint {
  return BigInt(Math.round(ms)) * 1_000_000n
}
