import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics, REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { Figures } from './figures.ts'
import { COLUMNS_MAX, RESOLUTIONS, Ring } from './ring.ts'
import { percentileOf } from './table.ts'

const LABELS = { port: '1', listener: 'l', route: 'r', backend: 'b', method: 'GET' }

function stand() {
  const table = new MetricsTable()
  const worker = (id: string) => {
    const region = new SharedArrayBuffer(REGION_BYTES)
    return new Metrics(region, table.attach(id, region))
  }
  let ms = 0
  const wall = 1_000_000_000_000
  const figures = new Figures(
    table,
    () => ms,
    () => wall + ms
  )
  return { table, worker, figures, wall, at: (next: number) => (ms = next) }
}

const valuesOf = ({ figures }: ReturnType<typeof stand>, name: string, step: 1 | 10 | 60 = 1, seconds = 900) =>
  figures.past([name], seconds, step).series.get(name)

test('counts are those of a step over all workers, those that died included', () => {
  const here = stand()
  const [one, two] = [here.worker('0'), here.worker('1')]
  const counter = (of: Metrics, status: string, reason: string) =>
    of.counter('weir_requests_total', { ...LABELS, status, reason })
  counter(one, '200', 'Upstream').add(5)
  here.figures.sample()
  counter(one, '200', 'Upstream').add(2)
  counter(two, '401', 'JWT_MISSING').add(3)
  here.at(1000)
  here.figures.sample()
  here.table.detach('1')
  counter(one, '200', 'Upstream').add(1)
  here.at(2000)
  here.figures.sample()
  deepEqual(valuesOf(here, 'requests'), [Number.NaN, 5, 1])
  deepEqual(valuesOf(here, 'responses.2xx'), [Number.NaN, 2, 1])
  deepEqual(valuesOf(here, 'errors.JWT_MISSING'), [Number.NaN, 3, 0])
  equal(here.figures.names.includes('errors.Upstream'), false)
  equal(here.figures.past(['requests'], 2, 1).firstAt, here.wall + 1000)
})

test('a step that nobody has read is unknown, and longer steps have all of it', () => {
  const here = stand()
  const counter = here.worker('0').counter('weir_requests_total', { ...LABELS, status: '200', reason: 'Upstream' })
  here.figures.sample()
  counter.add(4)
  here.at(1000)
  here.figures.sample()
  counter.add(6)
  here.at(4000)
  here.figures.sample()
  here.at(10_000)
  here.figures.sample()
  deepEqual(valuesOf(here, 'requests', 1, 7), [6, NaN, NaN, NaN, NaN, NaN, 0])
  deepEqual(valuesOf(here, 'requests', 10), [NaN, 10])
  // A timer that fires twice in a second is no step.
  here.figures.sample()
  equal(valuesOf(here, 'requests', 1)!.length, 11)
})

test('gauges are as they were at the end, percentiles are those of the step alone', () => {
  const here = stand()
  const one = here.worker('0')
  const open = one.gauge('weir_downstream_connections', { port: '1', transport: 'http' })
  const duration = one.histogram('weir_request_duration_seconds', { route: 'r' })
  open.set(7)
  duration.observe(60)
  here.figures.sample()
  open.set(3)
  for (let i = 0; i < 100; i++) duration.observe(0.2)
  here.at(1000)
  here.figures.sample()
  here.at(2000)
  here.figures.sample()
  deepEqual(valuesOf(here, 'connections'), [7, 3, 3])
  const [, within, nothing] = valuesOf(here, 'latency.p99')!
  ok(within! > 0.1 && within! <= 0.25, String(within))
  ok(Number.isNaN(nothing))
})

test('a percentile is drawn straight between bounds', () => {
  equal(percentileOf([0, 10, 0], [1, 3], 50), 2)
  equal(percentileOf([10, 0, 0], [1, 3], 50), 0.5)
  equal(percentileOf([0, 0, 4], [1, 3], 50), 3)
  ok(Number.isNaN(percentileOf([0, 0, 0], [1, 3], 50)))
})

test('the ring forgets the oldest, and takes no more figures than it has room for', () => {
  const ring = new Ring()
  const { kept } = RESOLUTIONS[0]
  for (let i = 0; i < kept + 5; i++) ring.write(0, i, new Map([['a', i]]))
  const values = ring.read('a', 0, 5, kept + 4)!
  deepEqual([values[0], values.at(-1), values.length], [5, kept + 4, kept])
  // A pause longer than what is kept leaves nothing of before.
  ring.write(0, 5 * kept, new Map([['a', 1]]))
  equal(ring.read('a', 0, 4 * kept + 1, 5 * kept)!.filter((value) => !Number.isNaN(value)).length, 1)
  ring.write(0, 6 * kept, new Map(Array.from({ length: COLUMNS_MAX + 9 }, (_, i) => [`x${i}`, 1])))
  deepEqual([ring.names.length, ring.refused], [COLUMNS_MAX, 10])
  equal(ring.read('none', 0, 0, 1), null)
})
