/**
 * The parser of tokens: whatever a client sends, it ends with null or with parts that say the same as a naive
 * reading, in exactly one spelling. And what is done with the parts before a signature is verified never throws.
 */
import assert from 'node:assert/strict'
import { deadlineOf, hasAudience, refusedClaims } from '#policies/shared/jwt-claims.ts'
import { fits, readKeySet } from '#policies/shared/jwt-keys.ts'
import { parseToken, TOKEN_CHARS_MAX } from '#policies/shared/jwt-token.ts'

export const name = 'jwt'

export const dictionary = [
  ...['.', '..', '=', '-', '_', '+', '/', ' ', 'A', 'QQ', 'QR', 'e30', 'bnVsbA', 'W10'],
  // {"alg":"ES256"}, {"alg":"none"}, {"alg":"RS256","kid":"a"}, {"alg":"ES256","crit":["b64"]}
  ...['eyJhbGciOiJFUzI1NiJ9', 'eyJhbGciOiJub25lIn0', 'eyJhbGciOiJSUzI1NiIsImtpZCI6ImEifQ'],
  ...['eyJhbGciOiJFUzI1NiIsImNyaXQiOlsiYjY0Il19', 'eyJpc3MiOiJhIiwiZXhwIjo5OTk5OTk5OTk5fQ', 'W1tbW1tbW1tbW1tb'],
  ...['"exp":', '"aud":[', '"iss":', '1e999', '{"__proto__":', '\\ud800', '"kid":', '"crit"', '[[[[[[[[']
]

const KEYS = readKeySet(
  JSON.stringify({
    keys: [
      { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
        y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0'
      }
    ]
  })
).keys

const AUDIENCES = new Set(['a'])
const RULES = { requiredClaims: ['exp', 'iss'], leewayMs: 60_000, earlyMs: 60_000 }
const NOW = 1_700_000_000_000

export function run(data: Buffer): void {
  check(data.latin1Slice())
  // As it is, an input is rarely base64: read as header and payload, it gets further.
  const end = data.indexOf(0)
  const split = end < 0 ? data.length >> 1 : end
  check(`${data.subarray(0, split).toString('base64url')}.${data.subarray(split).toString('base64url')}.QQ`)
  check(`eyJhbGciOiJFUzI1NiJ9.${data.toString('base64url')}.QQ`)
}

function check(text: string): void {
  const token = parseToken(text)
  const parts = text.split('.')
  if (token === null) return
  assert.ok(text.length <= TOKEN_CHARS_MAX)
  assert.equal(parts.length, 3)
  for (const part of parts) assert.equal(Buffer.from(part, 'base64url').toString('base64url'), part, 'one spelling')
  const [header, claims] = parts.slice(0, 2).map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))
  assert.deepEqual(token.claims, claims)
  assert.deepEqual([token.alg, token.kid ?? undefined], [header.alg, header.kid])
  assert.ok(!('crit' in header) && !Array.isArray(header) && !Array.isArray(claims))
  assert.equal(token.signed.toString(), `${parts[0]}.${parts[1]}`)
  assert.equal(token.signature.toString('base64url'), parts[2])
  for (const key of KEYS) if (fits(key, token.alg)) assert.ok(!/^(?:none|HS)/i.test(token.alg))
  hasAudience(token.claims, AUDIENCES)
  if (refusedClaims(token.claims, RULES, NOW) !== null) return
  assert.ok(typeof claims.exp === 'number' && claims.exp * 1000 + RULES.leewayMs > NOW)
  assert.ok(deadlineOf(token.claims, RULES) > NOW)
}
