import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetOf, effortOf } from './effort.ts'
import { openSignature, sealSignature } from './signature.ts'

test('a signature passes through its own format as it is, and through another sealed', () => {
  const signature = { format: 'gemini', data: 'AbC+/=' } as const
  assert.equal(sealSignature(signature, 'gemini'), 'AbC+/=')
  const sealed = sealSignature(signature, 'messages')
  assert.match(sealed, /^weir\.[\w-]+$/)
  assert.deepEqual(openSignature(sealed, 'messages'), signature)
  assert.deepEqual(openSignature('AbC', 'messages'), { format: 'messages', data: 'AbC' })
})

test('what only looks like a sealed one is a signature of the format itself', () => {
  for (const value of ['weir.', 'weir.x', `weir.${Buffer.from('["none","x"]').toString('base64url')}`]) {
    assert.deepEqual(openSignature(value, 'gemini'), { format: 'gemini', data: value })
  }
})

test('efforts are budgets and back', () => {
  for (const effort of ['low', 'medium', 'high'] as const) assert.equal(effortOf(budgetOf(effort)), effort)
  assert.equal(budgetOf('unheard of'), budgetOf('medium'))
})
