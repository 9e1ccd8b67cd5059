import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { boundsOf } from './catalog.ts'
import { createControlMetrics } from './control.ts'
import { parseExposition } from './exposition.fixture.ts'
import { Metrics, REGION_BYTES, type SeriesAnnouncement } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'

function worker(table: MetricsTable, id: string, bytes = 64 * 1024): Metrics {
  const region = new SharedArrayBuffer(bytes)
  return new Metrics(region, table.attach(id, region))
}

test('counters and gauges of all workers are summed', () => {
  const table = new MetricsTable()
  const first = worker(table, '0')
  const second = worker(table, '1')
  first.counter('weir_request_bytes_total', { route: 'a' }).add(10)
  second.counter('weir_request_bytes_total', { route: 'a' }).add(5)
  second.counter('weir_request_bytes_total', { route: 'b' }).add(1)
  first.gauge('weir_downstream_connections', { port: '80', transport: 'node' }).add(3)
  second.gauge('weir_downstream_connections', { port: '80', transport: 'node' }).add(4)
  const text = parseExposition(table.expose())
  assert.equal(text.value('weir_request_bytes_total', { route: 'a' }), 15)
  assert.equal(text.value('weir_request_bytes_total', { route: 'b' }), 1)
  assert.equal(text.value('weir_downstream_connections', { port: '80', transport: 'node' }), 7)
  assert.equal(text.types.get('weir_request_bytes_total'), 'counter')
  assert.equal(text.types.get('weir_downstream_connections'), 'gauge')
})

test('the same name and labels are one series, announced once', () => {
  const announced: SeriesAnnouncement[] = []
  const metrics = new Metrics(new SharedArrayBuffer(1024), (message) => announced.push(message))
  const one = metrics.counter('weir_request_bytes_total', { route: 'a' })
  assert.equal(metrics.counter('weir_request_bytes_total', { route: 'a' }), one)
  assert.deepEqual(announced, [
    { slot: 0, name: 'weir_metrics_dropped_series_total', labels: {} },
    { slot: 1, name: 'weir_request_bytes_total', labels: { route: 'a' } }
  ])
})

test('the place of a gauge that is forgotten goes to the next series of one number', () => {
  const announced: SeriesAnnouncement[] = []
  const metrics = new Metrics(new SharedArrayBuffer(1024), (message) => announced.push(message))
  const labels = (port: string) => ({ port, transport: 'node' })
  metrics.gauge('weir_downstream_connections', labels('80'))
  metrics.forgetGauge('weir_downstream_connections', labels('80'))
  metrics.forgetGauge('weir_downstream_connections', labels('80'))
  metrics.histogram('weir_request_duration_seconds', { route: 'a' })
  metrics.gauge('weir_downstream_connections', labels('81'))
  const { length } = boundsOf('weir_request_duration_seconds')!
  metrics.gauge('weir_downstream_connections', labels('82'))
  assert.deepEqual(
    announced.slice(1).map(({ slot, labels }) => [slot, labels]),
    [
      [1, labels('80')],
      [1, null],
      [2, { route: 'a' }],
      [1, labels('81')],
      [2 + length + 2, labels('82')]
    ]
  )
})

test('a dead worker leaves its counters and histograms behind and takes its gauges along', () => {
  const table = new MetricsTable()
  const dying = worker(table, '0')
  dying.counter('weir_request_bytes_total', { route: 'a' }).add(10)
  dying.gauge('weir_downstream_connections', { port: '80', transport: 'node' }).add(3)
  dying.histogram('weir_request_duration_seconds', { route: 'a' }).observe(0.3)
  table.detach('0')
  table.detach('0')
  // Its replacement has the same number and starts at zero.
  const heir = worker(table, '0')
  heir.counter('weir_request_bytes_total', { route: 'a' }).add(1)
  heir.histogram('weir_request_duration_seconds', { route: 'a' }).observe(0.3)
  for (let scrape = 0; scrape < 2; scrape++) {
    const text = parseExposition(table.expose())
    assert.equal(text.value('weir_request_bytes_total', { route: 'a' }), 11)
    assert.equal(text.value('weir_request_duration_seconds_count', { route: 'a' }), 2)
    assert.equal(text.value('weir_downstream_connections', { port: '80', transport: 'node' }), undefined)
  }
})

test('two regions under one name are refused', () => {
  const table = new MetricsTable()
  worker(table, '0')
  assert.throws(() => worker(table, '0'), /metrics of 0 are already attached/)
})

