import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePattern, patternProblem } from './pattern.ts'

test('a pattern covers the whole text', () => {
  const pattern = compilePattern('/a|/ab')
  assert.equal(pattern.matches('/ab'), true)
  assert.equal(pattern.matches('/abc'), false)
  assert.equal(pattern.matches('x/a'), false)
})

test('a pattern that would make a backtracking engine think for years is linear', () => {
  assert.equal(compilePattern('(a+)+').matches(`${'a'.repeat(50_000)}b`), false)
})

test('problems are named', () => {
  assert.equal(patternProblem('/a.*'), null)
  assert.match(patternProblem('(')!, /missing closing/)
  assert.match(patternProblem('a(?=b)')!, /\(\?=/)
})
