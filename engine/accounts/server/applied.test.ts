/** Answers of servers that are none. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readApplied } from './applied.ts'
import { AWAY, ServerBooks } from './client.ts'
import { ModelServer } from './model.fixture.ts'
import type { Applied, Operation } from './operations.ts'

const NOW = Date.parse('2026-11-23T12:00:00Z')
const BEGIN: Operation = ['begin', 1, [['key/a', 2]], [['b', 1, 1, 1000, 1]]]
const RESERVE: Operation = ['reserve', 2, '10', [['key/a Total', '100', 0, 8.64e15, 0, 0]]]
const ALL: readonly Operation[] = [['end', 3, ['key/a']], BEGIN, RESERVE]
const applied = (...answers: readonly unknown[]) => ({ now: NOW, fresh: false, answers })

test('answers are taken as they are, and those that are left out are null', () => {
  deepEqual(readApplied(applied(null, [1, {}, []], [1, ['10']]), ALL).answers, [null, [1, {}, []], [1, ['10']]])
  deepEqual(readApplied(applied(), ALL).answers, [null, null, null])
  deepEqual(readApplied(applied(null, [0, 'bucket', 0, 12], [0, 0, '99', NOW]), ALL).answers[2], [0, 0, '99', NOW])
})

test('what is no answer is none', () => {
  const wrong = [
    ...[null, 1, 'x', [], {}, { ...applied(), now: 'x' }, { ...applied(), now: Number.NaN }, { ...applied(), now: 1 }],
    ...[
      { ...applied(), fresh: 1 },
      { ...applied(), answers: {} }
    ],
    ...[[3], 'x', {}, [0, 'account', 1, 0], [0, 'x', 0, 0], [1, [1]], [1, ['x'], []]].map((one) => applied(null, one)),
    ...[
      [0, 1, '1', NOW],
      [0, 0, 'x', NOW],
      [0, 0, '1', 1e300]
    ].map((one) => applied(null, null, one))
  ]
  for (const value of wrong) throws(() => readApplied(value, ALL), /cannot be read/, JSON.stringify(value))
})

test('whatever comes: it throws, or can be worked with', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue()))), (answers) => {
      let found: Applied
      try {
        found = readApplied(applied(...answers), ALL)
      } catch (error) {
        equal((error as Error).message, 'what it answers to a batch cannot be read')
        return
      }
      const reserve = found.answers[2] ?? null
      if (reserve !== null && reserve[0] === 0) equal(typeof BigInt(String(reserve[2])), 'bigint')
    })
  )
})

test('a server that answers nonsense is away: no call is let pass, and nothing of it is believed', async (t) => {
  const model = new ModelServer(NOW)
  let isMad = false
  const books = new ServerBooks({
    ...{ writer: 'a', isOpen: false, timeoutMs: 60_000, journal: null },
    connect: async (lost) => {
      const connection = await model.connect(lost)
      const apply: typeof connection.apply = async (...args) => {
        const answer = await connection.apply(...args)
        return isMad ? ({ now: 'never', fresh: 0, answers: 'x' } as unknown as Applied) : answer
      }
      return { ...connection, apply }
    }
  })
  t.after(() => books.close())
  const reserve = () => books.reserve('1', [['key/a Total', '100', 0, 8.64e15, 0, 0]])
  equal((await reserve()) === AWAY, false)
  isMad = true
  equal(await reserve(), AWAY)
  equal(Number.isFinite(books.now()), true)
  isMad = false
})
