import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Column, SOURCES } from './endpoint-sources.ts'
import { cellOf, ENDPOINT_COLUMNS, ENDPOINTS_FILE, endpointsPage, ROWS } from './endpoints-page.ts'
import { SDK_PROOFS } from './llm-clients/proofs.ts'
import { MATRIX_FILE, matrix } from './matrix.ts'
import { providersTable } from './matrix-providers.ts'
import { PROVIDERS_FILE, providersPage } from './providers-page.ts'

test('docs/llm-matrix.md is what its goldens do now (npm run matrix -- --write), and nothing is lost silently', () => {
  const now = matrix()
  assert.doesNotMatch(now.slice(now.indexOf('## ')), /LOST/)
  assert.equal(readFileSync(MATRIX_FILE, 'utf8'), now)
})

/** Rows of a maker's own APIs, and the column of that maker. Its list of models is in its own words only for it. */
const MAKERS: readonly (readonly [row: RegExp, column: string])[] = [
  [/^`(?!Anthropic|Gemini)\w+`: OpenAI/, '`openai`'],
  [/^`\w+`: Anthropic/, '`anthropic`'],
  [/^`\w+`: Gemini/, '`gemini`']
]
/** Texts that are gone on with: OpenAI has them of a few models, and gpt-5 is none of these. */
const NOT_OF_ALL: ReadonlySet<string> = new Set(['`TextCompletions`: OpenAI'])

test('who has made an API has it', () => {
  const [head = [], , ...rows] = providersTable()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1)
    )
  let count = 0
  for (const [title = '', ...cells] of rows) {
    const maker = MAKERS.find(([row]) => row.test(title))
    if (maker === undefined || NOT_OF_ALL.has(title)) continue
    assert.equal(cells[head.indexOf(maker[1]) - 1], 'native', title)
    count++
  }
  assert.ok(count > 15)
})

test('docs/llm-providers.md is what the rows of providers say', () => {
  assert.equal(readFileSync(PROVIDERS_FILE, 'utf8'), providersPage())
})

test('docs/llm-endpoints.md is what Weir does, with the proofs that are written down', () => {
  assert.equal(readFileSync(ENDPOINTS_FILE, 'utf8'), endpointsPage())
})

test('a cell has the strongest proof that there is, and a fact without any says so', () => {
  const of = (
    name: string,
    title: string,
    exchanges: Readonly<Record<string, Readonly<Record<string, number>>>> = {}
  ) => {
    const [row, endpoint] = [
      ROWS.find((one) => one.name === name)!,
      ENDPOINT_COLUMNS.find((one) => one.title === title)!
    ]
    const repository = { commit: 'c', date: '2026-01-01', exchanges }
    return cellOf(row, endpoint, { 'a/b': repository, 'c/d': repository })
  }
  const groq = { groq: { completions: 3, responses: 9 } }
  assert.deepEqual(of('groq', 'Messages', groq), { word: 'converted', proof: 6 })
  assert.deepEqual(of('groq', 'older completions', groq), { word: 'converted', proof: 'reference' })
  assert.deepEqual(of('groq', 'chat: OpenAI'), { word: 'native', proof: 'reference' })
  assert.deepEqual(of('anthropic', 'chat: OpenAI'), { word: 'converted', proof: 'SDK' })
  assert.deepEqual(of('anthropic', 'embeddings'), { word: 'none', proof: 'reference' })
  assert.deepEqual(of('nebius', 'chat: OpenAI'), { word: 'native', proof: 'not cited' })
  assert.deepEqual(of('nebius', 'rerank'), { word: 'passed on', proof: null })
})

test('proofs are of rows and columns that the page has', () => {
  const names = new Set(ROWS.map(({ name }) => name))
  const titles = new Set(ROWS.map(({ title }) => title))
  const columns = new Set<Column>(ENDPOINT_COLUMNS.map(({ column }) => column))
  for (const [name, sources] of Object.entries(SOURCES)) {
    assert.ok(names.has(name), name)
    for (const { of } of sources) if (of !== 'all') for (const column of of) assert.ok(columns.has(column), column)
  }
  for (const { title, column } of SDK_PROOFS) assert.ok(titles.has(title) && columns.has(column), `${title} ${column}`)
})
