import assert from 'node:assert/strict'
import { test } from 'node:test'
import { budgetOf, budgetWithin, effortOf } from './effort.ts'
import { openSignature, sealSignature } from './signature.ts'

test('a signature passes through its own format as it is, and through another sealed', () => {
  const signature = { format: 'gemini', data: 'AbC+/=' } as const
  assert.equal(sealSignature(signature, 'gemini'), 'AbC+/=')
  const sealed = sealSignature(signature, 'messages')
  assert.match(sealed, /^weir\.[\w-]+$/)
  assert.deepEqual(openSignature(sealed, 'messages'), signature)
  assert.deepEqual(openSignature('AbC', 'messages'), { format: 'messages', data: 'AbC' })
})

test('a signature that only looks sealed is one of the format itself', () => {
  for (const value of ['weir.', 'weir.x', `weir.${Buffer.from('[7,"x"]').toString('base64url')}`]) {
    assert.deepEqual(openSignature(value, 'gemini'), { format: 'gemini', data: value })
  }
})

test('a signature that another version of the gateway has sealed is not one of the format', () => {
  const sealed = `weir.${Buffer.from('["later","x"]').toString('base64url')}`
  assert.deepEqual(openSignature(sealed, 'gemini'), { format: 'later', data: 'x' })
})

test('efforts are budgets and back', () => {
  for (const effort of ['low', 'medium', 'high'] as const) assert.equal(effortOf(budgetOf(effort)), effort)
  assert.equal(budgetOf('unheard of'), budgetOf('medium'))
})

test('a budget for thoughts leaves room for the answer', () => {
  const within = (effort: string | null, budgetTokens: number | null, maxTokens: number) =>
    budgetWithin({ effort, budgetTokens }, maxTokens)
  assert.equal(within('high', null, 64_000), 24_576)
  assert.equal(within('high', null, 4096), 3276)
  assert.equal(within('medium', null, 4096), 2048)
  assert.equal(within('low', null, 4096), 1024)
  assert.equal(within('max', null, 64_000), 60_800)
  assert.equal(within('xhigh', null, 32_000), 30_400)
  assert.equal(within('unheard of', null, 4096), 2048)
  // A number that fits is what was asked for.
  assert.equal(within(null, 4000, 4096), 4000)
  assert.equal(within(null, 8192, 4096), 3276)
  assert.equal(within(null, 1, 4096), 1024)
  assert.equal(within('high', null, 1024), null)
  assert.equal(within('high', null, 1025), 1024)
})
