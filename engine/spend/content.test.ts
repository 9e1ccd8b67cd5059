import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { noteGuard } from '#engine/contract/guard-verdicts.ts'
import type { KeptContent } from '#engine/contract/kept-content.ts'
import type { ModelContent } from '#engine/contract/model-use.ts'
import type { Offload } from '#engine/contract/policy.ts'
import { finishedExchange } from '#engine/telemetry/exchange.fixture.ts'
import { boundedContent, contentPlan, keptContent } from './content.ts'
import { SpendExport } from './export.ts'
import { contentChars, withContent } from './record.ts'
import { type Batch, SpendRecorder } from './recorder.ts'
import { row } from './rows.fixture.ts'

const contentOf = (more: Partial<KeptContent>): KeptContent => ({
  ...{ prompt: [], answer: [], toolCalls: [], isCut: false },
  ...more
})
const bytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
const user = (content: string) => ({ role: 'user', content })

/** Texts whose JSON is longer than they are, in all the ways. */
const LONG = ['x', '\u0000', '"', '語', '🙂', '\n', '\ud800'].map((text) => text.repeat(40_000))

test('no part takes more bytes of JSON than its bound, whatever was said', () => {
  for (const text of LONG) {
    const call = { id: 'c', name: 'n', arguments: text }
    for (const bytesMax of [256, 1000, 16_384]) {
      const all = contentOf({ prompt: [user(text), user(text)], answer: [text, text], toolCalls: [call, call] })
      const { isCut, ...parts } = boundedContent(all, bytesMax)
      equal(isCut, true)
      for (const part of Object.values(parts)) {
        ok(bytes(part) <= bytesMax, `${JSON.stringify(text[0])} ${bytes(part)} > ${bytesMax}`)
        ok(bytes(part) > bytesMax / 2 - 96, `${JSON.stringify(text[0])} ${bytes(part)} of ${bytesMax}`)
      }
      equal(JSON.stringify(parts.prompt).includes('\\ud83d'), false)
    }
  }
})

test('many small messages are bounded like one large one; names of tools count', () => {
  const kept = boundedContent(contentOf({ prompt: Array.from({ length: 10_000 }, () => user('')) }), 1024)
  ok(bytes(kept.prompt) <= 1024)
  const names = boundedContent(contentOf({ toolCalls: [{ id: 'c', name: 'n'.repeat(5000), arguments: '{}' }] }), 1024)
  deepEqual([names.toolCalls, names.isCut], [[], true])
})

test('the newest messages stay, and the beginning of an answer', () => {
  const prompt = [user('first'), user('a'.repeat(900)), user('last')]
  const kept = boundedContent(contentOf({ prompt, answer: ['b'.repeat(2000)] }), 1024)
  deepEqual(
    kept.prompt.map(({ content }) => content.slice(0, 5)),
    ['aaaaa', 'last']
  )
  equal(kept.answer[0]!.startsWith('bbb'), true)
  deepEqual(boundedContent(contentOf({ prompt: [user('a')] }), 1024), contentOf({ prompt: [user('a')] }))
})

test('what is not known is nothing', () => {
  const unknown = { prompt: () => undefined, completion: () => undefined, toolCalls: () => undefined }
  deepEqual(keptContent(unknown as unknown as ModelContent, 1024), contentOf({}))
})

const LARGE = withContent(row(), contentOf({ answer: ['x'.repeat(256 * 1024)] }))

test('while the file is behind, records beyond 8 MiB of prompts are kept without them', () => {
  const batches: Batch[] = []
  const recorder = new SpendRecorder({ post: (batch) => batches.push(batch), count: () => {} })
  for (let i = 0; i < 100; i++) recorder.add(LARGE)
  recorder.close()
  const rows = batches.flatMap((batch) => JSON.parse(batch.rows) as (typeof LARGE)[])
  equal(rows.length, 100)
  for (const { rows: text } of batches) ok(text.length < 2 * 1024 * 1024)
  const whole = rows.filter((one) => contentChars(one) > 1000).length
  // Four batches of four have left, and 8 MiB wait.
  ok(whole >= 40 && whole <= 48, String(whole))
  equal(rows.filter((one) => String(one.at(-1)).includes('"isCut":true')).length, 100 - whole)
})

test('a slow receiver costs no more than that', () => {
  const sent: Buffer[] = []
  let next: (() => void) | null = null
  const time = { after: () => () => {}, now: () => 0, random: () => 0 }
  const out = new SpendExport({
    time: time as never,
    count: () => {},
    plan: {
      name: 'receiver',
      send(body, done) {
        sent.push(body)
        next = () => done({ kind: 'taken', rejected: 0, message: '' })
        return { cancel() {} }
      },
      ...{ delayMs: 1000, batchMax: 500, queueMax: 1000, log: () => {} }
    }
  })
  for (let i = 0; i < 100; i++) out.add(LARGE)
  for (let done = next as (() => void) | null; done !== null; done = next as (() => void) | null) {
    next = null
    done()
  }
  for (const body of sent) ok(body.length < 2 * 1024 * 1024)
  const records = sent.flatMap(
    (body) => (JSON.parse(body.toString()) as { records: { content: KeptContent }[] }).records
  )
  equal(records.length, 100)
  const whole = records.filter(({ content }) => !content.isCut).length
  ok(whole >= 32 && whole <= 40, String(whole))
})

test('whatever a backend still has of it: what a guard has refused, or could not judge, is not kept', () => {
  const content = {
    ...{ prompt: () => [user('asked')], completion: () => ['told'], toolCalls: () => [], elsewhere: () => null }
  } as unknown as ModelContent
  const { read } = contentPlan({ bytesMax: 1024, isTraced: false }, { run: () => Promise.reject() } as Offload)
  const keptAfter = (guard: string, action: 'mask' | 'reject' | 'unavailable' | 'skipped') => {
    const ex = finishedExchange()
    ex.llm = { content }
    noteGuard(ex, { guard, action })
    const kept = read(ex) as KeptContent | null
    return kept === null ? null : [kept.prompt.length, kept.answer.length]
  }
  for (const action of ['reject', 'unavailable'] as const) {
    equal(keptAfter('request[1]', action), null)
    deepEqual(keptAfter('response[0]', action), [1, 0])
  }
  for (const action of ['mask', 'skipped'] as const) deepEqual(keptAfter('request[0]', action), [1, 1])
})
