import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { charted, groupOf, rangeOf, type Sum, startOf, totalOf } from './sums.ts'

const NOW = Date.parse('2026-05-03T10:30:00Z')
const sum = (more: Partial<Sum>): Sum => ({ calls: 1, cost: '1', currency: 'USD', ...more })

test('a place has a group and a range, whatever is written in it', () => {
  deepEqual([groupOf('team'), groupOf('__proto__'), groupOf(null)], ['team', 'key', 'key'])
  deepEqual([rangeOf('30d').name, rangeOf('x').name], ['30d', '24h'])
  equal(startOf(rangeOf('24h'), NOW), '2026-05-02T11:00:00.000Z')
})

test('a chart has every step, the dearest by name, and the rest together', () => {
  const day = { name: '7d', title: '', hours: 72, step: 'day' } as never
  const sums = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((key, i) =>
    sum({ key, cost: String(10 - i), day: '2026-05-03' })
  )
  const { times, series } = charted([...sums, sum({ key: 'a', cost: '0.5', day: '2026-05-01' })], 'key', day, NOW)
  deepEqual(
    times.map((at) => new Date(at * 1000).toISOString().slice(0, 10)),
    ['2026-05-01', '2026-05-02', '2026-05-03']
  )
  deepEqual(
    series.map(({ name }) => name),
    ['a', 'b', 'c', 'd', 'e', 'others']
  )
  deepEqual(
    [series[0]!.values, series[5]!.values],
    [
      [0.5, 0, 10],
      [0, 0, 9]
    ]
  )
})

test('hours are steps, too; what has no name is called so; what lies outside is left out', () => {
  const { series } = charted(
    [sum({ key: '', hour: '2026-05-03T10:00:00Z' }), sum({ key: '', hour: '2026-04-01T10:00:00Z' })],
    'key',
    rangeOf('24h'),
    NOW
  )
  equal(series[0]!.name, 'no key')
  deepEqual([series[0]!.values.length, series[0]!.values.at(-1)], [24, 1])
  equal(
    series[0]!.values.reduce((a, b) => a! + b!, 0),
    1
  )
})

test('a total adds what can be added', () => {
  const total = totalOf([
    sum({ cost: '0.5', errors: 2, uncachedInputTokens: 10, cacheReadTokens: 5, outputTokens: 3 }),
    sum({ cost: '0.25', unknownCosts: 1 }),
    sum({ cost: '9', currency: 'EUR' })
  ])
  deepEqual(
    [total.cost, total.currency, total.calls, total.errors, total.input, total.output, total.unknown],
    [0.75, 'USD', 3, 2, 15, 3, 1]
  )
  equal(totalOf([]).cost, 0)
})
