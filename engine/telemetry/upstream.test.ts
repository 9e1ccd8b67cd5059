/** What is counted and logged of addresses of backends, and that they cannot fill the log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseExposition } from './exposition.fixture.ts'
import { createLogger } from './log.ts'
import { Metrics, REGION_BYTES } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'
import { upstreamTelemetry } from './upstream.ts'

/** `regionBytes`: of the metrics of the worker. */
function start(regionBytes = REGION_BYTES) {
  let now = 0
  const lines: string[] = []
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(regionBytes)
  const metrics = new Metrics(region, table.attach('0', region))
  const logger = createLogger({ level: 'info', format: 'text', write: (line) => lines.push(line.replace(/^\S+ /, '')) })
  const pass = (ms: number) => {
    now += ms
    upstream.sample({ idle: 0, busy: 0, heldBytes: 0, heldRefused: 0 })
  }
  const upstream = upstreamTelemetry(metrics, logger, () => now)
  return { upstream, lines, pass, table }
}

const SHOP = { destination: 'shop', metricLabel: 'shop', address: '10.0.0.1:80' }
const EJECTED = { ...SHOP, reason: 'latency', ms: 30_000 }
const CHECKED = { ...SHOP, finding: 'it answers with 503', isHealthy: false, unhealthyMs: 0 }

test('the log says when an address is left out, why and for how long, and when it is used again', () => {
  const { upstream, lines } = start()
  upstream.ejected(EJECTED)
  upstream.returned(EJECTED)
  upstream.checked({ ...CHECKED, isHealthy: null })
  upstream.checked(CHECKED)
  upstream.checked({ ...CHECKED, finding: null, isHealthy: true, unhealthyMs: 12_300 })
  const named = 'destination=shop address=10.0.0.1:80'
  assert.deepEqual(lines, [
    `level=warn target=upstream message="shop: 10.0.0.1:80 is left out for 30 s" ${named} reason=latency\n`,
    `level=info target=upstream message="shop: 10.0.0.1:80 is used again, 30 s after it was left out" ${named} reason=latency\n`,
    `level=warn target=upstream message="shop: 10.0.0.1:80 is unhealthy and left out, by its health checks: it answers with 503" ${named}\n`,
    `level=info target=upstream message="shop: 10.0.0.1:80 is healthy again after 12.3 s, by its health checks" ${named}\n`
  ])
})

test('a fleet that comes and goes cannot fill the log: how many lines are missing is said, and all are counted', () => {
  const { upstream, lines, pass, table } = start()
  for (let i = 0; i < 500; i++) {
    upstream.ejected(EJECTED)
    upstream.returned(EJECTED)
  }
  assert.equal(lines.length, 50)
  pass(59_000)
  assert.equal(lines.length, 50)
  pass(2_000)
  assert.equal(
    lines[50],
    'level=warn target=upstream message="950 more lines about addresses of backends were left out"\n'
  )
  pass(120_000)
  upstream.ejected(EJECTED)
  assert.equal(lines.length, 52)
  const text = parseExposition(table.expose())
  assert.equal(text.value('weir_upstream_ejections_total', { destination: 'shop', reason: 'latency' }), 501)
})

test('addresses by state are shown as long as they are reported', () => {
  const { upstream, table } = start()
  const value = (state: string) =>
    parseExposition(table.expose()).value('weir_upstream_addresses', { destination: 'shop', state })
  upstream.counted('shop', null)
  assert.equal(value('healthy'), undefined)
  upstream.counted('shop', { healthy: 2, unreachable: 0, unhealthy: 1, ejected: 0 })
  assert.deepEqual(['healthy', 'unreachable', 'unhealthy', 'ejected'].map(value), [2, 0, 1, 0])
  upstream.counted('shop', null)
  assert.equal(value('healthy'), undefined)
  upstream.counted('shop', { healthy: 3, unreachable: 0, unhealthy: 0, ejected: 0 })
  assert.equal(value('healthy'), 3)
})

test('destinations that come and go take the places of one another, and nothing is left of them', () => {
  const { upstream, table } = start(64 * Float64Array.BYTES_PER_ELEMENT)
  const shown = () => parseExposition(table.expose())
  for (let i = 0; i < 1_000; i++) {
    upstream.counted(`service-${i}`, { healthy: 2, unreachable: 0, unhealthy: 0, ejected: i })
    const text = shown()
    assert.equal(text.value('weir_upstream_addresses', { destination: `service-${i}`, state: 'ejected' }), i)
    assert.equal(
      text.value('weir_upstream_addresses', { destination: `service-${i - 1}`, state: 'healthy' }),
      undefined
    )
    upstream.counted(`service-${i}`, null)
  }
  assert.equal(shown().value('weir_metrics_dropped_series_total'), 0)
  // A counter in such a place begins with nothing.
  upstream.overflowed('shop', 'requests')
  assert.equal(shown().value('weir_upstream_overflows_total', { destination: 'shop', kind: 'requests' }), 1)
})
