import assert from 'node:assert/strict'
import { test } from 'node:test'
import { xorshift32 } from '#engine/kit/random.ts'
import { keySet, signingKey } from '#engine/testing/tokens.ts'
import { type KeySet, readKeySet } from './jwt-keys.ts'
import { KeySources } from './key-sources.ts'
import type { KeyServices } from './remote-keys.ts'

const key = signingKey('ES256')
const setOf = (kid: string): KeySet => readKeySet(keySet([key, { kid }]))

/** A world whose clock and issuer the test moves. */
class World implements KeyServices {
  time = 0
  readonly logged: string[] = []
  readonly #fetches: PromiseWithResolvers<KeySet>[] = []
  fetched = 0
  timer: { readonly at: number; readonly call: () => void } | null = null

  /** Of the newest fetch. */
  signal: AbortSignal | null = null

  readonly fetch = (signal: AbortSignal): Promise<KeySet> => {
    this.fetched++
    this.signal = signal
    const fetch = Promise.withResolvers<KeySet>()
    this.#fetches.push(fetch)
    return fetch.promise
  }

  readonly now = (): number => this.time
  readonly log = (level: string, message: string): void => void this.logged.push(`${level}: ${message}`)

  readonly random = xorshift32(7)
  readonly after = (ms: number, call: () => void) => {
    assert.equal(this.timer, null, 'one timer at a time')
    this.timer = { at: this.time + ms, call }
    return () => {
      this.timer = null
    }
  }

  /** The issuer answers the oldest fetch. */
  async answer(keys: KeySet | Error): Promise<void> {
    const fetch = this.#fetches.shift()!
    if (keys instanceof Error) fetch.reject(keys)
    else fetch.resolve(keys)
    await settled()
  }

  /** Until the timer is due; returns how long that was. */
  async tick(): Promise<number> {
    const { at, call } = this.timer!
    const ms = at - this.time
    this.time = at
    this.timer = null
    call()
    await settled()
    return ms
  }
}

