import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SPOKEN_DEFAULT } from '#engine/contract/endpoint.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { type Stack, startStack } from '#engine/testing/stack.ts'
import { HostLists } from '#engine/upstream/host-lists.ts'
import { weighted } from './weighted.ts'

function run(weights: readonly number[], exchanges: number, down: readonly number[] = []): number[] {
  const taken: number[] = []
  const isUsable = (i: number) => () => !down.includes(i)
  const serve = weighted(
    weights.map((weight, i) => ({ name: `${i}`, weight, isUsable: isUsable(i), serve: () => taken.push(i) }))
  )
  for (let i = 0; i < exchanges; i++) serve(fakeExchange())
  return taken
}

test('turns are spread out, not bunched', () => {
  assert.deepEqual(run([5, 1, 1], 7), [0, 0, 1, 0, 2, 0, 0])
  assert.deepEqual(run([1, 1], 4), [0, 1, 0, 1])
})

test('unreachable backends are skipped, and the others share their part by weight', () => {
  assert.deepEqual(run([1, 1], 4, [0]), [1, 1, 1, 1])
  assert.deepEqual(run([3, 2, 1], 6, [0]), [1, 2, 1, 1, 2, 1])
})

test('when nothing can be reached all are tried', () => {
  assert.deepEqual(run([1, 1], 4, [0, 1]), [0, 1, 0, 1])
})

test('a choice that comes back gets its share, and no more for the time it was away', () => {
  const taken: number[] = []
  let isUp = true
  const serve = weighted([
    { name: 'a', weight: 1, isUsable: () => isUp, serve: () => taken.push(0) },
    { name: 'a', weight: 1, isUsable: () => true, serve: () => taken.push(1) }
  ])
  for (const up of [true, true, false, false, false, true, true, true, true]) {
    isUp = up
    serve(fakeExchange())
  }
  assert.deepEqual(taken, [0, 1, 1, 1, 1, 0, 1, 0, 1])
})

test('every full round gives each choice exactly its weight', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 2, maxLength: 6 }), (weights) => {
      const total = weights.reduce((a, b) => a + b)
      const taken = run(weights, total * 2)
      for (const round of [taken.slice(0, total), taken.slice(total)]) {
        assert.deepEqual(
          weights.map((_, i) => round.filter((t) => t === i).length),
          weights
        )
      }
    }),
    { numRuns: 50 }
  )
})

test('a Service without endpoints has its share of the requests answered with 503', async (t) => {
  const origin = await startOrigin((response) => response.end('shop'))
  const host = 'empty.demo.svc.cluster.invalid'
  const lists = new HostLists()
  lists.change({ [`${host}:80`]: [] })
  const stack: Stack = await startStack({ upstream: 1, lists, serve: (ex) => serve(ex) })
  t.after(() => {
    stack.close()
    origin.close()
  })
  const options = { guarded: false, allow: [], connectTimeoutMs: 5_000, tls: null, http: SPOKEN_DEFAULT }
  const choice = (name: string, port: number, weight: number) => {
    const endpoint = stack.upstream.endpoint({ host: name, port, unixPath: null }, options)
    const isUsable = () => endpoint.usable
    return { name, weight, isUsable, serve: (ex: Parameters<typeof serve>[0]) => stack.upstream.send(ex, endpoint) }
  }
  const serve = weighted([choice('127.0.0.1', origin.port, 1), choice(host, 80, 3)])
  const statuses: string[] = []
  for (let i = 0; i < 8; i++) {
    const client = await rawClient(stack.port)
    client.send('GET / HTTP/1.1\r\nHost: shop.example\r\nConnection: close\r\n\r\n')
    await client.untilEnd()
    client.close()
    statuses.push(client.received.split(' ')[1]!)
  }
  assert.deepEqual(statuses.toSorted(), [...Array(2).fill('200'), ...Array(6).fill('503')])
})
