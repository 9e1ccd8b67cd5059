import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MATRIX_FILE, matrix } from './matrix.ts'
import { PROVIDERS_FILE, providersPage } from './providers-page.ts'

test('docs/llm-matrix.md is what its goldens do now (npm run matrix -- --write), and nothing is lost silently', () => {
  const now = matrix()
  assert.doesNotMatch(now.slice(now.indexOf('## ')), /LOST/)
  assert.equal(readFileSync(MATRIX_FILE, 'utf8'), now)
})

test('docs/llm-providers.md is what the rows of providers say', () => {
  assert.equal(readFileSync(PROVIDERS_FILE, 'utf8'), providersPage())
})