/** Everything that can go on has gone on. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

const placeIn = ({ fetch }: World) => ({ id: [3, 'a'], name: 'https://issuer.example/keys', fetch })

function begun() {
  const world = new World()
  const sources = new KeySources(world)
  const { keys: remote, use } = sources.remote(placeIn(world), 300_000)
  use.begin()
  return { world, sources, remote, use }
}

test('the first fetch begins with the configuration, and requests wait for it', async () => {
  const { world, remote } = begun()
  assert.equal(world.fetched, 1)
  const waiting = remote.ready()
  assert.equal(remote.ready(), waiting)
  await world.answer(setOf('a'))
  await waiting
  assert.equal(remote.current!.keys[0]!.kid, 'a')
  assert.deepEqual([world.fetched, remote.ready()], [1, null])
})

test('keys are refreshed before they are too old, each time a little differently', async () => {
  const { world } = begun()
  await world.answer(setOf('a'))
  const pauses = new Set<number>()
  for (let i = 0; i < 20; i++) {
    const ms = await world.tick()
    assert.ok(ms >= 225_000 && ms <= 285_000, String(ms))
    pauses.add(ms)
    await world.answer(setOf('a'))
  }
  assert.ok(pauses.size > 1)
  assert.equal(world.fetched, 21)
})

test('while the issuer is down the keys stay, attempts become rarer, and it is logged once', async () => {
  const { world, remote } = begun()
  await world.answer(setOf('a'))
  const before = remote.current
  await world.tick()
  const pauses: number[] = []
  for (let i = 0; i < 10; i++) {
    await world.answer(new Error('fetch failed (ECONNREFUSED)'))
    pauses.push(await world.tick())
  }
  assert.equal(remote.current, before)
  assert.ok(pauses[0]! <= 475 && pauses[9]! >= 45_000 && pauses[9]! <= 57_000, String(pauses))
  assert.deepEqual(world.logged, [
    'warn: cannot fetch the keys of https://issuer.example/keys: fetch failed (ECONNREFUSED); the keys known so far stay in use'
  ])
  await world.answer(setOf('b'))
  assert.equal(remote.current!.keys[0]!.kid, 'b')
  assert.equal(world.logged[1], 'info: keys of https://issuer.example/keys are fetched again')
})

test('an issuer that is down from the start: requests do not wait while no fetch is under way', async () => {
  const { world, remote } = begun()
  await world.answer(new Error('no'))
  assert.match(world.logged[0]!, /no; tokens of this issuer get 503$/)
  assert.deepEqual([remote.current, remote.ready()], [null, null])
  await world.tick()
  assert.ok(remote.ready() instanceof Promise)
})

test('an unknown key is asked for once in the cool-down, and not again when the issuer does not have it', async () => {
  const { world, remote } = begun()
  await world.answer(setOf('a'))
  const first = remote.refreshFor('b')
  assert.ok(first instanceof Promise)
  assert.ok(remote.refreshFor('c') instanceof Promise, 'waits for the same fetch')
  assert.equal(world.fetched, 2)
  await world.answer(setOf('a'))
  await first
  assert.equal(remote.refreshFor('d'), null, 'cool-down')
  world.time += 10_001
  assert.equal(remote.refreshFor('b'), null, 'the issuer has just said that it has no such key')
  const third = remote.refreshFor('d')
  assert.equal(world.fetched, 3)
  await world.answer(setOf('e'))
  await third
  world.time += 10_001
  assert.ok(remote.refreshFor('b') instanceof Promise, 'the keys have changed since')
  assert.equal(world.fetched, 4)
})

test('as many tokens wait for a fetch as may; the next fetch has room again', async () => {
  const { world, remote } = begun()
  const fill = (wait: () => Promise<void> | null) => {
    for (let waiting = 0; waiting < 1_024; waiting++) assert.ok(wait() instanceof Promise)
    assert.equal(wait(), null)
  }
  fill(() => remote.ready())
  await world.answer(setOf('a'))
  assert.ok(remote.refreshFor('b') instanceof Promise, 'begins a fetch')
  fill(() => remote.refreshFor('c'))
  assert.equal(world.fetched, 2)
})

test('an unknown key is asked for again after a minute', async () => {
  const { world, remote } = begun()
  await world.answer(setOf('a'))
  const first = remote.refreshFor('b')
  await world.answer(setOf('a'))
  await first
  world.time += 60_001
  assert.ok(remote.refreshFor('b') instanceof Promise)
})

test('equal keys stay the same object; keys that are not used are named once', async () => {
  const { world, remote } = begun()
  const mixed = () => readKeySet(JSON.stringify({ keys: [key.jwk, { kty: 'oct', k: 'canary' }] }))
  await world.answer(mixed())
  const before = remote.current
  await world.tick()
  await world.answer(mixed())
  assert.equal(remote.current, before)
  assert.deepEqual(world.logged, [
    'warn: keys of https://issuer.example/keys that are not used: keys[1] is a symmetric key'
  ])
})

test('one fetcher per place, over reloads, until the last configuration has gone', async () => {
  const { world, sources, remote, use } = begun()
  await world.answer(setOf('a'))
  const { keys, use: next } = sources.remote(placeIn(world), 60_000)
  assert.equal(keys, remote)
  next.begin()
  use.end()
  assert.deepEqual([world.fetched, sources.size], [1, 1])
  assert.ok((await world.tick()) <= 57_000, 'the shortest age of those in force holds')
  await world.answer(setOf('a'))
  next.end()
  assert.deepEqual([world.timer, sources.size], [null, 0])
  assert.notEqual(sources.remote(placeIn(world), 60_000).keys, remote)
})

test('a place that is another server after a reload is another place', () => {
  const { world, sources, remote } = begun()
  assert.notEqual(sources.remote({ ...placeIn(world), id: [3, 'b'] }, 300_000).keys, remote)
})

test('the newest configuration says how keys are fetched, and the one before it again when that ends', async () => {
  const { world, sources, use } = begun()
  const urls: string[] = []
  const fetchBy = (name: string) => {
    const fetch = () => {
      urls.push(name)
      return Promise.resolve(setOf('a'))
    }
    return sources.remote({ ...placeIn(world), fetch }, 300_000).use
  }
  await world.answer(setOf('a'))
  const [next, last] = [fetchBy('next'), fetchBy('last')]
  next.begin()
  use.end()
  await world.tick()
  last.begin()
  await world.tick()
  last.end()
  await world.tick()
  assert.deepEqual([urls, world.fetched], [['next', 'last', 'next'], 1])
})

test('reloads that come faster than keys age do not put off the next fetch', async () => {
  const { world, sources, use } = begun()
  await world.answer(setOf('a'))
  let last = use
  for (let i = 0; i < 3; i++) {
    world.time += 100_000
    const next = sources.remote(placeIn(world), 300_000).use
    next.begin()
    last.end()
    last = next
  }
  // Older than they may be: at once.
  assert.equal(await world.tick(), 0)
  assert.equal(world.fetched, 2)
})

test('ended while a fetch is under way: it is given up, and nothing follows it', async () => {
  for (const outcome of [setOf('a'), new Error('aborted')]) {
    const { world, sources, remote, use } = begun()
    use.end()
    assert.deepEqual([world.signal!.aborted, sources.size], [true, 0])
    await world.answer(outcome)
    assert.deepEqual([world.timer, world.logged, remote.current], [null, [], null])
  }
})

test('ended while requests wait for a fetch: they get the keys, and nothing follows', async () => {
  const { world, sources, remote, use } = begun()
  const waiting = remote.ready()
  use.end()
  assert.deepEqual([world.signal!.aborted, sources.size], [false, 0])
  await world.answer(setOf('a'))
  await waiting
  assert.deepEqual([world.timer, remote.current!.keys[0]!.kid], [null, 'a'])
})

test('what the next configuration uses, too, goes on', async () => {
  const { world, sources, use } = begun()
  const next = sources.remote(placeIn(world), 300_000)
  next.use.begin()
  use.end()
  assert.equal(world.signal!.aborted, false)
  await world.answer(setOf('a'))
  assert.equal(next.keys.current!.keys[0]!.kid, 'a')
})

test('keys that may be a year old are not fetched without a pause', async () => {
  const world = new World()
  new KeySources(world).remote(placeIn(world), 365 * 86_400_000).use.begin()
  await world.answer(setOf('a'))
  // What setTimeout takes; it makes one millisecond of what is longer.
  assert.ok(world.timer!.at < 2 ** 31, String(world.timer!.at))
})
