import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderBlock } from '#engine/http/headers.ts'
import { onlyValue } from './only-value.ts'

function block(received: readonly string[], added: readonly string[] = []): HeaderBlock {
  const made = new HeaderBlock()
  for (const name of received) made.receive(name, `of ${name}`)
  for (const name of added) made.append(name, `added ${name}`)
  return made
}

test('one line has its value, in any case of the name, received or added', () => {
  assert.equal(onlyValue(block(['Host', 'ORIGIN']), 'origin'), 'of ORIGIN')
  assert.equal(onlyValue(block(['Origin'], ['x']), 'origin'), 'of Origin')
  assert.equal(onlyValue(block(['Host'], ['x', 'Origin']), 'origin'), 'added Origin')
  assert.equal(onlyValue(block(['Host'], ['x']), 'origin'), undefined)
  assert.equal(onlyValue(block([]), 'origin'), undefined)
})

test('several lines have none', () => {
  assert.equal(onlyValue(block(['Origin', 'origin']), 'origin'), null)
  assert.equal(onlyValue(block(['Origin', 'origin'], ['x']), 'origin'), null)
  assert.equal(onlyValue(block(['Origin'], ['origin']), 'origin'), null)
  assert.equal(onlyValue(block([], ['origin', 'Origin']), 'origin'), null)
})

test('a line that was removed does not count', () => {
  const edited = block(['Origin', 'origin'])
  edited.drop(0)
  assert.equal(onlyValue(edited, 'origin'), 'of origin')
})
