/** Books under attack: providers that lie about usage, streams that break off anywhere, names that are no names. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ANSWER, answerWith, chat, choice, one, pick, stand } from './calls.fixture.ts'
import { csvOf } from './csv.ts'

const AMOUNT = /^\d+(?:\.\d{1,9})?$/

const counts = (prompt: unknown, completion: unknown, more: object = {}) => ({
  ...{ prompt_tokens: prompt, completion_tokens: completion, total_tokens: 0 },
  ...more
})

/** What it says, and the cost at a millionth for each token; null: not known. */
const LIES: readonly (readonly [says: unknown, cost: string | null])[] = [
  [counts(-5, -7), '0'],
  [counts(-1e300, 10), '0.00001'],
  // At most a thousand million tokens of a kind are believed; parts that are more than the whole are counted as said.
  [counts(1e300, 1), '1000.000001'],
  [counts(1.2, 1), '0.000003'],
  [counts('100', '10'), '0'],
  [counts(100, 10, { prompt_tokens_details: { cached_tokens: 1e9 } }), '1000.00001'],
  [counts(100, 10, { prompt_tokens_details: { cached_tokens: -1e9 } }), '0.00011'],
  [counts(100, 10, { completion_tokens_details: { reasoning_tokens: 1e300 } }), '1000.0001'],
  [counts(100, 10, { cost: -5, prompt_tokens_details: 'none' }), '0.00011'],
  [null, null],
  ['a lot', null],
  [[1, 2], null]
]

test('a provider that lies about its usage: every cost is an amount or unknown, and no budget gains by it', async (t) => {
  const keys = [{ name: 'a', key: 'sk-hostile-0001', budgets: [{ amount: 1_000_000, period: 'Total' }] }]
  const { ask, ended, models } = await stand(t, one(), { keys })
  for (const [usage] of LIES) {
    answerWith(models, { ...choice('Hello'), usage })
    equal(await ask(chat(), { authorization: 'Bearer sk-hostile-0001' }), 200)
  }
  const { records } = await ended()
  equal(records.length, LIES.length)
  for (const [i, record] of records.entries()) {
    const [says, expected] = LIES[i]!
    const name = JSON.stringify(says)
    if (record.cost === null) match(String(record.costUnknown), /\w/, name)
    else match(String(record.cost), AMOUNT, name)
    if (expected !== null) equal(Number(record.cost), Number(expected), name)
    for (const [column, value] of Object.entries(record)) {
      if (column.endsWith('Tokens') && value !== null) ok(Number.isSafeInteger(value) && (value as number) >= 0, name)
    }
  }
})

const PIECES = ['He', 'll', 'o']
const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
  `data: ${JSON.stringify({ ...ANSWER, usage: null, choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`
const EVENTS = [
  chunk({ role: 'assistant', content: '' }),
  ...PIECES.map((content) => chunk({ content })),
  chunk({}, 'stop'),
  chunk({}, null, { choices: [], usage: ANSWER.usage }),
  'data: [DONE]\n\n'
]

test('a stream that breaks off behind any of its events is paid for what came, never for less than before', async (t) => {
  const keys = [{ name: 'a', key: 'sk-hostile-0001', budgets: [{ amount: 100, period: 'Total' }] }]
  const { ask, ended, models } = await stand(t, one(), { keys })
  for (let events = 1; events <= EVENTS.length; events++) {
    models.instead = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of EVENTS.slice(0, events)) response.write(event)
      if (events === EVENTS.length) response.end()
      else setImmediate(() => response.destroy())
      return true
    }
    await ask({ ...chat(), stream: true }, { authorization: 'Bearer sk-hostile-0001' }).catch(() => 0)
  }
  const { records } = await ended()
  equal(records.length, EVENTS.length)
  const costs = records.map(({ cost }) => Number(cost))
  const bases = records.map(({ costBasis }) => costBasis)
  ok(
    costs.every((cost, i) => cost >= 0 && (i === 0 || i >= EVENTS.length - 2 || cost >= costs[i - 1]!)),
    String(costs)
  )
  deepEqual(
    bases.slice(1, 1 + PIECES.length),
    PIECES.map(() => 'estimated')
  )
  // With the usage of the provider: 100 and 10 tokens.
  deepEqual(pick(records.slice(-1), 'cost', 'costBasis'), [['0.00011', 'usage']])
  equal(costs.at(-2), 0.00011)
})

const NAMES = [
  '=HYPERLINK("http://evil","x")',
  '+1',
  '-1',
  '@sum',
  'a\r\nlevel=error forged=1',
  'a"} 9 1\nweir_forged 1',
  '\u202egnirts',
  'a\u0000b',
  ',";',
  'x'.repeat(10_000)
]

test('names of models that are meant for the log, the metrics or a spreadsheet stay names', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-hostile-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'log')
  const log = { format: 'json', fd: openSync(path, 'w') } as const
  const { ask, ended, models } = await stand(t, one({}, '*'), {}, log)
  for (const name of NAMES) {
    answerWith(models, { ...choice('Hello'), model: name })
    equal(await ask(chat('Hi', name)), 200)
  }
  const { records, metrics } = await ended()
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
  equal(lines.length, NAMES.length)
  for (const line of lines) ok(typeof JSON.parse(line) === 'object' && Buffer.byteLength(line) < 4096)
  for (const line of metrics.split('\n')) match(line, /^(?:$|#|[a-z_]+(?:\{[^\n]*\})? [-+\d.eINnaf]+$)/)
  equal(metrics.includes('\nweir_forged'), false)
  equal(records.length, NAMES.length)
  for (const record of records) ok(String(record.model).length <= 256 && String(record.clientModel).length <= 256)
  const csv = csvOf(
    ['model'],
    records.map(({ model }) => [String(model)])
  )
  for (const cell of csv.split('\r\n').slice(1)) ok(!/^[=+\-@\t]/.test(cell.replace(/^"/, '')), cell)
})
