/** What was said, in the file of the spend log: with its record, and apart from it. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { KeptContent } from '#engine/contract/kept-content.ts'
import { answerQuery } from './answers.ts'
import { readPromptsQuery, readRecordsQuery } from './query.ts'
import { withContent } from './record.ts'
import { NOON, row } from './rows.fixture.ts'
import { SpendStore } from './store.ts'

const DAY_MS = 86_400_000
const SPEC = { recordsMaxAgeMs: 30 * DAY_MS, sumsMaxAgeMs: 400 * DAY_MS, bytesMax: 2 ** 30 }
const CONTENT: KeptContent = {
  prompt: [{ role: 'user', content: '=1+1, "x"' }],
  answer: ['two'],
  toolCalls: [],
  isCut: false
}

function specOf(t: TestContext) {
  const path = mkdtempSync(join(tmpdir(), 'weir-spend-'))
  t.after(() => rmSync(path, { recursive: true }))
  return { path, ...SPEC }
}

async function storeOf(t: TestContext, spec = specOf(t)): Promise<SpendStore> {
  const store = await SpendStore.open(spec)
  t.after(() => store.close())
  return store
}

const input = (params: string) => ({ params: new URLSearchParams(params), now: NOON + DAY_MS, accept: '' })
const prompts = ({ database }: SpendStore, params = '') =>
  answerQuery(database, readPromptsQuery(input(params)), true).body

test('records have what was said where it is asked for, and nowhere else', async (t) => {
  const store = await storeOf(t)
  store.append([row({ id: 'a' }), withContent(row({ id: 'b' }), CONTENT)])
  const { keepsPrompts, records } = JSON.parse(prompts(store))
  assert.equal(keepsPrompts, true)
  assert.deepEqual(
    records.map(({ id, content }: Record<string, unknown>) => [id, content]),
    [
      ['b', CONTENT],
      ['a', null]
    ]
  )
  const plain = answerQuery(store.database, readRecordsQuery(input('')))
  assert.deepEqual([JSON.parse(plain.body).keepsPrompts, /two|content/.test(plain.body)], [false, false])
  const csv = answerQuery(store.database, readRecordsQuery(input('format=csv')))
  assert.equal(/two|content/.test(csv.body), false)
})

test('in CSV what was said is one cell, which no spreadsheet runs', async (t) => {
  const store = await storeOf(t)
  store.append([withContent(row(), CONTENT)])
  const [head = '', line = ''] = prompts(store, 'format=csv').split('\r\n')
  assert.match(head, /,continuations,content$/)
  const cell = line.slice(line.indexOf('"{') + 1, -1).replaceAll('""', '"')
  assert.deepEqual(JSON.parse(cell), CONTENT)
})

test('a page of them is small, and there is a next one', async (t) => {
  const store = await storeOf(t)
  store.append(Array.from({ length: 25 }, (_, i) => withContent(row({ id: `r${i}`, time: NOON + i }), CONTENT)))
  const { records, next } = JSON.parse(prompts(store))
  assert.equal(records.length, 20)
  assert.equal(JSON.parse(prompts(store, `cursor=${next}`)).records.length, 5)
  assert.throws(() => readPromptsQuery(input('limit=101')), /limit|from 1 to 100/)
})

test('what was said goes with its record', async (t) => {
  const store = await storeOf(t)
  store.append([withContent(row({ time: NOON - 31 * DAY_MS }), CONTENT), withContent(row(), CONTENT)])
  const count = () => store.database.prepare('SELECT count(*) AS count FROM contents').get()!.count
  assert.equal(count(), 2)
  store.prune(NOON)
  assert.equal(count(), 1)
})

test('a file of an earlier version gets a place for it', async (t) => {
  const spec = specOf(t)
  const first = await SpendStore.open(spec)
  first.append([row({ id: 'old' })])
  first.database.exec('DROP TRIGGER contents_end; DROP TABLE contents; PRAGMA user_version = 4')
  first.close()
  const store = await storeOf(t, spec)
  store.append([withContent(row({ id: 'new' }), CONTENT)])
  const { records } = JSON.parse(prompts(store))
  assert.deepEqual(
    records.map(({ id, content }: Record<string, unknown>) => [id, content !== null]),
    [
      ['new', true],
      ['old', false]
    ]
  )
})
