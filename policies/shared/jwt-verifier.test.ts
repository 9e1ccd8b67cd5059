import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import {
  compact,
  encode,
  hour,
  type KeyEntry,
  keySet,
  type SigningKey,
  signingKey,
  token
} from '#engine/testing/tokens.ts'
import { type KeySet, readKeySet } from './jwt-keys.ts'
import { type Provider, TokenChecks, Verifier, type VerifierOptions } from './jwt-verifier.ts'
import { fixedKeys, type KeySource } from './remote-keys.ts'
import { WorkQueue } from './work-queue.ts'

const ISSUER = 'https://issuer.example'
const key = signingKey('ES256')
const other = signingKey('ES256')
const rsa = signingKey('RS256')
const setOf = (...keys: readonly KeyEntry[]): KeySet => readKeySet(keySet(...keys))

function provider(keys: KeySource | KeySet, more: Partial<Provider> = {}): Provider {
  return { issuer: ISSUER, audiences: null, keys: 'keys' in keys ? fixedKeys(keys) : keys, ...more }
}

function verifier(providers: readonly Provider[], more: Partial<VerifierOptions> = {}): Verifier {
  return new Verifier({
    id: 'test',
    providers,
    checks: new TokenChecks(),
    time: SYSTEM_TIME,
    requiredClaims: ['exp'],
    leewayMs: 60_000,
    earlyMs: 60_000,
    ...more
  })
}

const single = (...keys: readonly KeyEntry[]) => verifier([provider(setOf(...keys))])
const seconds = (fromNow: number) => Math.floor(Date.now() / 1000) + fromNow

/** Keys that a test changes. */
class Source implements KeySource {
  current: KeySet | null
  lookups: (string | null)[] = []
  next: KeySet | null = null

  constructor(current: KeySet | null) {
    this.current = current
  }

  ready(): Promise<void> | null {
    return this.refreshFor(null)
  }

  refreshFor(kid: string | null): Promise<void> | null {
    this.lookups.push(kid)
    if (this.next === null) return null
    return Promise.resolve().then(() => {
      this.current = this.next
    })
  }
}

test('a token that is seen again is decided at once', async () => {
  const checks = single([key, { kid: 'a' }])
  const text = await token(key, hour({ sub: 'alice', nested: { roles: ['dev'] } }), { kid: 'a' })
  const first = checks.check(text)
  assert.ok(first instanceof Promise)
  const claims = (await first) as Record<string, unknown>
  assert.equal(claims.sub, 'alice')
  assert.equal(checks.check(text), claims)
  assert.throws(() => Object.assign(claims.nested as object, { roles: [] }), TypeError)
})

test('the same token at the same time is verified once', async () => {
  const shared = new TokenChecks()
  let runs = 0
  const { queue } = shared
  const run = queue.run.bind(queue)
  queue.run = (work) => {
    runs++
    return run(work)
  }
  const checks = verifier([provider(setOf([key]))], { checks: shared })
  const text = await token(key)
  await Promise.all([checks.check(text), checks.check(text), checks.check(text)])
  assert.deepEqual([runs, shared.underWay.size, shared.tokens.size], [1, 0, 1])
})

