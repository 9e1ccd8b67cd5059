/** Which address gets a request: shares by weight, fewer under way, one for what has the same hash. */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadBalancing } from '#engine/contract/resilience.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { Balancer } from './balancer.ts'

interface Fake {
  readonly label: string
  busy: number
  readonly host: { readonly name: string; readonly weight: number }
  readonly health: { ejected: boolean; isUnhealthy: boolean }
}

const fakes = (...weights: number[]): Fake[] =>
  weights.map((weight, i) => ({
    label: `10.0.0.${i + 1}:80`,
    busy: 0,
    host: { name: 'shop', weight },
    health: { ejected: false, isUnhealthy: false }
  }))

function balancer(all: readonly Fake[], settings: Partial<LoadBalancing> = {}): Balancer<Fake> {
  const loadBalancing: LoadBalancing = { policy: 'RoundRobin', hash: null, hashBalanceFactor: null, ...settings }
  const made = new Balancer<Fake>({ loadBalancing })
  made.renewed(all)
  return made
}

/** How often each is chosen by `count` tickets. */
function shares(made: Balancer<Fake>, all: readonly Fake[], count: number): number[] {
  const counts = new Map(all.map((one) => [one, 0]))
  for (let ticket = 0; ticket < count; ticket++) {
    const chosen = made.choose(all, ticket, null)!
    counts.set(chosen, counts.get(chosen)! + 1)
  }
  return [...counts.values()]
}

const of = (user: string) => fakeExchange({ headers: [['X-User', user]] })
const BY_USER = { policy: 'ConsistentHash', hash: 'request.headers["x-user"]' } as const
const USERS = Array.from({ length: 1_000 }, (_, i) => `user ${i}`)

test('in turn, each as often as its weight says, and evenly in any stretch', () => {
  const same = fakes(1, 1, 1)
  deepEqual(shares(balancer(same), same, 300), [100, 100, 100])
  const different = fakes(5, 3, 2)
  const counts = shares(balancer(different), different, 1_000)
  for (const [i, want] of [500, 300, 200].entries()) ok(Math.abs(counts[i]! - want) <= 5, String(counts))
  const few = shares(balancer(different), different, 20)
  for (const [i, want] of [10, 6, 4].entries()) ok(Math.abs(few[i]! - want) <= 2, String(few))
})

test('a ticket is one address, however often it is asked', () => {
  const all = fakes(1, 2, 3, 4)
  for (const policy of ['RoundRobin', 'LeastRequest', 'Random'] as const) {
    const made = balancer(all, { policy })
    for (let ticket = 0; ticket < 50; ticket++) {
      equal(made.choose(all, ticket, null), made.choose(all, ticket, null), `${policy} ${ticket}`)
    }
  }
})

test('by chance each has its share too', () => {
  const all = fakes(3, 1)
  const [many, few] = shares(balancer(all, { policy: 'Random' }), all, 10_000)
  ok(Math.abs(many! - 7_500) < 300 && few! > 0, `${many} ${few}`)
})

test('of two the one with less under way for its weight is taken, and a new one is not flooded', () => {
  const all = fakes(1, 1, 1, 1)
  const made = balancer(all, { policy: 'LeastRequest' })
  // Without load they take turns.
  deepEqual(shares(made, all, 400), [100, 100, 100, 100])
  for (const one of all) one.busy = 50
  all[3]!.busy = 0
  const [, , , fresh] = shares(made, all, 1_000)
  // One of two that are drawn of four: 7 of 16.
  ok(fresh! > 350 && fresh! < 550, `${fresh}`)
  all[0]!.busy = 1_000
  const [worst] = shares(made, all, 1_000)
  ok(worst! < 125, `${worst}`)
  const heavy = fakes(10, 1)
  heavy[0]!.busy = 9
  heavy[1]!.busy = 1
  equal(balancer(heavy, { policy: 'LeastRequest' }).choose(heavy, 1, null), heavy[0])
})

test('who is ejected is left out, and null says that nobody is left', () => {
  const all = fakes(1, 1, 1)
  all[1]!.health.ejected = true
  for (const policy of ['RoundRobin', 'LeastRequest', 'Random'] as const) {
    const counts = shares(balancer(all, { policy }), all, 600)
    equal(counts[1], 0, policy)
    ok(counts[0]! > 200 && counts[2]! > 200, `${policy} ${counts}`)
  }
  for (const one of all) one.health.ejected = true
  equal(balancer(all).choose(all, 0, null), null)
})

test('one hash is one address, until that one is gone; then its keys move and no others', () => {
  const all = fakes(1, 1, 1, 1, 1)
  const made = balancer(all, BY_USER)
  const before = new Map(USERS.map((user) => [user, made.choose(all, 7, of(user))!]))
  const perAddress = all.map((one) => [...before.values()].filter((chosen) => chosen === one).length)
  for (const count of perAddress) ok(count > 140 && count < 260, String(perAddress))
  for (const user of USERS) equal(made.choose(all, 99, of(user)), before.get(user))
  all[2]!.health.ejected = true
  for (const user of USERS) {
    const now = made.choose(all, 7, of(user))
    if (before.get(user) === all[2]) notEqual(now, all[2])
    else equal(now, before.get(user))
  }
  const fewer = all.filter((_, i) => i !== 4)
  made.renewed(fewer)
  all[2]!.health.ejected = false
  for (const user of USERS) if (before.get(user) !== all[4]) equal(made.choose(fewer, 7, of(user)), before.get(user))
})

test('weights bound the share of keys, and hashBalanceFactor what one address has under way', () => {
  const all = fakes(3, 1)
  const made = balancer(all, BY_USER)
  const first = USERS.filter((user) => made.choose(all, 0, of(user)) === all[0]).length
  ok(first > 700 && first < 800, `${first}`)
  const bounded = fakes(1, 1, 1, 1)
  const strict = balancer(bounded, { ...BY_USER, hashBalanceFactor: 125 })
  for (let i = 0; i < 100; i++) strict.choose(bounded, i, of('one and the same'))!.busy++
  ok(Math.max(...bounded.map(({ busy }) => busy)) <= 33, String(bounded.map(({ busy }) => busy)))
})

test('without a value of the hash any address does', () => {
  const all = fakes(1, 1, 1)
  const made = balancer(all, BY_USER)
  const chosen = new Set(Array.from({ length: 50 }, (_, ticket) => made.choose(all, ticket, fakeExchange())))
  equal(chosen.size, 3)
})
