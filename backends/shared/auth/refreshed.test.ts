/** When something is fetched, and how often. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { type Fetched, RefreshedValue } from './refreshed.ts'

const MINUTE = 60_000

function setup() {
  const world = { at: 0, calls: 0, problems: [] as string[], signal: null as AbortSignal | null }
  const waiting: PromiseWithResolvers<Fetched<string>>[] = []
  const fetched = new RefreshedValue(
    (signal) => {
      world.calls++
      world.signal = signal
      const next = Promise.withResolvers<Fetched<string>>()
      waiting.push(next)
      return next.promise
    },
    { now: () => world.at, failed: (why) => world.problems.push(why) }
  )
  /** Answers the fetch that waits, and lets everybody hear of it. */
  const answer = async (value: string, expiresAt: number): Promise<void> => {
    waiting.shift()!.resolve({ value, expiresAt })
    await new Promise((resolve) => setImmediate(resolve))
  }
  const fail = async (why: string): Promise<void> => {
    waiting.shift()!.reject(new Error(why))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return { world, fetched, answer, fail }
}

test('all who ask while nothing is there wait for one fetch; then it is there at once', async () => {
  const { world, fetched, answer } = setup()
  const requests = [fetched.get(), fetched.get(), fetched.get()]
  await answer('a', 60 * MINUTE)
  deepEqual(await Promise.all(requests), ['a', 'a', 'a'])
  equal(fetched.get(), 'a')
  equal(world.calls, 1)
})

test('it is replaced before it ends, beside the requests; and never used in its last seconds', async () => {
  const { world, fetched, answer } = setup()
  void fetched.get()
  await answer('a', 60 * MINUTE)
  world.at = 54 * MINUTE
  equal(fetched.get(), 'a')
  equal(world.calls, 1)
  world.at = 56 * MINUTE
  deepEqual([fetched.get(), fetched.get()], ['a', 'a'])
  equal(world.calls, 2)
  await answer('b', 120 * MINUTE)
  equal(fetched.get(), 'b')
  world.at = 120 * MINUTE - 5_000
  const late = fetched.get()
  equal(typeof late, 'object')
  await answer('c', 180 * MINUTE)
  equal(await late, 'c')
})

test('what does not end is looked at again every five minutes', async () => {
  const { world, fetched, answer } = setup()
  void fetched.get()
  await answer('a', Infinity)
  world.at = 4 * MINUTE
  equal(fetched.get(), 'a')
  world.at = 6 * MINUTE
  equal(fetched.get(), 'a')
  equal(world.calls, 2)
})

test('a failure is told to all who wait, holds for a moment that grows, and leaves what is still good', async () => {
  const { world, fetched, answer, fail } = setup()
  const requests = [fetched.get(), fetched.get()] as Promise<string>[]
  const heard = Promise.all(requests.map((one) => rejects(one, /no network/)))
  await fail('no network')
  await heard
  await rejects(fetched.get() as Promise<string>, /no network/)
  equal(world.calls, 1)
  world.at = 501
  const again = rejects(fetched.get() as Promise<string>, /still none/)
  await fail('still none')
  await again
  world.at = 1_400
  await rejects(fetched.get() as Promise<string>, /still none/)
  equal(world.calls, 2)
  world.at = 1_502
  void fetched.get()
  await answer('a', 60 * MINUTE)
  world.at = 57 * MINUTE
  equal(fetched.get(), 'a')
  await fail('down')
  equal(fetched.get(), 'a')
  deepEqual(world.problems, ['no network', 'still none', 'down'])
})

test('what a provider does not take is fetched again, but not for each refusal', async () => {
  const { world, fetched, answer } = setup()
  void fetched.get()
  await answer('a', 60 * MINUTE)
  world.at = 29_000
  fetched.refused()
  equal(fetched.get(), 'a')
  world.at = 31_000
  fetched.refused()
  const next = fetched.get()
  await answer('b', 60 * MINUTE)
  equal(await next, 'b')
  fetched.refused()
  equal(fetched.get(), 'b')
})

test('abandoned: a fetch that nobody waits for is given up and told to nobody; one that is awaited goes on', async () => {
  const { world, fetched, answer, fail } = setup()
  const awaited = fetched.get()
  fetched.abandon()
  equal(world.signal!.aborted, false)
  await answer('a', 60 * MINUTE)
  equal(await awaited, 'a')
  world.at = 56 * MINUTE
  equal(fetched.get(), 'a')
  fetched.abandon()
  equal(world.signal!.aborted, true)
  await fail('given up')
  deepEqual([world.problems, world.calls], [[], 2])
  // Of an exchange that began before.
  equal(fetched.get(), 'a')
  equal(world.calls, 3)
})