test('a histogram is cumulative, a bound belongs to its own bucket, and sum and count agree', () => {
  const table = new MetricsTable()
  const histogram = worker(table, '0').histogram('weir_request_duration_seconds', { route: 'a' })
  const bounds = boundsOf('weir_request_duration_seconds')!
  for (const value of [0, 0.001, 0.0011, 80, 81]) histogram.observe(value)
  const text = parseExposition(table.expose())
  const bucket = (le: string) => text.value('weir_request_duration_seconds_bucket', { route: 'a', le })
  assert.equal(bucket('0.001'), 2)
  assert.equal(bucket('0.0025'), 3)
  assert.equal(bucket('40'), 3)
  assert.equal(bucket('80'), 4)
  assert.equal(bucket('+Inf'), 5)
  assert.equal(text.value('weir_request_duration_seconds_count', { route: 'a' }), 5)
  assert.equal(text.value('weir_request_duration_seconds_sum', { route: 'a' }), 0.001 + 0.0011 + 80 + 81)
  assert.equal(text.samples.length, 1 + bounds.length + 1 + 2, 'and the dropped counter')
})

test('a label value cannot leave its quotes', () => {
  const table = new MetricsTable()
  const route = 'a"} 1\nforged_total{x="\\'
  worker(table, '0').counter('weir_request_bytes_total', { route }).add(1)
  const text = parseExposition(table.expose())
  assert.equal(text.value('weir_request_bytes_total', { route }), 1)
  assert.ok(text.samples.every((sample) => sample.name !== 'forged_total'))
})

test('when the region is full, new series are dropped and counted, and old ones go on', () => {
  const table = new MetricsTable()
  // Three slots: the dropped counter, one counter, and one that a histogram does not fit into.
  const metrics = worker(table, '0', 3 * 8)
  const kept = metrics.counter('weir_request_bytes_total', { route: 'kept' })
  metrics.histogram('weir_request_duration_seconds', { route: 'kept' }).observe(1)
  metrics.counter('weir_request_bytes_total', { route: 'fits' }).add(1)
  metrics.counter('weir_request_bytes_total', { route: 'lost' }).add(1)
  kept.add(2)
  const text = parseExposition(table.expose())
  assert.equal(text.value('weir_request_bytes_total', { route: 'kept' }), 2)
  assert.equal(text.value('weir_request_bytes_total', { route: 'fits' }), 1)
  assert.equal(text.value('weir_request_bytes_total', { route: 'lost' }), undefined)
  assert.equal(text.value('weir_metrics_dropped_series_total'), 2)
})

test('the main thread sees what a real worker thread wrote, also after the worker is gone', async () => {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const announce = table.attach('0', region)
  const source = `
    const { workerData, parentPort } = require('node:worker_threads')
    import(workerData.url).then(({ Metrics }) => {
      const metrics = new Metrics(workerData.region, (message) => parentPort.postMessage(message))
      metrics.counter('weir_request_bytes_total', { route: 'a' }).add(7)
    })`
  const thread = new Worker(source, {
    eval: true,
    workerData: { region, url: new URL('./metrics.ts', import.meta.url).href }
  })
  thread.on('message', announce)
  await new Promise((resolve, reject) => thread.once('exit', resolve).once('error', reject))
  table.detach('0')
  assert.equal(parseExposition(table.expose()).value('weir_request_bytes_total', { route: 'a' }), 7)
})

test('the main thread reports build, process, reloads and workers', () => {
  const control = createControlMetrics('1.2.3')
  control.reloaded(1_700_000_000_500)
  control.reloaded(null)
  control.setWorkers(2)
  control.workerRestarted()
  const text = parseExposition(control.expose())
  assert.equal(text.value('weir_build_info', { version: '1.2.3', node: process.versions.node }), 1)
  assert.equal(text.value('weir_config_reloads_total', { result: 'success' }), 1)
  assert.equal(text.value('weir_config_reloads_total', { result: 'failure' }), 1)
  assert.equal(text.value('weir_config_last_success_timestamp_seconds'), 1_700_000_000.5)
  assert.equal(text.value('weir_workers'), 2)
  assert.equal(text.value('weir_worker_restarts_total'), 1)
  assert.ok(text.value('process_resident_memory_bytes')! > 1e6)
  const [open, max] = [text.value('process_open_fds')!, text.value('process_max_fds')!]
  // Where the system has no /proc, both are 0.
  assert.ok(process.platform !== 'linux' ? open === 0 : open > 2 && max >= open)
  const cpu = text.value('process_cpu_seconds_total')!
  assert.ok(cpu > 0 && parseExposition(control.expose()).value('process_cpu_seconds_total')! >= cpu)
})
