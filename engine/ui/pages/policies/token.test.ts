import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { readToken, timesOf } from './token.ts'

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (claims: object) => `${part({ alg: 'ES256', kid: 'k' })}.${part(claims)}.c2ln`

test('header and claims are read, in UTF-8, with Bearer before them or not', () => {
  const parts = { header: { alg: 'ES256', kid: 'k' }, claims: { sub: 'Zoë' } }
  deepEqual(readToken(token({ sub: 'Zoë' })), parts)
  deepEqual(readToken(` Bearer ${token({ sub: 'Zoë' })}\n`), parts)
})

test('what is no token says what one is', () => {
  match(String(readToken('abc')), /three parts/)
  match(String(readToken('a.b.c.d.e')), /encrypted/)
  match(String(readToken(`!!.${part({})}.x`)), /first part/)
  match(String(readToken(`${part({})}.${part([])}.x`)), /second part/)
})

test('times that make it bad now', () => {
  const parts = { header: {}, claims: { iat: 100, nbf: 300, exp: 200, other: 1 } }
  deepEqual(
    timesOf(parts, 250_000).map(({ claim, isBad }) => [claim, isBad]),
    [
      ['iat', false],
      ['nbf', true],
      ['exp', true]
    ]
  )
  equal(timesOf({ header: {}, claims: { exp: 'soon' } }, 0).length, 0)
})
