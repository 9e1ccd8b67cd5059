import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { RecentTokens } from './recent-tokens.ts'

const SIGNATURE = 's'.repeat(64)

test('only the very token that was found is found again', () => {
  const recent = new RecentTokens<number>(SYSTEM_TIME.after)
  recent.set(`claims of alice.${SIGNATURE}`, 1)
  assert.equal(recent.get(`claims of alice.${SIGNATURE}`), 1)
  for (const other of [`claims of bob.${SIGNATURE}`, SIGNATURE, SIGNATURE.slice(32), `${SIGNATURE}x`, '']) {
    assert.equal(recent.get(other), undefined, other)
  }
  // It has taken the place: one signature fits one token.
  recent.set(`claims of bob.${SIGNATURE}`, 2)
  assert.equal(recent.get(`claims of alice.${SIGNATURE}`), undefined)
  recent.set('a', 3)
  recent.forget()
  assert.equal(recent.get('a'), undefined)
})

test('none is kept longer than ten seconds, however often it is used', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const recent = new RecentTokens<number>(SYSTEM_TIME.after)
  recent.set('first', 1)
  t.mock.timers.tick(9_000)
  recent.set('second', 2)
  assert.deepEqual([recent.get('first'), recent.get('second')], [1, 2])
  t.mock.timers.tick(1_000)
  assert.deepEqual([recent.get('first'), recent.get('second')], [undefined, undefined])
  // And again, from the next one on.
  recent.set('first', 3)
  t.mock.timers.tick(9_999)
  assert.equal(recent.get('first'), 3)
  t.mock.timers.tick(1)
  assert.equal(recent.get('first'), undefined)
})

test('their number and their size are bounded: those that are known stay', () => {
  const many = new RecentTokens<number>(SYSTEM_TIME.after)
  for (let i = 0; i < 5_000; i++) many.set(String(i), i)
  assert.deepEqual([many.get('4095'), many.get('4096')], [4_095, undefined])
  const long = new RecentTokens<number>(SYSTEM_TIME.after)
  for (let i = 0; i < 300; i++) long.set(String(i).padStart(16_384, '0'), i)
  assert.equal(long.get('255'.padStart(16_384, '0')), 255)
  assert.equal(long.get('256'.padStart(16_384, '0')), undefined)
  for (const tokens of [many, long]) tokens.forget()
})
