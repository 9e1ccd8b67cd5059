import { equal, match } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mock, test } from 'node:test'
import { keys } from './token-rules.ts'

test('a set of keys is read once, however often its configuration is checked; a wrong one each time', () => {
  const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
  const good = JSON.stringify({ keys: [{ ...jwk, kid: 'read-once' }] })
  const wrong = JSON.stringify({ keys: [{ kty: 'oct', k: 'c2VjcmV0' }] })
  const parse = mock.method(JSON, 'parse')
  const readsOf = (text: string) => parse.mock.calls.filter(({ arguments: [read] }) => read === text).length
  for (let i = 0; i < 5; i++) equal(keys().safeParse(good).success, true)
  equal(readsOf(good), 1)
  for (let i = 0; i < 2; i++) match(keys().safeParse(wrong).error!.issues[0]!.message, /symmetric key/)
  equal(readsOf(wrong) > 1, true)
  parse.mock.restore()
})

test('a set of keys that is no text is a mistake like others', () => {
  for (const inline of [-1, {}, null, [], true]) {
    for (const value of [inline, { inline }, { inline, minRsaExponent: 3 }]) {
      equal(keys().safeParse(value).success, false)
    }
  }
})
