import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HeaderBlock } from '#engine/http/headers.ts'
import { HeaderFields } from './index.ts'
import { shown } from './testing/evaluate.ts'

function headers(...lines: readonly (readonly [name: string, value: string])[]): {
  readonly block: HeaderBlock
  readonly h: HeaderFields
} {
  const block = new HeaderBlock()
  for (const [name, value] of lines) block.receive(name, value)
  return { block, h: new HeaderFields(block) }
}

test('headers are found in any case; one line is a string, several are a list', () => {
  const { h } = headers(['X-One', 'a'], ['x-two', 'b'], ['X-TWO', 'c'])
  assert.equal(shown('h["x-one"] + h["X-One"]', { h }), '"aa"')
  assert.equal(shown('h["x-two"]', { h }), '["b","c"]')
  assert.equal(shown('h["x-none"]', { h }), 'error: no such key: x-none')
  assert.equal(shown('has(h.Host) || "x-one" in h', { h }), 'true')
  assert.equal(shown('size(h) == 2 && h.exists(k, k == "x-two")', { h }), 'true')
})

test('headers that were added or dropped after they arrived count too', () => {
  const { block, h } = headers(['a', '1'], ['b', '2'])
  block.append('A', '3')
  block.remove('b')
  assert.equal(shown('h.a', { h }), '["1","3"]')
  assert.equal(shown('has(h.b)', { h }), 'false')
  block.set('c', '4')
  assert.equal(shown('h.c', { h }), '"4"')
})
