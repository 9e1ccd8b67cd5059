import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { MATRIX_FILE, matrix } from './matrix.ts'

test('docs/llm-matrix.md is what its goldens do now (npm run matrix -- --write), and nothing is lost silently', () => {
  const now = matrix()
  assert.doesNotMatch(now.slice(now.indexOf('## ')), /LOST/)
  assert.equal(readFileSync(MATRIX_FILE, 'utf8'), now)
})
