/** Operations over connections that break: what arrives counts once, and what may not have arrived is undone. */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AWAY, ServerBooks, type ServerBooksOptions } from './client.ts'
import { ServerControl } from './control.ts'
import { FactJournal } from './journal.ts'
import { ModelServer } from './model.fixture.ts'
import type { Part } from './operations.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const TOTAL = 'key/a Total'
const part = (limit: number): Part => [TOTAL, String(limit), 0, 8.64e15, 0, 0]

function stand(t: TestContext, more: Partial<ServerBooksOptions> = {}) {
  const server = new ModelServer(NOW)
  const books = (writer: string) => {
    const made = new ServerBooks({
      ...{ writer, connect: server.connect, isOpen: false, timeoutMs: 60_000, journal: null },
      ...more
    })
    t.after(() => made.close())
    return made
  }
  return { server, books }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Waits for turns of the event loop, not for time. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn()
}

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'weir-facts-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function reserved(books: ServerBooks, bound: number, limit: number): Promise<number | null> {
  const outcome = await books.reserve(String(bound), [part(limit)])
  if (outcome === AWAY) throw new Error('the server is away')
  return outcome.answer[0] === 1 ? outcome.number : null
}

test('two hundred calls at once over three writers against the last cent: one is let pass', async (t) => {
  const { server, books } = stand(t)
  const all = ['a', 'b', 'c'].map(books)
  const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => reserved(all[i % 3]!, 50, 10)))
  equal(outcomes.filter((number) => number !== null).length, 1)
  equal(server.budget(TOTAL)?.used, 10n)
})

test('what comes in one turn goes in one batch', async (t) => {
  const { server, books } = stand(t)
  const one = books('a')
  await reserved(one, 1, 1_000)
  const before = server.batches
  await Promise.all(Array.from({ length: 100 }, () => reserved(one, 1, 1_000)))
  equal(server.batches - before, 1)
})

test('a settlement whose answer is lost is sent again, and counts once', async (t) => {
  const { server, books } = stand(t)
  const one = books('a')
  const number = await reserved(one, 10, 100)
  server.lostAnswers = 1
  const { batches } = server
  one.settle(number!, '7', [part(100)])
  await until(() => server.batches > batches)
  equal((await reserved(one, 1, 100)) === null, false)
  deepEqual([server.budget(TOTAL)?.spent, server.budget(TOTAL)?.used], [7n, 8n])
})

test('a reservation whose answer is lost is refused, and given back', async (t) => {
  const { server, books } = stand(t)
  const one = books('a')
  server.lostAnswers = 1
  equal(await one.reserve('10', [part(100)]), AWAY)
  await until(() => server.budget(TOTAL)?.used === 0n)
  equal(server.budget(TOTAL)?.spent, 0n)
})

test('while the server is away calls are refused at once, it is said once, and facts wait', async (t) => {
  const { server, books } = stand(t)
  const logged: string[] = []
  const log = (level: string, message: string) => void logged.push(`${level}: ${message}`)
  const quiet = { isOpen: false, folder: null, isLiving: () => true, changed: () => {} }
  const control = new ServerControl({ ...quiet, connect: server.connect, log })
  t.after(() => control.close())
  await until(() => logged.length === 1)
  const one = books('a')
  const number = await reserved(one, 10, 100)
  server.isDown = true
  server.cut()
  one.settle(number!, '9', [part(100)])
  await until(() => logged.length > 1)
  // Whether it was tried already or waits for that: it is not let pass.
  equal(await one.reserve('1', [part(100)]), AWAY)
  equal(server.budget(TOTAL)?.spent, 0n)
  server.isDown = false
  await until(() => server.budget(TOTAL)?.spent === 9n)
  await until(() => logged.length > 2)
  match(logged[1]!, /^error: the server of config.state.url is away \(read ECONNRESET\); calls of keys/)
  deepEqual(logged.slice(2), ['info: the server of config.state.url answers again'])
})

test('a writer that was taken for dead: its calls count at their estimate, then at what they cost', async (t) => {
  const { server, books } = stand(t)
  const one = books('a')
  const number = await reserved(one, 10, 100)
  const begun = await one.begin([['key/a', 2]], [])
  notEqual(begun, AWAY)
  equal(server.reap(-1), 1)
  deepEqual([server.budget(TOTAL)?.spent, server.underWay('key/a')], [10n, 0])
  one.settle(number!, '4', [part(100)])
  const again = await one.begin([['key/a', 2]], [])
  deepEqual([server.budget(TOTAL)?.spent, server.budget(TOTAL)?.used], [4n, 4n])
  // The end of the first one is that of a time before: it must not end the second.
  if (begun !== AWAY) one.end(['key/a'], begun.epoch)
  if (again !== AWAY) equal(again.epoch, 1)
  await reserved(one, 1, 100)
  equal(server.underWay('key/a'), 1)
})

test('what a process that is killed had no time to send is booked by the next one, once', async (t) => {
  const folder = folderOf(t)
  const server = new ModelServer(NOW)
  const journal = new FactJournal({ folder, writer: 'a', fsync: 'no' }, () => {})
  // Settled, and one that went on without the server and nobody has settled.
  const facts = [['settle', 2, 1, '30', [part(1_000)]] as const, ['correct', 4, '-5', [part(1_000)]] as const]
  server.apply('a', 0, [['reserve', 1, '50', [part(1_000)]]])
  journal.estimate(3, '100', [part(1_000)])
  for (const fact of facts) journal.write(fact)
  server.apply('a', 0, facts.slice(0, 1))
  for (let i = 0; i < 2; i++) {
    const control = new ServerControl({
      ...{ connect: server.connect, folder, isOpen: false, isLiving: () => false, changed: () => {}, log: () => {} }
    })
    await until(() => readdirSync(folder).length === 0)
    await control.close()
  }
  journal.close(false)
  deepEqual([server.budget(TOTAL)?.spent, server.budget(TOTAL)?.used], [125n, 125n])
})

test('open: calls go on without the server, and are booked when it is there again', async (t) => {
  const folder = folderOf(t)
  const journal = new FactJournal({ folder, writer: 'a', fsync: 'no' }, () => {})
  const { server, books } = stand(t, { isOpen: true, journal })
  server.isDown = true
  const one = books('a')
  equal(await one.reserve('10', [part(100)]), AWAY)
  const number = one.pass('10', [part(100)])
  notEqual(number, 0)
  one.settle(number, '8', [part(100)])
  server.isDown = false
  await until(() => server.budget(TOTAL)?.spent === 8n)
  equal(server.budget(TOTAL)?.used, 8n)
})

test('who watches the server hears when it is reached, how long it takes, and when it is away', async (t) => {
  const heard: string[] = []
  const watch = {
    connected: (isUp: boolean) => void heard.push(isUp ? 'up' : 'away'),
    answered: (seconds: number) => void heard.push(seconds >= 0 ? 'answered' : String(seconds)),
    failed: () => void heard.push('failed'),
    uncounted: (outcome: string) => void heard.push(outcome)
  }
  const { server, books } = stand(t, { watch })
  const one = books('a')
  await reserved(one, 1, 100)
  deepEqual(heard, ['up', 'answered'])
  server.lostAnswers = 1
  equal(await one.reserve('1', [part(100)]), AWAY)
  await until(() => heard.includes('failed'))
  server.isDown = true
  server.cut()
  await until(() => heard.includes('away'))
  server.isDown = false
  await until(() => heard.lastIndexOf('up') > heard.indexOf('away'))
})
