import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Metric } from '#engine/proto/generated/opentelemetry/proto/metrics/v1/metrics.ts'
import { METRICS, type MetricName } from './catalog.ts'
import { encodeMetrics, otlpName } from './metric-points.ts'
import { Metrics } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'

const TIMES = { startedAt: 1_000, now: 61_000 }
const SUFFIXES: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' }

function tableOf(fill: (metrics: Metrics) => void): MetricsTable {
  const table = new MetricsTable()
  for (const id of ['0', '1']) {
    const region = new SharedArrayBuffer(1024 * 1024)
    fill(new Metrics(region, table.attach(id, region)))
  }
  return table
}

test('a collector that writes for Prometheus has the names of the Prometheus port', () => {
  for (const name of Object.keys(METRICS) as MetricName[]) {
    const [otlp, unit] = otlpName(name)
    assert.match(otlp, /^[a-z][a-z_]*(\.[a-z_]+)+$/)
    const total = METRICS[name].type === 'counter' ? '_total' : ''
    assert.equal(otlp.replaceAll('.', '_') + (SUFFIXES[unit] ?? '') + total, name)
  }
})

test('sums and histograms of all workers since the start', () => {
  const table = tableOf((metrics) => {
    metrics.counter('weir_request_bytes_total', { route: 'a' }).add(5)
    const histogram = metrics.histogram('weir_request_duration_seconds', { route: 'a' })
    for (const seconds of [0.002, 0.5, 500]) histogram.observe(seconds)
  })
  const all = encodeMetrics(table.sums(), TIMES).map(({ bytes }) => Metric.decode(bytes))
  const of = (name: string) => all.find((metric) => metric.name === name)!.data
  const sum = of('weir.request')
  assert.ok(sum?.$case === 'sum')
  assert.deepEqual([sum.value.aggregationTemporality, sum.value.isMonotonic], [2, true])
  const [point] = sum.value.dataPoints
  assert.deepEqual([point!.startTimeUnixNano, point!.timeUnixNano], [1_000_000_000n, 61_000_000_000n])
  assert.deepEqual(point!.value, { $case: 'asInt', value: 10n })
  const histogram = of('weir.request_duration')
  assert.ok(histogram?.$case === 'histogram')
  const { count, sum: seconds, bucketCounts, explicitBounds } = histogram.value.dataPoints[0]!
  assert.deepEqual([count, seconds, bucketCounts.length], [6n, 1001.004, explicitBounds.length + 1])
  assert.deepEqual([bucketCounts.at(-1), bucketCounts[1]], [2n, 2n])
})

test('the points of one metric are in as many messages as they need', () => {
  const table = tableOf((metrics) => {
    for (let i = 0; i < 600; i++) metrics.counter('weir_request_bytes_total', { route: `r${i}` }).add(1)
  })
  const chunks = encodeMetrics(table.sums(), TIMES).filter(({ bytes }) => Metric.decode(bytes).name === 'weir.request')
  assert.deepEqual(
    chunks.map(({ points }) => points),
    [256, 256, 88]
  )
})