test('every claim has its own reason', async () => {
  const checks = verifier([provider(setOf([key]), { audiences: new Set(['api', 'web']) })])
  const answer = async (claims: object) => {
    const outcome = await checks.check(await token(key, hour({ aud: 'api', ...claims })))
    return typeof outcome === 'string' ? outcome : 'ok'
  }
  const rows: [object, string][] = [
    [{}, 'ok'],
    [{ aud: ['x', 'web'] }, 'ok'],
    [{ aud: 'API' }, 'JWT_AUDIENCE'],
    [{ aud: ['x'] }, 'JWT_AUDIENCE'],
    [{ aud: undefined }, 'JWT_AUDIENCE'],
    [{ aud: { api: 1 } }, 'JWT_AUDIENCE'],
    [{ iss: `${ISSUER}/` }, 'JWT_ISSUER'],
    [{ iss: undefined }, 'JWT_ISSUER'],
    [{ iss: [ISSUER] }, 'JWT_ISSUER'],
    [{ exp: undefined }, 'JWT_CLAIM_MISSING'],
    [{ exp: seconds(-50) }, 'ok'],
    [{ exp: seconds(-61) }, 'JWT_EXPIRED'],
    [{ exp: 0 }, 'JWT_EXPIRED'],
    [{ nbf: seconds(58) }, 'ok'],
    [{ nbf: seconds(62) }, 'JWT_NOT_YET_VALID'],
    [{ iat: seconds(58) }, 'ok'],
    [{ iat: seconds(62) }, 'JWT_NOT_YET_VALID']
  ]
  for (const [claims, expected] of rows) assert.equal(await answer(claims), expected, JSON.stringify(claims))
  // Types that a library would not write.
  for (const odd of [{ exp: '9999999999' }, { exp: null }, { nbf: true }, { iat: 'now' }]) {
    const text = compact({ alg: 'ES256' }, { ...hour({ aud: 'api' }), ...odd }, Buffer.alloc(64))
    assert.equal(await checks.check(text), 'JWT_MALFORMED', JSON.stringify(odd))
  }
})

test('required claims and leeway are those of the configuration', async () => {
  const of = (more: Partial<VerifierOptions>) => verifier([provider(setOf([key]))], more)
  const outcome = async (checks: Verifier, claims: object) => {
    const answer = await checks.check(await token(key, hour(claims as Record<string, unknown>)))
    return typeof answer === 'string' ? answer : 'ok'
  }
  assert.equal(await outcome(of({ requiredClaims: [] }), { exp: undefined }), 'ok')
  assert.equal(await outcome(of({ requiredClaims: ['sub', 'toString'] }), { sub: 'a' }), 'JWT_CLAIM_MISSING')
  assert.equal(await outcome(of({ requiredClaims: ['sub'] }), { sub: null }), 'JWT_CLAIM_MISSING')
  const strict = of({ leewayMs: 0 })
  assert.equal(await outcome(strict, { exp: seconds(-1) }), 'JWT_EXPIRED')
  assert.equal(await outcome(strict, { nbf: seconds(58), iat: seconds(58) }), 'ok')
  assert.equal(await outcome(of({ earlyMs: 0 }), { exp: seconds(-58) }), 'ok')
  assert.equal(await outcome(of({ earlyMs: 0 }), { iat: seconds(2) }), 'JWT_NOT_YET_VALID')
})

test('a verified token ends with its exp', async () => {
  let now = Date.now()
  const checks = verifier([provider(setOf([key]))], { time: { ...SYSTEM_TIME, wallNow: () => now } })
  const text = await token(key)
  assert.equal(typeof (await checks.check(text)), 'object')
  now += 3_600_000 + 58_000
  assert.equal(typeof checks.check(text), 'object')
  now += 3_000
  for (const _ of 'ab') assert.equal(checks.check(text), 'JWT_EXPIRED')
})

test('a verified token ends with the keys that it was verified with', async () => {
  const source = new Source(setOf([key, { kid: 'a' }]))
  const checks = verifier([provider(source)])
  const text = await token(key, hour(), { kid: 'a' })
  assert.equal(typeof (await checks.check(text)), 'object')
  // Twice more: it is among the recent ones now.
  for (const _ of 'ab') assert.equal(typeof checks.check(text), 'object')
  source.current = setOf([other, { kid: 'a' }])
  assert.equal(await checks.check(text), 'JWT_SIGNATURE')
  source.current = setOf([key, { kid: 'a' }])
  assert.equal(typeof (await checks.check(text)), 'object')
  // A source that begins anew, as after its URL was gone from the configuration for a while.
  source.current = null
  assert.equal(await checks.check(text), 'JWT_KEYS_UNAVAILABLE')
})

