import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { Metrics, REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import { ROUTES_MAX, RouteCounts } from './routes.ts'

const CART = { port: '8080', listener: 'public', route: 'cart', backend: 'shop', method: 'GET' }

function stand() {
  const table = new MetricsTable()
  const worker = (id: string) => {
    const region = new SharedArrayBuffer(REGION_BYTES)
    return new Metrics(region, table.attach(id, region))
  }
  let ms = 0
  const counts = new RouteCounts(table, () => ms)
  return { table, worker, counts, at: (next: number) => (ms = next) }
}

test('a route has the sum of all workers, backends and statuses, also of a worker that died', () => {
  const { table, worker, counts, at } = stand()
  const [one, two] = [worker('0'), worker('1')]
  one.counter('weir_requests_total', { ...CART, status: '200', reason: 'Upstream' }).add(5)
  two.counter('weir_requests_total', { ...CART, status: '403', reason: 'FORBIDDEN' }).add(2)
  two.counter('weir_requests_total', { ...CART, backend: 'old', status: '503', reason: 'CONNECT_FAILURE' }).add(1)
  one.counter('weir_requests_total', { ...CART, listener: 'inner', status: '200', reason: 'Upstream' }).add(9)
  const tcp = { port: '9000', listener: 'raw', route: 'db', backend: 'db' }
  one.counter('weir_tcp_connections_total', { ...tcp, reason: '' }).add(3)
  one.counter('weir_tcp_connections_total', { ...tcp, reason: 'CONNECT_FAILURE' }).add(1)
  table.detach('1')
  at(7000)
  deepEqual(counts.traffic(), {
    seconds: 7,
    leftOut: 0,
    routes: [
      { port: 8080, listener: 'inner', route: 'cart', requests: 9, refused: 0, failed: 0, total: 9 },
      { port: 8080, listener: 'public', route: 'cart', requests: 8, refused: 2, failed: 1, total: 8 },
      { port: 9000, listener: 'raw', route: 'db', requests: 4, refused: 0, failed: 1, total: 4 }
    ]
  })
})

test('after five minutes it is forgotten but for the total', () => {
  const { worker, counts, at } = stand()
  const counter = worker('0').counter('weir_requests_total', { ...CART, status: '200', reason: 'Upstream' })
  counter.add(5)
  for (let second = 1; second <= 330; second++) {
    at(second * 1000)
    counts.sample()
    if (second === 120) counter.add(2)
  }
  const { seconds, routes } = counts.traffic()
  deepEqual([seconds, routes[0]!.requests, routes[0]!.total], [270, 2, 7])
})

test('more routes than there is room for are told', () => {
  const counts = new RouteCounts({
    each: (take) => {
      for (let i = 0; i < ROUTES_MAX + 3; i++) {
        for (const status of ['200', '404'])
          take('weir_requests_total', { ...CART, route: `r${i}`, status, reason: 'Upstream' }, [1], 0)
      }
    }
  })
  const { routes, leftOut } = counts.traffic()
  deepEqual([routes.length, leftOut], [ROUTES_MAX, 3])
  equal(routes[0]!.total, 2)
})
