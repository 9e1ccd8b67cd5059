import { equal } from 'node:assert/strict'
import { mock, test } from 'node:test'
import { secret } from './cluster.fixture.ts'
import { entryOf } from './files.ts'

test('an entry of a Secret is decoded once; one that is not there is not', () => {
  const keys = secret('keys', { one: 'own' })
  const from = mock.method(Buffer, 'from')
  for (let i = 0; i < 5; i++) equal(entryOf(keys, 'one'), 'own')
  equal(entryOf(keys, 'two'), undefined)
  equal(entryOf(secret('keys', { one: 'other' }), 'one'), 'other')
  const decoded = from.mock.calls.filter(({ arguments: all }) => (all as readonly unknown[])[1] === 'base64')
  // One of each Secret.
  equal(decoded.length, 2)
  from.mock.restore()
})