test('a verification by another configuration does not count', async () => {
  const shared = new TokenChecks()
  const text = await token(key, hour({ aud: 'a' }))
  const keys = setOf([key])
  const one = verifier([provider(keys)], { checks: shared, id: 'one' })
  const two = verifier([provider(keys, { audiences: new Set(['b']) })], { checks: shared, id: 'two' })
  assert.equal(typeof (await one.check(text)), 'object')
  assert.equal(await two.check(text), 'JWT_AUDIENCE')
})

test('the issuer comes first: equal key ids of two issuers never collide', async () => {
  const checks = verifier([
    provider(setOf([key, { kid: 'same' }])),
    provider(setOf([other, { kid: 'same' }]), { issuer: 'https://other.example' })
  ])
  const answer = async (signer: SigningKey, iss: string) => {
    const outcome = await checks.check(await token(signer, hour({ iss }), { kid: 'same' }))
    return typeof outcome === 'string' ? outcome : 'ok'
  }
  assert.equal(await answer(key, ISSUER), 'ok')
  assert.equal(await answer(other, 'https://other.example'), 'ok')
  assert.equal(await answer(key, 'https://other.example'), 'JWT_SIGNATURE')
  assert.equal(await answer(other, ISSUER), 'JWT_SIGNATURE')
})

test('one issuer under two audiences, each with its keys', async () => {
  const checks = verifier([
    provider(setOf([key]), { audiences: new Set(['a']) }),
    provider(setOf([other]), { audiences: new Set(['b']) }),
    provider(setOf([rsa]), { audiences: new Set(['b']) })
  ])
  const answer = async (signer: SigningKey, aud: string) => {
    const outcome = await checks.check(await token(signer, hour({ aud })))
    return typeof outcome === 'string' ? outcome : 'ok'
  }
  assert.deepEqual(
    [await answer(key, 'a'), await answer(key, 'b'), await answer(other, 'b'), await answer(rsa, 'b')],
    ['ok', 'JWT_SIGNATURE', 'ok', 'ok']
  )
})

test('tokens that name no key are tried against those that fit', async () => {
  const checks = single([rsa, { kid: 'r' }], [other, { kid: 'o' }], [key, { kid: 'k' }])
  assert.equal(typeof (await checks.check(await token(key))), 'object')
  assert.equal(await checks.check(await token(signingKey('ES256'))), 'JWT_SIGNATURE')
  assert.equal(await checks.check(await token(signingKey('ES384'))), 'JWT_KEY_UNKNOWN')
})

test('a named key is the only one that is tried; keys without a name may be meant by any', async () => {
  assert.equal(
    await single([other, { kid: 'a' }], [key, { kid: 'b' }]).check(await token(key, hour(), { kid: 'a' })),
    'JWT_SIGNATURE'
  )
  assert.equal(await single([key, { kid: 'a' }]).check(await token(key, hour(), { kid: 'b' })), 'JWT_KEY_UNKNOWN')
  assert.equal(typeof (await single([key]).check(await token(key, hour(), { kid: 'b' }))), 'object')
})

test('not more than eight keys are tried', async () => {
  const wrong = Array.from({ length: 8 }, () => [signingKey('EdDSA')] as const)
  const right = signingKey('EdDSA')
  assert.equal(typeof (await single(...wrong.slice(1), [right]).check(await token(right))), 'object')
  assert.equal(await single(...wrong, [right]).check(await token(right)), 'JWT_SIGNATURE')
})

