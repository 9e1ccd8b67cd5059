/** Tokens that the gateway signs for a backend, through the whole gateway and by the clock. */
import { deepEqual, equal, match, notEqual, ok, rejects } from 'node:assert/strict'
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { ask, at, gatewayOf, serverOf } from '#backends/http/auth.fixture.ts'
import { SIGNING_ALGS, type SigningAlg } from '#engine/contract/backend-auth/auth.ts'
import { secret } from '#engine/kit/secret.ts'
import { signedTokens } from './signed-token.ts'

function keyFor(alg: SigningAlg): string {
  const curve = { ES256: 'P-256', ES384: 'P-384', ES512: 'P-521' }[alg as string]
  const pair =
    alg === 'EdDSA'
      ? generateKeyPairSync('ed25519')
      : curve === undefined
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : generateKeyPairSync('ec', { namedCurve: curve })
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
}

const CLAIMS = { iss: 'an-issuer', aud: ['a', 'b'], admin: true }

test('the backend gets a token that its key verifies, in place of what the client shows', async (t) => {
  const { port, seen } = await serverOf(t)
  const signingKey = keyFor('ES256')
  const gateway = await gatewayOf(t, {
    backends: [at(port, { jwtSign: { signingKey, alg: 'ES256', kid: 'k-1', claims: CLAIMS, ttl: '60s' } })]
  })
  equal((await ask(gateway.port, { authorization: 'Bearer of-the-client' })).status, 200)
  const token = String(seen[0]!.headers.authorization).replace('Bearer ', '')
  const { payload } = await jwtVerify(token, createPublicKey(signingKey), { audience: 'a' })
  deepEqual(decodeProtectedHeader(token), { alg: 'ES256', typ: 'JWT', kid: 'k-1' })
  const { iat, exp, ...claims } = payload
  deepEqual(claims, CLAIMS)
  equal(exp! - iat!, 70)
})

test('every algorithm signs, and a token is signed anew ahead of its end', async () => {
  for (const alg of SIGNING_ALGS) {
    const key = keyFor(alg)
    const tokenAt = signedTokens({ kind: 'jwtSign', key: secret(key), alg, kid: null, claims: CLAIMS, ttlMs: 100_000 })
    const first = tokenAt(1_000_000)
    await jwtVerify(first, createPublicKey(key), { currentDate: new Date(1_000_000) })
    equal(tokenAt(1_079_999), first, alg)
    const second = tokenAt(1_080_000)
    notEqual(second, first, alg)
    notEqual(tokenAt(900_000), second, 'a clock that was set back')
  }
})

test('a key that does not fit, and claims of the signer, are mistakes that show nothing of the key', async (t) => {
  const { port } = await serverOf(t)
  const mistake = async (jwtSign: object): Promise<string> => {
    let message = ''
    await rejects(gatewayOf(t, { backends: [at(port, { jwtSign })] }), (error: Error) => {
      ;({ message } = error)
      return true
    })
    return message
  }
  const ofEc = keyFor('ES256')
  for (const wrong of [
    { signingKey: ofEc },
    { signingKey: ofEc, alg: 'ES384' },
    { signingKey: 'canary', alg: 'ES256' }
  ]) {
    const message = await mistake(wrong)
    match(message, /jwtSign\.signingKey: must be a private key in PEM, of the kind for/)
    ok(!message.includes('canary') && !message.includes(ofEc.slice(40, 60)))
  }
  match(await mistake({ signingKey: { file: '/nowhere/key.pem' } }), /signingKey\.file: cannot read/)
  match(await mistake({ signingKey: ofEc, alg: 'ES256', claims: { exp: 1 } }), /cannot have iat, exp, nbf/)
  match(await mistake({ signingKey: ofEc, alg: 'ES256', ttl: '100h' }), /must be from 1s to 24h/)
})
