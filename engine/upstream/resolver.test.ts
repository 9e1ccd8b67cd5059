import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import dns from 'node:dns/promises'
import { once } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import { it, mock } from 'node:test'
import { inTurn } from '#engine/socket/round.ts'
import { Resolver } from './resolver.ts'

const A = [{ ip: '192.0.2.1', family: 4 as const }]
const B = [{ ip: '192.0.2.2', family: 4 as const }]
const settle = () => new Promise<void>((resolve) => setImmediate(resolve))

/** A clock in place of performance.now(), restored after the test. Moving it begins a turn, as an event would. */
function clock(t: { after(done: () => void): void }): { now: number } {
  let now = 1_000
  const time = {
    get now() {
      return now
    },
    set now(value: number) {
      now = value
      inTurn(() => {})
    }
  }
  const mocked = mock.method(performance, 'now', () => time.now)
  t.after(() => mocked.mock.restore())
  return time
}

it('an address needs no question', async () => {
  const resolver = new Resolver('::1', () => Promise.reject(new Error('asked')))
  deepEqual(resolver.addresses, [{ ip: '::1', family: 6 }])
})

it('asks again when the time to live is over, and goes on with the old answer meanwhile', async (t) => {
  const time = clock(t)
  let answer = A
  let queries = 0
  const resolver = new Resolver('a.test', () => {
    queries++
    return Promise.resolve({ addresses: answer, ttlMs: 5_000 })
  })
  deepEqual(resolver.addresses, [])
  await Promise.all([resolver.resolve(), resolver.resolve()])
  equal(queries, 1)
  answer = B
  time.now += 4_999
  equal(resolver.addresses, A)
  equal(queries, 1)
  time.now += 1
  equal(resolver.addresses, A)
  await settle()
  equal(resolver.addresses, B)
  equal(queries, 2)
})

it('keeps a stale answer while the server is down, and asks once a second', async (t) => {
  const time = clock(t)
  let isDown = false
  let queries = 0
  const resolver = new Resolver('a.test', () => {
    queries++
    return isDown ? Promise.reject(new Error('down')) : Promise.resolve({ addresses: A, ttlMs: 0 })
  })
  await resolver.resolve()
  isDown = true
  time.now += 1_000
  for (let i = 0; i < 5; i++) {
    equal(resolver.addresses, A)
    await settle()
  }
  equal(queries, 2)
  time.now += 1_000
  equal(resolver.addresses, A)
  await settle()
  equal(queries, 3)
})

it('rejects when there never was an answer, or it is empty', async () => {
  await rejects(new Resolver('a.test', () => Promise.reject(new Error('no such name'))).resolve(), /no such name/)
  await rejects(new Resolver('a.test', () => Promise.resolve({ addresses: [], ttlMs: 1 })).resolve(), /no address/)
})

it('names of the hosts file do not wait for a silent DNS server', async (t) => {
  const silent = createSocket('udp4')
  silent.bind(0, '127.0.0.1')
  await once(silent, 'listening')
  const before = dns.getServers()
  dns.setServers([`127.0.0.1:${silent.address().port}`])
  syncBuiltinESMExports()
  t.after(() => {
    dns.setServers(before)
    syncBuiltinESMExports()
    silent.close()
  })
  const query = once(silent, 'message')
  const resolver = new Resolver('localhost')
  await Promise.all([resolver.resolve(), query])
  ok(resolver.addresses.some(({ ip }) => ip === '127.0.0.1' || ip === '::1'))
})
