/** What has to hold over replicas, whatever ends among them: books are those of the provider. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as after } from 'node:timers/promises'
import fc from 'fast-check'
import { histories, run as runHistory } from '#engine/accounts/server/books.fixture.ts'
import { connectTo } from '#engine/accounts/server/connect.ts'
import { OBJECT_KEPT_MS, OBJECTS_MAX } from '#engine/contract/object-owners.ts'
import { stateSchema, translateState } from '#engine/source/state.ts'
import { type Case, count, KEY, many, TEAM, team, withFleet } from './case.ts'
import { becomes, completion, type Fleet, NANOS_PER_TOKEN, usageOf } from './fleet.ts'
import { fakeTime } from './servers.ts'
import { STREAM_CASES } from './streams.ts'

const lastCent = (replicas: number): Case => ({
  name: `200 calls at once against the last cent, ${replicas} replicas of 2 workers: one is answered`,
  run: async ({ server: { url }, provider, prefix }) =>
    await withFleet({ url, provider, prefix, replicas, accounts: team('0.01') }, async (fleet) => {
      const body = { max_tokens: 10_000 }
      const all = await many(200, (i) => fleet.chat(i % replicas, KEY, body))
      equal(count(all, 200), 1)
      equal(count(all, 429), 199)
      ok(await becomes(async () => (await fleet.book(0, TEAM)).reserved === 0))
      const { spent } = await fleet.book(replicas - 1, TEAM)
      equal(spent, 10_000 * NANOS_PER_TOKEN)
      return `200: 1, 429: 199; booked ${spent / 1e9}`
    })
})

/** Clients in loops until `isOver`; how many answers they got. */
async function load(
  fleet: Fleet,
  clients: number,
  isOver: () => boolean
): Promise<{ answered: number; refused: number }> {
  let answered = 0
  let refused = 0
  await many(clients, async (i) => {
    for (let round = i; !isOver(); round++) {
      const { status } = await fleet.chat(round % fleet.replicas.length, KEY)
      if (status === 200) answered++
      else refused++
      if (status === 0) await after(20)
    }
  })
  return { answered, refused }
}

const CALL = 100 * NANOS_PER_TOKEN

const OWNERS: Case = {
  name: 'whose the objects of providers are: two replicas read what one has noted, and what the other has forgotten',
  run: async ({ server: { url }, prefix }) => {
    const spec = translateState(stateSchema.parse({ url, prefix })).server!
    const [one, other] = await Promise.all([connectTo(spec, () => {}), connectTo(spec, () => {})])
    try {
      const now = Date.now()
      await one.objects!.note('ann', ['a', 'b', 'a'], now)
      await other.objects!.note('bob', ['c'], now)
      const found = await other.objects!.owned('ann', ['c', 'b', 'a'], now)
      deepEqual(found, { isOwn: [false, true, true], total: 2 })
      await other.objects!.forget('ann', 'b')
      deepEqual(await one.objects!.owned('ann', ['a', 'b'], now), { isOwn: [true, false], total: 1 })
      deepEqual(await one.objects!.owned('nobody', [], now), { isOwn: [], total: 0 })
      deepEqual(await one.objects!.owned('ann', ['a'], now + OBJECT_KEPT_MS + 1), { isOwn: [false], total: 0 })
      const many = Array.from({ length: OBJECTS_MAX + 5 }, (_, i) => `m${i}`)
      await one.objects!.note('many', many, now)
      equal((await other.objects!.owned('many', [], now)).total, OBJECTS_MAX)
      return 'noted 2, forgot 1'
    } finally {
      await Promise.all([one.close(), other.close()])
    }
  }
}

