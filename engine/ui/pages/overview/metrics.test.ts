import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { parseMetrics, pointOf, reasonsOf, sumOf } from './metrics.ts'

const buckets = (counts: readonly number[]) =>
  ['0.01', '0.1', '+Inf'].map((le, i) => `weir_request_duration_seconds_bucket{route="a",le="${le}"} ${counts[i]}`)
const text = (requests: number, failed: number, counts: readonly number[]) =>
  [
    '# HELP weir_requests_total Exchanges that ended.',
    '# TYPE weir_requests_total counter',
    `weir_requests_total{reason="Upstream",status="200"} ${requests}`,
    `weir_requests_total{reason="CONNECTION_FAILED",status="503"} ${failed}`,
    'weir_requests_total{reason="FORBIDDEN",status="403"} 7',
    'weir_downstream_connections{port="80",transport="uws"} 3',
    ...buckets(counts),
    ''
  ].join('\n')

test('the text is read, with whatever stands in labels', () => {
  const metrics = parseMetrics('a{b="x\\"y\\\\z\\n,",c="}"} 1.5\na 2\n# a 9\nbroken\nd{le="+Inf"} +Inf\n')
  deepEqual(metrics.get('a'), [
    { labels: { b: 'x"y\\z\n,', c: '}' }, value: 1.5 },
    { labels: {}, value: 2 }
  ])
  equal(sumOf(metrics, 'a'), 3.5)
  equal(sumOf(metrics, 'd'), Number.POSITIVE_INFINITY)
  equal(sumOf(metrics, 'none'), 0)
})

test('a point is what was counted in between, in a second', () => {
  const point = pointOf(parseMetrics(text(100, 1, [100, 100, 100])), parseMetrics(text(120, 5, [110, 120, 120])), 50, 2)
  deepEqual([point.at, point.requests, point.failed, point.refused, point.connections], [50, 12, 2, 0, 3])
  deepEqual([point.p50, Math.round(point.p99!)], [10, 98])
})

test('without requests there is no latency, and a gateway that has begun anew counts nothing backwards', () => {
  const before = parseMetrics(text(100, 5, [9, 9, 9]))
  const same = pointOf(before, before, 1, 2)
  deepEqual([same.requests, same.p50, same.p99], [0, null, null])
  const anew = pointOf(before, parseMetrics(text(3, 0, [1, 1, 1])), 1, 2)
  deepEqual([anew.requests, anew.p50], [0, null])
})

test('reasons are those of the gateway itself, the most frequent first', () => {
  deepEqual(reasonsOf(parseMetrics(text(100, 5, [1, 1, 1]))), [
    { reason: 'FORBIDDEN', status: '403', count: 7 },
    { reason: 'CONNECTION_FAILED', status: '503', count: 5 }
  ])
})
