import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
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
