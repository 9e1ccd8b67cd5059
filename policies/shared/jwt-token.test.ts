import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compact, encode } from '#engine/testing/tokens.ts'
import { parseToken, TOKEN_CHARS_MAX } from './jwt-token.ts'

const HEADER = { alg: 'ES256', kid: 'a' }
const GOOD = compact(HEADER, { sub: 'alice' }, 'signature')

test('a token is taken apart', () => {
  const parsed = parseToken(GOOD)!
  assert.deepEqual([parsed.alg, parsed.kid, parsed.claims], ['ES256', 'a', { sub: 'alice' }])
  assert.equal(parsed.signed.toString(), GOOD.slice(0, GOOD.lastIndexOf('.')))
  assert.equal(parsed.signature.toString(), 'signature')
  assert.equal(parseToken(compact({ alg: 'ES256' }, {}, 's'))!.kid, null)
})

test('text that is no token in compact form is refused', () => {
  const bad = ['', '.', '..', 'a', 'a.b', `${GOOD}.`, `${GOOD}.x.y`, `.${GOOD}`, GOOD.replace('.', '..')]
  for (const text of bad) assert.equal(parseToken(text), null, text)
  assert.equal(parseToken(compact(HEADER, {}, '')), null, 'unsigned')
})

test('base64url is read strictly: one text per value', () => {
  const [header, claims, signature] = GOOD.split('.') as [string, string, string]
  for (const odd of [
    `${signature}=`,
    `${signature} `,
    `${signature}\n`,
    signature.replace(/^./, '+'),
    `${signature}A`
  ]) {
    assert.equal(parseToken(`${header}.${claims}.${odd}`), null, odd)
  }
  // 'QQ' is "A"; 'QR' has bits to spare that are not zero, and Node's decoder takes it for the same.
  assert.equal(Buffer.from('QR', 'base64url').toString(), 'A')
  assert.ok(parseToken(`${header}.${claims}.QQ`))
  assert.equal(parseToken(`${header}.${claims}.QR`), null)
  assert.equal(parseToken(`${header}.${claims}.QUF`), null)
  assert.equal(parseToken(`${header}.${claims}\u00e9.QQ`), null)
})

test('header and payload are JSON objects of bounded depth, in UTF-8', () => {
  const deep = (levels: number) => compact(HEADER, `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`, 's')
  assert.ok(parseToken(deep(32)))
  assert.equal(parseToken(deep(33)), null)
  assert.equal(parseToken(compact(HEADER, '['.repeat(5000), 's')), null)
  assert.ok(parseToken(compact(HEADER, { text: '\\"['.repeat(100) }, 's')), 'brackets in texts are no levels')
  for (const payload of ['[]', 'null', '1', '"text"', '{', '', '{"a":1}x']) {
    assert.equal(parseToken(compact(HEADER, payload, 's')), null, payload)
    assert.equal(parseToken(compact(payload, {}, 's')), null, payload)
  }
  assert.equal(parseToken(compact(HEADER, Buffer.from([123, 34, 255, 34, 58, 49, 125]), 's')), null, 'not UTF-8')
})

test('a header must name an algorithm, and nothing that has to be understood', () => {
  for (const header of [{}, { alg: 1 }, { alg: 'ES256', kid: 1 }, { alg: 'ES256', crit: ['b64'], b64: false }]) {
    assert.equal(parseToken(compact(header, {}, 's')), null, JSON.stringify(header))
  }
})

test('the length is bounded', () => {
  const head = `${encode(HEADER)}.`
  const tail = '.QQ'
  const room = TOKEN_CHARS_MAX - head.length - tail.length
  const fill = (chars: number) => {
    const json = (spaces: number) => encode(`{${' '.repeat(spaces)}}`)
    const spaces = Math.floor((chars * 3) / 4) - 2
    return `${head}${json(spaces)}${tail}`
  }
  assert.equal(fill(room).length, TOKEN_CHARS_MAX)
  assert.ok(parseToken(fill(room)))
  assert.equal(parseToken(fill(room + 4)), null)
})

test('names from the prototype chain are claims like others', () => {
  const { claims } = parseToken(compact(HEADER, '{"__proto__":{"sub":"x"},"constructor":1}', 's'))!
  assert.deepEqual([claims.sub, Object.keys(claims)], [undefined, ['__proto__', 'constructor']])
})
