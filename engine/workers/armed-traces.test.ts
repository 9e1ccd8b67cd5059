import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ARMED_MAX } from '#engine/story/trace-limits.ts'
import { ArmedTraces } from './armed-traces.ts'

const NOW = 1_800_000_000_000

function processOf() {
  const main = ArmedTraces.create(2)
  return { main, workers: [new ArmedTraces(main.shared), new ArmedTraces(main.shared)] as const }
}

test('a token is good for its uses, over all workers together', () => {
  const { main, workers } = processOf()
  const { id, token } = main.arm(3, 60_000, NOW)!
  equal(workers[0].armedUntil(NOW), NOW + 60_000)
  const taken = [0, 1, 0, 1, 0].map((worker) => workers[worker as 0 | 1].take(token, NOW))
  deepEqual(taken, [id, id, id, null, null])
  equal(workers[1].armedUntil(NOW), 0)
})

test('expired: nothing is taken, and its place is free', () => {
  const { main, workers } = processOf()
  const { token } = main.arm(1, 60_000, NOW)!
  equal(workers[0].take(token, NOW + 60_000), null)
  equal(workers[0].armedUntil(NOW + 60_000), 0)
  notEqual(workers[0].take(token, NOW + 59_999), null)
})

test('forged: what was not signed so, or with the key of another process', () => {
  const { main, workers } = processOf()
  const { token } = main.arm(5, 60_000, NOW)!
  const [id, expires, uses, mac] = token.split('.') as [string, string, string, string]
  const other = ArmedTraces.create(1).arm(5, 60_000, NOW)!.token
  const last = mac.at(-1) === 'A' ? 'E' : 'A'
  const forged = [
    `${id}.${Number(expires) + 1}.${uses}.${mac}`,
    `${id}.${expires}.6.${mac}`,
    `${Number(id) + 1}.${expires}.${uses}.${mac}`,
    `${id}.${expires}.${uses}.${mac.slice(0, -1)}${last}`,
    `${id}.${expires}.${uses}.${'A'.repeat(43)}`,
    ...[other, '', token.slice(1), `${token}A`, `${token}.`, ` ${token}`, '1'.repeat(100_000)]
  ]
  for (const one of forged) equal(workers[0].take(one, NOW), null, one.slice(0, 100))
  equal(workers[0].take(token, NOW), id)
})

test('so many at a time; one that was used up has no part in the next one of its place', () => {
  const { main, workers } = processOf()
  const all = Array.from({ length: ARMED_MAX }, () => main.arm(1, 60_000, NOW)!)
  equal(main.arm(1, 60_000, NOW), null)
  const { id, token } = all[3]!
  equal(workers[0].take(token, NOW), id)
  const next = main.arm(1, 60_000, NOW)!
  equal(new Set([...all, next].map((one) => one.id)).size, ARMED_MAX + 1)
  equal(workers[0].take(token, NOW), null)
  equal(workers[0].take(next.token, NOW), next.id)
})

test('arming waits for the workers', async () => {
  const { main, workers } = processOf()
  main.arm(1, 60_000, NOW)
  const order: string[] = []
  const known = main.known(2, 60_000).then(() => order.push('known'))
  workers[0].know(0)
  await new Promise((resolve) => setImmediate(resolve))
  order.push('one knows')
  workers[1].know(1)
  await known
  deepEqual(order, ['one knows', 'known'])
})
