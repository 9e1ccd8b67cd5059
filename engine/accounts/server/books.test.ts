/** The books of several writers: the model, which the suite compares Redis and PostgreSQL with. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { histories, run } from './books.fixture.ts'
import { ModelServer } from './model.fixture.ts'
import type { Part } from './operations.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const DAY_MS = 86_400_000

test('whatever writers do, what is spent is what was settled, and one call at a time overdraws', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      const server = new ModelServer(NOW)
      await run(
        {
          apply: async (...args) => server.apply(...args),
          reap: async (deadMs) => server.reap(deadMs),
          budgets: async (ids) => ids.map((id) => server.budget(id))
        },
        steps,
        'a'
      )
    })
  )
})

test('a period ends by the clock of the server, and one that was begun is not begun again', () => {
  const server = new ModelServer(NOW)
  const day = (at: number): Part => {
    const start = Math.floor(at / DAY_MS) * DAY_MS
    return ['key/a Day UTC -', '10', start, start + DAY_MS, 0, 0]
  }
  const reserve = (number: number, at: number) =>
    server.apply('w', 0, [['reserve', number, '10', [day(at)]]]).answers[0]
  deepEqual(reserve(1, NOW), [1, ['10']])
  // The replica's clock is a day ahead: the period of the server is in force.
  deepEqual(reserve(2, NOW + DAY_MS), [0, 0, '0', day(NOW)[3]])
  server.now += DAY_MS
  // And a day behind: it has to look at the clock again.
  deepEqual(reserve(3, NOW), [2])
  deepEqual(reserve(4, server.now), [1, ['10']])
  // The server's own clock is put back.
  server.now -= DAY_MS
  deepEqual(reserve(5, NOW), [0, 0, '0', day(NOW + DAY_MS)[3]])
  // What was set aside in the period before is settled there, and is over with it.
  server.apply('w', 0, [['settle', 6, 1, '7', [day(NOW)]]])
  deepEqual(server.budget('key/a Day UTC -'), { used: 10n, spent: 0n, end: day(NOW + DAY_MS)[3] })
})

test('a rolling budget forgets part by part', () => {
  const server = new ModelServer(NOW)
  const part: Part = ['key/a 60000ms', '10', 0, 8.64e15, 60_000, 1_000]
  const spend = (number: number) => {
    const { answers } = server.apply('w', 0, [['reserve', number, '6', [part]]])
    const [isTaken] = answers[0] as readonly unknown[]
    if (isTaken === 1) server.apply('w', 0, [['settle', number + 1, number, '6', [part]]])
    return isTaken
  }
  equal(spend(1), 1)
  server.now += 30_000
  equal(spend(3), 1)
  equal(spend(5), 0)
  server.now += 31_000
  equal(spend(7), 1)
})
