import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ExportOutcome } from '#engine/contract/otlp.ts'
import { ManualTime } from '#engine/testing/manual-time.ts'
import { SpendExport } from './export.ts'
import { row } from './rows.fixture.ts'

const TAKEN: ExportOutcome = { kind: 'taken', rejected: 0, message: '' }
const AGAIN: ExportOutcome = { kind: 'again', afterMs: null, message: 'HTTP status 503' }

function stand(answers: ExportOutcome[]) {
  const time = new ManualTime()
  const sent: { id: string }[][] = []
  const counts: Record<string, number> = {}
  const logged: string[] = []
  let waiting: (() => void) | null = null
  const out = new SpendExport({
    time,
    count: (result, records) => {
      counts[result] = (counts[result] ?? 0) + records
    },
    plan: {
      name: 'receiver',
      send(body, done) {
        sent.push(JSON.parse(body.toString()).records)
        waiting = () => done(answers.shift() ?? TAKEN)
        return { cancel() {} }
      },
      ...{ delayMs: 1000, batchMax: 3, queueMax: 5 },
      log: (_, message) => logged.push(message)
    }
  })
  const answer = () => {
    const done = waiting
    waiting = null
    done?.()
  }
  return { time, out, sent, counts, logged, answer }
}

const ids = (sent: readonly { id: string }[][]) => sent.map((records) => records.map(({ id }) => id).join(''))

test('records leave in batches, in order, one batch at a time', () => {
  const { time, out, sent, counts, answer } = stand([])
  out.add(row({ id: 'a' }))
  assert.deepEqual(ids(sent), [])
  time.pass(1000)
  for (const id of ['b', 'c', 'd', 'e']) out.add(row({ id }))
  assert.deepEqual(ids(sent), ['a'])
  answer()
  answer()
  answer()
  assert.deepEqual(ids(sent), ['a', 'bcd', 'e'])
  assert.deepEqual(counts, { sent: 5 })
})

test('a receiver that is away costs no more than the queue, and gets the same batch again, later and later', () => {
  const { time, out, sent, counts, logged, answer } = stand([AGAIN, { ...AGAIN, afterMs: 7000 }, TAKEN])
  for (const id of ['a', 'b', 'c']) out.add(row({ id }))
  for (let i = 0; i < 9; i++) out.add(row({ id: String(i) }))
  assert.equal(counts.queue_full, 4)
  answer()
  time.pass(1000)
  answer()
  time.pass(6999)
  assert.equal(sent.length, 2)
  time.pass(1)
  assert.deepEqual(ids(sent), ['abc', 'abc', 'abc'])
  answer()
  assert.deepEqual(ids(sent).at(-1), '012')
  assert.equal(logged.length, 1)
  assert.equal(counts.sent, 3)
})

test('what may not be sent again, or has been tried ten times, is given up and counted', () => {
  const answers: ExportOutcome[] = [
    { kind: 'refused', message: 'HTTP status 400' },
    ...Array.from({ length: 10 }, () => AGAIN)
  ]
  const { time, out, sent, counts, answer } = stand(answers)
  for (const id of ['a', 'b', 'c', 'd', 'e', 'f']) out.add(row({ id }))
  answer()
  for (let i = 0; i < 10; i++) {
    answer()
    time.pass(30_000)
  }
  assert.equal(sent.length, 11)
  assert.deepEqual(counts, { refused: 3, expired: 3 })
})

test('at the end each batch is tried once more, and nothing waits for a receiver that is silent', async () => {
  const { time, out, sent, counts, answer } = stand([AGAIN, TAKEN])
  for (const id of ['a', 'b', 'c', 'd']) out.add(row({ id }))
  answer()
  const closed = out.close()
  assert.deepEqual(ids(sent), ['abc', 'abc'])
  answer()
  assert.deepEqual(ids(sent).at(-1), 'd')
  time.pass(1500)
  await closed
  assert.deepEqual(counts, { sent: 3, shutdown: 1 })
})
