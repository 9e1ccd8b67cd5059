/** Long bodies as they come: where they go, and that nothing is left to be done at their end. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { isShared, SHARED_BYTES } from '#engine/kit/shared-bytes.ts'
import { inTurn } from '#engine/socket/round.ts'
import { Collector } from './body.ts'
import type { Exchange } from './exchange.ts'
import { letGo, useHeldBytes } from './held-bytes.ts'

const PIECE = 48 * 1024
const piece = (i: number) => Buffer.alloc(PIECE, i)
const MAX = 32 * PIECE

function collected({ count, expected, max = MAX }: { count: number; expected: number; max?: number }) {
  let body: Buffer | null | undefined
  const collector = new Collector({ max, expected }, [piece(0)], (bytes) => {
    body = bytes
  })
  for (let i = 1; i < count; i++) collector.take(Buffer.concat([Buffer.from('ab'), piece(i)]), 2, PIECE + 2)
  return {
    end: () => {
      collector.end()
      return body
    },
    early: () => body
  }
}

const whole = (count: number) => Buffer.concat(Array.from({ length: count }, (_, i) => piece(i)))

for (const [name, expected] of [
  ['that says its length', 20 * PIECE],
  ['that says none', 0]
] as const) {
  test(`a long body ${name} is there when it has come: its end copies nothing`, (t) => {
    const { end } = collected({ count: 20, expected })
    const copy = t.mock.method(Buffer.prototype, 'copy')
    const concat = t.mock.method(Buffer, 'concat')
    const body = end()!
    deepEqual([copy.mock.callCount(), concat.mock.callCount()], [0, 0])
    ok(isShared(body))
    ok(body.equals(whole(20)))
  })
}

test('a body without a length fills all the room that it may have, and no more', () => {
  const full = collected({ count: 32, expected: 0 })
  ok(full.end()!.equals(whole(32)))
  const over = collected({ count: 33, expected: 0 })
  equal(over.early(), null)
})

test('a bound that no address space has room for is none of the body: its pieces are joined', () => {
  const { end } = collected({ count: 20, expected: 0, max: Number.MAX_SAFE_INTEGER })
  ok(end()!.equals(whole(20)))
})

test('short bodies have memory of their own', () => {
  const { end } = collected({ count: 2, expected: 0 })
  const body = end()!
  ok(body.length < SHARED_BYTES && !isShared(body))
  ok(body.equals(whole(2)))
})

test('a body that stood still and asks for room where there is none is given up once, for having stood still', (t) => {
  const ex = { step: 0, held: null, client: { remoteAddress: '10.0.0.1' } } as unknown as Exchange
  let room = 100_000
  const take = (bytes: number) => {
    if (bytes > room) return false
    room -= bytes
    return true
  }
  const give = (bytes: number) => {
    room += bytes
  }
  useHeldBytes({ max: 100_000, workers: 1, isScarce: false, refuse() {}, take, give })
  t.after(() => useHeldBytes(null))
  let now = performance.now()
  t.mock.method(performance, 'now', () => now)
  const come = (bytes: number) => {
    inTurn(() => collector.take(Buffer.alloc(bytes), 0, bytes))
  }
  const results: unknown[] = []
  const collector = new Collector({ max: MAX, expected: 0, ex, mayGiveWay: true }, null, (...what) =>
    results.push(what)
  )
  come(90_000)
  room = 0
  now += 3_000
  come(1_000)
  deepEqual(results, [[null, 'still']])
  come(1_000)
  collector.end()
  equal(results.length, 1)
  letGo(ex)
})
