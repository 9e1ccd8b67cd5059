import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VerifiedTokens } from './verified-tokens.ts'

const entry = (chars: number) => ({ claims: {}, deadline: 0, provider: 0, fingerprint: '', chars })

test('the least recently used entry is evicted first', () => {
  const tokens = new VerifiedTokens()
  for (let i = 0; i < 10_000; i++) tokens.set(String(i), entry(1))
  assert.ok(tokens.get('0'))
  tokens.set('more', entry(1))
  assert.deepEqual([tokens.size, tokens.get('1'), tokens.get('0')?.chars], [10_000, undefined, 1])
  // When everything was used, the bound holds nevertheless.
  for (let i = 2; i < 10_000; i++) tokens.get(String(i))
  for (let i = 0; i < 20_000; i++) {
    tokens.set(`new ${i}`, entry(1))
    assert.ok(tokens.get(`new ${i}`))
  }
  assert.equal(tokens.size, 10_000)
})

test('long tokens count as much as they hold', () => {
  const tokens = new VerifiedTokens()
  for (let i = 0; i < 2_000; i++) tokens.set(String(i), entry(16_384))
  assert.equal(tokens.size, 512)
  tokens.set('1999', entry(16_384))
  assert.equal(tokens.size, 512, 'replaced')
  tokens.delete('1999')
  tokens.delete('1999')
  tokens.set('small', entry(16_384))
  assert.equal(tokens.size, 512)
})
