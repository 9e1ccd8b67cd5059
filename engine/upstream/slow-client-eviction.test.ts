/** Who gives up a connection for whom. */
import { deepEqual } from 'node:assert/strict'
import { it, type TestContext } from 'node:test'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { SlowClientEviction } from './slow-client-eviction.ts'

/** The names of those that are cut, in order. `idle`: for so many milliseconds. */
function cut(
  t: TestContext,
  clients: readonly [address: string, idle: number][],
  waiting: readonly number[]
): string[] {
  t.mock.method(performance, 'now', () => 100_000)
  const evicted: string[] = []
  const connections = clients.map(([remoteAddress, idle]) => {
    const exchange = Object.assign(fakeExchange(), { client: { remoteAddress } })
    return { exchange, idleSince: 100_000 - idle, name: `${remoteAddress} ${idle}` }
  })
  const relief = new SlowClientEviction({
    timers: new TimerWheel(),
    connections: () => connections,
    waiting: () => waiting.length,
    keptByWaiting: () => waiting,
    giveUp: (ex) => evicted.push(connections.find(({ exchange }) => exchange === ex)!.name),
    now: () => 100_000
  })
  relief.request()
  t.mock.restoreAll()
  return evicted
}

it('no client is evicted within two seconds unless it keeps far more than others', (t) => {
  deepEqual(
    cut(
      t,
      [
        ['a', 1_900],
        ['b', 1_900]
      ],
      [0, 0]
    ),
    []
  )
  deepEqual(
    cut(
      t,
      [
        ['a', 2_000],
        ['b', 2_100]
      ],
      [0]
    ),
    ['b 2100']
  )
})

it('a client that keeps twice the share of those who wait loses one for each after half a second', (t) => {
  const clients: [string, number][] = [
    ['a', 499],
    ['a', 500],
    ['a', 700],
    ['a', 600],
    ['b', 1_000]
  ]
  deepEqual(cut(t, clients, [0]), ['a 700'])
  deepEqual(cut(t, clients, [0, 1, 1]), ['a 700', 'a 600', 'a 500'])
  deepEqual(cut(t, clients, [2, 2]), [])
})