test('algorithm confusion: none, HMAC over the public key, and other kinds of signature', async () => {
  const checks = single([rsa, { kid: 'r' }])
  const claims = hour()
  const pem = rsa.jwk as object
  const hmac = (secret: string, alg: string) => {
    const signed = `${encode({ alg, kid: 'r' })}.${encode(claims)}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const forged = [
    compact({ alg: 'none', kid: 'r' }, claims, 'x'),
    compact({ alg: 'None' }, claims, 'x'),
    hmac(JSON.stringify(pem), 'HS256'),
    hmac('', 'HS256'),
    compact({ alg: 'ES256', kid: 'r' }, claims, Buffer.alloc(64)),
    compact({ alg: 'toString', kid: 'r' }, claims, 'x')
  ]
  for (const text of forged) assert.equal(await checks.check(text), 'JWT_KEY_UNKNOWN', text)
  assert.equal(await checks.check(compact({ alg: 'none' }, claims, '')), 'JWT_MALFORMED')
  const zero = compact({ alg: 'ES256' }, claims, Buffer.alloc(64))
  assert.equal(await single([key]).check(zero), 'JWT_SIGNATURE')
  // RS256 as PS256: the key fits both, the signature one.
  const [, payload, signature] = (await token(rsa, claims, { kid: 'r' })).split('.')
  assert.equal(await checks.check(`${encode({ alg: 'PS256', kid: 'r' })}.${payload}.${signature}`), 'JWT_SIGNATURE')
  assert.equal(await single([rsa, { alg: 'PS256' }]).check(await token(rsa, claims)), 'JWT_KEY_UNKNOWN')
  // Keys that the token brings along are not looked at.
  const own = await token(other, claims, { jwk: other.jwk })
  assert.equal(await single([key]).check(own), 'JWT_SIGNATURE')
})

test('keys that are fetched: waited for, and fetched again for an unknown key', async () => {
  const source = new Source(null)
  const checks = verifier([provider(source)])
  const text = await token(key, hour(), { kid: 'a' })
  assert.equal(await checks.check(text), 'JWT_KEYS_UNAVAILABLE')
  source.next = setOf([key, { kid: 'a' }])
  assert.equal(typeof (await checks.check(text)), 'object')
  source.lookups = []
  const rotated = await token(other, hour(), { kid: 'b' })
  assert.equal(await checks.check(rotated), 'JWT_KEY_UNKNOWN')
  source.next = setOf([other, { kid: 'b' }])
  assert.equal(typeof (await checks.check(rotated)), 'object')
  assert.deepEqual(source.lookups, ['b', 'b'])
})

test('a wrong signature by a named key asks for nothing; by one without a name it may be a new key', async () => {
  const source = new Source(setOf([key, { kid: 'a' }]))
  const checks = verifier([provider(source)])
  assert.equal(await checks.check(await token(other, hour(), { kid: 'a' })), 'JWT_SIGNATURE')
  assert.deepEqual(source.lookups, [])
  source.next = setOf([other])
  assert.equal(typeof (await checks.check(await token(other))), 'object')
  assert.deepEqual(source.lookups, [null])
})

test('too many tokens at once', async () => {
  const checks = verifier([provider(setOf([key]))], { checks: new TokenChecks(new WorkQueue(1, 1)) })
  const texts = await Promise.all(['a', 'b', 'c'].map((sub) => token(key, hour({ sub }))))
  const outcomes = await Promise.all(texts.map((text) => checks.check(text)))
  assert.deepEqual(
    outcomes.map((outcome) => (typeof outcome === 'string' ? outcome : 'ok')),
    ['ok', 'ok', 'JWT_OVERLOAD']
  )
})

test('a token that is too long is not even hashed', () => {
  assert.equal(single([key]).check('x'.repeat(16_385)), 'JWT_MALFORMED')
})

test('a verification under way for other keys of the same issuer decides nothing here', async () => {
  const shared = new TokenChecks()
  const mine = verifier([provider(setOf([key]))], { checks: shared })
  const theirs = verifier([provider(setOf([other]))], { checks: shared })
  const text = await token(other)
  const [there, here] = await Promise.all([theirs.check(text), mine.check(text)])
  assert.equal(typeof there, 'object')
  assert.equal(here, 'JWT_SIGNATURE')
})

test('a token that expires while its keys are fetched is refused', async () => {
  let now = Date.now()
  const source = new Source(null)
  source.next = setOf([key])
  const checks = verifier([provider(source)], { time: { ...SYSTEM_TIME, wallNow: () => now }, leewayMs: 0 })
  const answer = checks.check(await token(key, hour({ exp: Math.floor(now / 1000) + 2 })))
  now += 5_000
  assert.equal(await answer, 'JWT_EXPIRED')
})
