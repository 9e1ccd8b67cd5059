import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { hour, type KeyEntry, keySet, opensslKey, opensslToken, signingKey, token } from '#engine/testing/tokens.ts'
import { fits, readKeySet, readPublicKeySet, verifySignature } from './jwt-keys.ts'
import { parseToken } from './jwt-token.ts'

const ALL = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
const ec = signingKey('ES256')

async function isSigned(set: string, text: string): Promise<boolean> {
  const { alg, signed, signature } = parseToken(text)!
  const [key] = readKeySet(set).keys
  return fits(key!, alg) && (await verifySignature(key!, alg, signed, signature))
}

test('every algorithm, with tokens of jose and of openssl', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-jwt-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const alg of ALL) {
    const ours = signingKey(alg)
    assert.equal(await isSigned(keySet([ours]), await token(ours)), true, `${alg} by jose`)
    const theirs = opensslKey(alg)
    const text = opensslToken(theirs, folder, hour({ sub: alg }))
    assert.equal(await isSigned(keySet([theirs]), text), true, `${alg} by openssl`)
    assert.equal(await isSigned(keySet([ours]), text), false, `${alg} with another key`)
    const [header, , signature] = text.split('.')
    const forged = `${header}.${Buffer.from('{"sub":"admin"}').toString('base64url')}.${signature}`
    assert.equal(await isSigned(keySet([theirs]), forged), false, `${alg} with other claims`)
  }
  // RFC 9864: the algorithm under its full name.
  const full = signingKey('Ed25519')
  assert.equal(await isSigned(keySet([full]), await token(full)), true)
})

