import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asLines } from './fixture.ts'
import { checkNames, checkProse } from './words.ts'

test('a banned word is found in names of any form, and in names of files', () => {
  for (const code of ['const wing = 1', 'class LeftWing {', 'a.#leftWing', 'LEFT_WING', 'wing2.x'])
    assert.match(asLines(checkNames('engine/x.ts', code))[0] ?? '', /not '\w+' but policies, or backends$/, code)
  assert.match(asLines(checkNames('engine/left-wing.ts', ''))[0] ?? '', /^engine\/left-wing\.ts:0 /)
  assert.deepEqual(checkNames('engine/x.ts', 'Math.floor(swing.swinging)'), [])
})

test('a participle is no name', () => {
  assert.match(asLines(checkNames('engine/x.ts', 'const isAsked = 1'))[0] ?? '', /not 'Asked' but what the value is/)
  assert.deepEqual(checkNames('backends/llm/auth/x.ts', 'const masked = tasked'), [])
})

test('a banned word is found in comments and pages, with its line', () => {
  assert.deepEqual(asLines(checkProse('docs/x.md', '\nThe short way.')), [
    "docs/x.md:2 not 'short way' but fast path (docs/naming.md)"
  ])
  assert.equal(checkProse('docs/x.md', 'Dearer. It has been said.').length, 2)
  assert.deepEqual(checkProse('docs/x.md', 'A shortened way for households.'), [])
})
