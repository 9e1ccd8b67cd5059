import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { KeyedHash } from './keyed-hash.ts'

test('it is HMAC-SHA-256, whatever was hashed before', () => {
  for (const key of [Buffer.from('Jefe'), Buffer.alloc(32, 7), Buffer.alloc(64, 1)]) {
    const keyed = new KeyedHash(key)
    for (const length of [300, 0, 1, 63, 64, 2048, 2049, 5000, 20]) {
      const text = '\xffa'.repeat(length).slice(0, length)
      const expected = createHmac('sha256', key).update(text, 'latin1').digest('binary')
      assert.equal(keyed.of(text), expected, `${length}`)
    }
  }
})

test('without a key it is another one each time', () => {
  assert.notEqual(new KeyedHash().of('a'), new KeyedHash().of('a'))
})