const CASES: readonly Case[] = [
  OWNERS,
  {
    name: 'random histories of three writers, as in the model',
    run: async ({ server: { url }, prefix }) => {
      const spec = translateState(stateSchema.parse({ url, prefix })).server!
      const connection = await connectTo(spec, () => {})
      let runs = 0
      try {
        await fc.assert(
          fc.asyncProperty(histories, async (steps) => await runHistory(connection, steps, `h${runs++}`)),
          { numRuns: 60 }
        )
      } finally {
        await connection.close()
      }
      return `${runs} histories`
    }
  },
  lastCent(2),
  lastCent(3),
  {
    name: 'kill -9 of a replica under load: what was answered is booked, what was set aside is spent',
    run: async ({ server: { url }, provider, prefix }) =>
      await withFleet({ url, provider, prefix, replicas: 3, accounts: team('100') }, async (fleet) => {
        const before = provider.billed
        let isOver = false
        const loading = load(fleet, 24, () => isOver)
        await becomes(async () => provider.billed - before > 200 * 100)
        fleet.replicas[1]!.program.signal('SIGKILL')
        await becomes(async () => provider.billed - before > 500 * 100)
        isOver = true
        const { answered } = await loading
        ok(await becomes(async () => (await fleet.book(0, TEAM)).reserved === 0 && hasReaped(fleet)))
        const { spent } = await fleet.book(2, TEAM)
        const billed = ((provider.billed - before) / 100) * CALL
        ok(spent >= billed, `${spent} booked, ${billed} billed`)
        // An estimate has the bytes of the request beside its limit of output: less than three such calls for each.
        ok(spent <= billed + 24 * 3 * CALL, `${spent} booked, ${billed} billed`)
        return `${answered} answers, ${(provider.billed - before) / 100} billed, ${spent / CALL} booked`
      })
  },
  {
    name: 'kill -9 of the server under load: calls are refused meanwhile, and the books are those of the provider',
    run: async ({ server, provider, prefix }) => {
      const options = { url: server.url, provider, prefix, replicas: 2, accounts: team('100') }
      return await withFleet({ ...options, state: { timeout: '500ms' } }, async (fleet) => {
        const before = provider.billed
        let isOver = false
        const loading = load(fleet, 16, () => isOver)
        const reaches = async (calls: number) => await becomes(async () => provider.billed - before > calls * 100)
        await reaches(200)
        await server.kill()
        await after(1_500)
        const { status, text } = await fleet.chat(0, KEY)
        equal(status, 503)
        ok(text.includes('BUDGET_UNAVAILABLE'), text)
        await server.start()
        ok(await reaches((provider.billed - before) / 100 + 200))
        isOver = true
        const { answered, refused } = await loading
        const billed = ((provider.billed - before) / 100) * CALL
        ok(
          await becomes(async () => {
            const { spent, reserved } = await fleet.book(0, TEAM)
            return reserved === 0 && spent === billed
          }),
          `${JSON.stringify(await fleet.book(0, TEAM))}, ${billed} billed`
        )
        return `${answered} answers, ${refused} refused, ${billed / CALL} billed and booked`
      })
    }
  },
  {
    name: 'failureMode open: calls pass without the server, and are booked after a kill -9 of the replica too',
    run: async ({ server, provider, prefix }) => {
      const options = { url: server.url, provider, prefix, replicas: 1, accounts: team('100') }
      const state = { failureMode: 'open', timeout: '200ms' }
      return await withFleet({ ...options, state }, async (fleet) => {
        const before = provider.billed
        await server.kill()
        const passed = await becomes(async () => (await fleet.chat(0, KEY)).status === 200)
        ok(passed)
        const all = await many(50, () => fleet.chat(0, KEY))
        equal(count(all, 200), 50)
        fleet.replicas[0]!.program.signal('SIGKILL')
        await fleet.replicas[0]!.program.exited()
        await server.start()
        await fleet.restart(0)
        const billed = (provider.billed - before) * NANOS_PER_TOKEN
        ok(
          await becomes(async () => (await fleet.book(0, TEAM)).spent === billed),
          `${JSON.stringify(await fleet.book(0, TEAM))}, ${billed} billed`
        )
        return `${billed / CALL} calls billed and booked`
      })
    }
  },
  {
    name: 'a key that one replica makes, rotates and revokes holds at the others within a second',
    run: async ({ server: { url }, provider, prefix }) =>
      await withFleet({ url, provider, prefix, replicas: 3, accounts: team('100') }, async (fleet) => {
        const made = await fleet.api<{ key: string }>(0, 'POST', 'keys', { name: 'bot', team: 'ml' })
        const times: number[] = []
        const reach = async (isSo: (status: number) => boolean, key: string) => {
          const at = performance.now()
          for (const i of [1, 2]) ok(await becomes(async () => isSo((await fleet.chat(i, key)).status)))
          times.push(performance.now() - at)
        }
        await reach((status) => status === 200, made.key)
        const rotated = await fleet.api<{ key: string }>(1, 'POST', 'keys/bot/rotate', { gracePeriod: '0s' })
        await reach((status) => status === 200, rotated.key)
        await reach((status) => status === 401, made.key)
        await fleet.api(2, 'PATCH', 'keys/bot', { revoked: true })
        for (const i of [0, 1]) ok(await becomes(async () => (await fleet.chat(i, rotated.key)).status === 401))
        const conflict = await fleet.api<{ error?: { code: string } }>(1, 'POST', 'keys', { name: 'bot' })
        equal(conflict.error?.code, 'CONFLICT')
        return `known after ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`
      })
  },
  {
    name: 'clocks of replicas that are 40 days ahead and behind begin no month',
    run: async ({ server: { url }, provider, prefix }) => {
      const library = fakeTime()
      ok(library !== null, 'there is no libfaketime')
      const clock = (FAKETIME: string) => ({ LD_PRELOAD: library, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC: '1' })
      const env = [{}, clock('+40d'), clock('-40d')]
      const budgets = [{ amount: '0.01', period: 'Month' }]
      const accounts = { teams: [{ name: 'ml', budgets }], keys: [{ name: 'alice', key: KEY, team: 'ml' }] }
      return await withFleet({ url, provider, prefix, replicas: 3, accounts, env }, async (fleet) => {
        equal((await fleet.chat(0, KEY, { max_tokens: 10_000 })).status, 200)
        const statuses = await many(9, async (i) => (await fleet.chat(i % 3, KEY)).status)
        ok(
          statuses.every((status) => status === 429),
          statuses.join(' ')
        )
        return 'the month that is used up is so at all three'
      })
    }
  },
  {
    name: 'limits and concurrency over replicas',
    run: async ({ server: { url }, provider, prefix }) => {
      const accounts = team('100', { limits: [{ requests: 40, unit: 'Days' }], concurrency: 3 })
      return await withFleet({ url, provider, prefix, replicas: 3, accounts }, async (fleet) => {
        let underWay = 0
        let most = 0
        const usual = provider.answer
        provider.answer = (body, response) => {
          most = Math.max(most, ++underWay)
          setTimeout(() => {
            underWay--
            usual(body, response)
          }, 20)
        }
        try {
          const answers: { status: number }[] = []
          await many(12, async (i) => {
            for (let round = 0; round < 40; round++) answers.push(await fleet.chat((i + round) % 3, KEY))
          })
          equal(count(answers, 200), 40)
          ok(most <= 3, `${most} at a time`)
          return `200: 40 of ${answers.length}, at most ${most} at a time`
        } finally {
          provider.answer = usual
        }
      })
    }
  },
  {
    name: 'streams whose clients leave, and usage that lies',
    run: async ({ server: { url }, provider, prefix }) =>
      await withFleet({ url, provider, prefix, replicas: 2, accounts: team('100') }, async (fleet) => {
        const usual = provider.answer
        const lies = [-1_000, 1e30, '12', null, { a: 1 }, Number.MAX_SAFE_INTEGER]
        try {
          for (const [i, lie] of lies.entries()) {
            provider.answer = (_, response) => {
              const usage = lie === null ? undefined : usageOf(lie)
              response.writeHead(200, { 'content-type': 'application/json' }).end(completion(usage))
            }
            const { spent: before } = await fleet.book(0, TEAM)
            await fleet.chat(i % 2, KEY)
            ok(await becomes(async () => (await fleet.book(0, TEAM)).reserved === 0))
            const { spent } = await fleet.book(1, TEAM)
            ok(spent >= before && Number.isSafeInteger(spent), `${JSON.stringify(lie)}: ${before} -> ${spent}`)
          }
          return `${lies.length} lies`
        } finally {
          provider.answer = usual
        }
      })
  },
  {
    name: 'clients that leave their streams: nothing stays set aside',
    run: async ({ server: { url }, provider, prefix }) =>
      await withFleet({ url, provider, prefix, replicas: 2, accounts: team('100') }, async (fleet) => {
        const usual = provider.answer
        provider.answer = (_, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' })
          const piece = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' }
          const choices = [{ index: 0, delta: { content: 'word ' }, finish_reason: null }]
          const timer = setInterval(() => response.write(`data: ${JSON.stringify({ ...piece, choices })}\n\n`), 5)
          response.on('close', () => clearInterval(timer))
        }
        try {
          await many(40, async (i) => await fleet.leaveStream(i % 2, KEY))
          ok(await becomes(async () => (await fleet.book(0, TEAM)).reserved === 0))
          const { spent } = await fleet.book(1, TEAM)
          ok(spent > 0 && spent <= 40 * 3 * CALL, String(spent))
          return `40 left, ${spent / 1e9} booked`
        } finally {
          provider.answer = usual
        }
      })
  },
  ...STREAM_CASES
]

const hasReaped = (fleet: Fleet): boolean =>
  fleet.replicas.some(({ program }) => program.output.includes('were under way at a replica that is gone'))

export { CASES }