test('an algorithm that does not fit the key is impossible', () => {
  const fitting = (alg: string, more = {}) => {
    const [key] = readKeySet(keySet([signingKey(alg), more])).keys
    return [...ALL, 'Ed25519', 'none', 'HS256', 'HS512', '', 'rs256'].filter((name) => fits(key!, name))
  }
  assert.deepEqual(fitting('RS256'), ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'])
  assert.deepEqual(fitting('RS256', { alg: 'PS384' }), ['PS384'])
  assert.deepEqual(fitting('ES256'), ['ES256'])
  assert.deepEqual(fitting('ES384'), ['ES384'])
  assert.deepEqual(fitting('ES512'), ['ES512'])
  assert.deepEqual(fitting('EdDSA'), ['EdDSA', 'Ed25519'])
})

test('signatures of another length are not even tried', async () => {
  const { keys } = readKeySet(keySet([ec]))
  for (const length of [1, 63, 65, 128]) {
    assert.equal(await verifySignature(keys[0]!, 'ES256', Buffer.from('x'), Buffer.alloc(length)), false)
  }
  const { keys: rsa } = readKeySet(keySet([signingKey('RS256')]))
  assert.equal(await verifySignature(rsa[0]!, 'RS256', Buffer.from('x'), Buffer.alloc(3)), false)
  assert.equal(await verifySignature(rsa[0]!, 'PS256', Buffer.from('x'), Buffer.alloc(300)), false)
})

test('keys that cannot verify are left out, with a reason', () => {
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const others: [unknown, string][] = [
    [{ kty: 'oct', k: 'c2VjcmV0' }, 'is a symmetric key'],
    [ec.privateKey.export({ format: 'jwk' }), 'is a private key'],
    [{ ...ec.jwk, use: 'enc' }, 'is not for signatures ("use")'],
    [{ ...ec.jwk, key_ops: ['sign'] }, 'is not for verification ("key_ops")'],
    [{ ...ec.jwk, key_ops: 'verify' }, 'is not for verification ("key_ops")'],
    [{ ...ec.jwk, kid: 5 }, 'has a "kid" that is no text'],
    [{ ...ec.jwk, alg: 'ES384' }, 'has an "alg" that does not fit or is not supported'],
    [{ ...ec.jwk, alg: 'HS256' }, 'has an "alg" that does not fit or is not supported'],
    [{ ...ec.jwk, crv: 'secp256k1' }, 'is of a type or curve that is not supported'],
    [{ kty: 'XYZ' }, 'is of a type or curve that is not supported'],
    [{ ...ec.jwk, x: 'AAAA' }, 'is malformed'],
    [{ ...ec.jwk, y: ec.jwk.x }, 'is malformed'],
    [{ kty: 'RSA', n: 1, e: 'AQAB' }, 'is malformed'],
    [small, 'has 1024 bits and must have 2048 to 16384 bits'],
    [null, 'is not an object']
  ]
  const good = { ...ec.jwk, use: 'sig', key_ops: ['verify'], alg: 'ES256', kid: 'a', x5c: ['?'] }
  const { keys, ignored } = readKeySet(JSON.stringify({ keys: [...others.map(([key]) => key), good] }))
  assert.deepEqual(
    ignored,
    others.map(([, reason], i) => `keys[${i}] ${reason}`)
  )
  assert.deepEqual(
    keys.map(({ kid, alg }) => [kid, alg]),
    [['a', 'ES256']]
  )
})

test('an invalid key set, or one without a usable key, is refused with a reason', () => {
  const says = (text: string, expected: RegExp, read = readKeySet) => assert.throws(() => read(text), expected)
  says('{"keys": [secret', /^Error: the key set is not JSON$/)
  for (const text of ['null', '[]', '{}', '{"keys":{}}']) says(text, /not a JSON Web Key Set: an object with a list/)
  says('{"keys":[]}', /no key that can verify a signature: it is empty/)
  says('{"keys":[{"kty":"oct"}]}', /no key that can verify a signature: keys\[0\] is a symmetric key/)
  says(`{"keys":[${'0,'.repeat(256)}0]}`, /more than 256 keys/)
  says(`{"keys":[]${' '.repeat(65_536)}}`, /longer than 65536 characters/)
  const symmetric = JSON.stringify({ keys: [ec.jwk, { kty: 'oct', k: 'c2VjcmV0' }] })
  says(symmetric, /^Error: keys\[1\] is a symmetric key/, readPublicKeySet)
  const secret = JSON.stringify({ keys: [ec.privateKey.export({ format: 'jwk' })] })
  says(secret, /^Error: keys\[0\] is a private key: give its public part only$/, readPublicKeySet)
  assert.equal(readPublicKeySet(keySet([ec])).keys.length, 1)
})

test('the fingerprint is that of the usable keys, whatever their order', () => {
  const other = signingKey('ES256')
  const print = (...args: readonly KeyEntry[]) => readKeySet(keySet(...args)).fingerprint
  assert.equal(print([ec, { kid: 'a' }], [other]), print([other], [ec, { kid: 'a', x5t: 'x' }]))
  const prints = [
    print([ec]),
    print([other]),
    print([ec], [other]),
    print([ec, { kid: 'a' }]),
    print([ec, { alg: 'ES256' }])
  ]
  assert.equal(new Set(prints).size, prints.length)
})

/** What that library makes: a power of 65537 modulo the product of the small primes, of 2048 bits. */
function rocaModulus(): string {
  const primes = Array.from({ length: 166 }, (_, i) => BigInt(i + 2)).filter((n) => isPrime(n))
  const product = primes.reduce((all, prime) => all * prime, 1n)
  let power = 1n
  for (let i = 0; i < 12_345; i++) power = (power * 65_537n) % product
  const base = (1n << 2047n) - ((1n << 2047n) % product) + product
  return base64url(base + power)
}

function isPrime(n: bigint): boolean {
  for (let i = 2n; i * i <= n; i++) if (n % i === 0n) return false
  return true
}

function base64url(n: bigint): string {
  const hex = n.toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url')
}

test('a weak key is refused in a configuration, and left out of a fetched set', () => {
  const good = signingKey('RS256').jwk as Record<string, unknown>
  const okp = signingKey('Ed25519').jwk as Record<string, unknown>
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' })
  const even = base64url(BigInt(`0x${Buffer.from(String(good.n), 'base64url').toString('hex')}`) + 1n)
  const order8 = Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')
  const weak: [object, RegExp][] = [
    [{ ...good, e: 'AQ' }, /has the exponent 1/],
    [{ ...good, e: 'AAAB' }, /has the exponent 1/],
    [{ ...good, e: 'AQAA' }, /has an even exponent/],
    [{ ...good, n: even }, /has a modulus with a small factor/],
    [{ ...good, n: rocaModulus() }, /ROCA, CVE-2017-15361/],
    [small, /has 1024 bits and must have 2048 to 16384 bits/],
    [{ ...okp, x: order8.toString('base64url') }, /is a point of small order/],
    [{ ...okp, x: Buffer.alloc(32).toString('base64url') }, /is a point of small order/],
    [{ ...good, qi: 'AQAB' }, /is a private key/],
    [{ kty: 'oct', k: 'c2VjcmV0' }, /is a symmetric key/]
  ]
  for (const [jwk, why] of weak) {
    const text = JSON.stringify({
      keys: [
        { ...jwk, kid: 'weak "1"' },
        { ...good, kid: 'good' }
      ]
    })
    assert.throws(() => readPublicKeySet(text), why)
    assert.throws(() => readPublicKeySet(text), /^Error: keys\[0\] \(kid "weak \\"1\\""\) /)
    const { keys, ignored } = readKeySet(text)
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ['good']
    )
    assert.match(ignored.join(), why)
    assert.ok(!ignored.join().includes('c2VjcmV0'))
  }
  assert.equal(readPublicKeySet(JSON.stringify({ keys: [good, okp] })).keys.length, 2)
})
