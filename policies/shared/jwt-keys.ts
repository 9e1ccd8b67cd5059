/**
 * JSON Web Key Set (RFC 7517) -> public keys that may verify a signature, and nothing else. Which algorithm
 * fits a key is decided by the key alone (RFC 8725 section 3.1): a token cannot choose how it is verified.
 */

import { constants, createPublicKey, hash, type JsonWebKey, type KeyObject, verify } from 'node:crypto'
import { parseJson } from '#engine/kit/json.ts'
import { MIN_RSA_EXPONENT, weaknessOf } from './weak-keys.ts'

/** Longest set that is read, in characters (docs/specification.md#authentication: inline 2..65536). */
export const KEY_SET_CHARS_MAX = 65_536
/** A provider that rotates has two to six keys. */
const KEYS_MAX = 256

/** RFC 7518 section 3, RFC 8037, RFC 9864. HMAC and "none" are not there, so they cannot be. */
interface Algorithm {
  readonly kty: 'RSA' | 'EC' | 'OKP'
  /** Curve of the key; null for RSA. */
  readonly crv: string | null
  readonly hash: string | null
  readonly isPss?: true
  /** Bytes of a signature; 0: as long as the key. */
  readonly bytes: number
}

const rsa = (bits: number): Algorithm => ({ kty: 'RSA', crv: null, hash: `sha${bits}`, bytes: 0 })
const pss = (bits: number): Algorithm => ({ ...rsa(bits), isPss: true })
const ec = (crv: string, bits: number, bytes: number): Algorithm => ({ kty: 'EC', crv, hash: `sha${bits}`, bytes })
const ed25519: Algorithm = { kty: 'OKP', crv: 'Ed25519', hash: null, bytes: 64 }

const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['RS256', rsa(256)],
  ['RS384', rsa(384)],
  ['RS512', rsa(512)],
  ['PS256', pss(256)],
  ['PS384', pss(384)],
  ['PS512', pss(512)],
  ['ES256', ec('P-256', 256, 64)],
  ['ES384', ec('P-384', 384, 96)],
  ['ES512', ec('P-521', 512, 132)],
  ['EdDSA', ed25519],
  ['Ed25519', ed25519]
])

export interface VerificationKey {
  /** Null: any token may be signed with it, whatever key it names. */
  readonly kid: string | null
  /** Of the key set; null: whatever fits the key. */
  readonly alg: string | null
  readonly kty: string
  readonly crv: string | null
  readonly key: KeyObject
}

export interface KeySet {
  /** Never empty. */
  readonly keys: readonly VerificationKey[]
  /** Hash of the usable keys: a set with another one revokes what was verified with this one. */
  readonly fingerprint: string
  /** Why keys of the set are not used, in words without key material. */
  readonly ignored: readonly string[]
}

/** Throws an Error that says in words what is wrong: not a key set, or no usable key in it. */
export function readKeySet(text: string, exponentMin = MIN_RSA_EXPONENT): KeySet {
  return keySetOf(listKeys(text), (jwk) => weaknessOf(jwk, exponentMin))
}

type Jwk = Record<string, unknown>
type JudgeKey = (jwk: Jwk) => string | null

function keySetOf(listed: readonly (Jwk | null)[], weaknessIn: JudgeKey): KeySet {
  const keys: VerificationKey[] = []
  const ignored: string[] = []
  for (const [i, jwk] of listed.entries()) {
    const found = readKey(jwk, weaknessIn)
    if (typeof found === 'string') ignored.push(`${nameOf(jwk, i)} ${found}`)
    else keys.push(found)
  }
  if (keys.length === 0) {
    const reasons = ignored.length === 0 ? 'it is empty' : ignored.slice(0, 4).join('; ')
    throw new Error(`the key set has no key that can verify a signature: ${reasons}`)
  }
  return { keys, ignored, fingerprint: fingerprintOf(keys) }
}

/**
 * As readKeySet, for keys that lie in a configuration. There, keys that could sign are an error, because any reader
 * of the configuration could make tokens, and so are keys that can be forged: the author can remove them.
 */
export function readPublicKeySet(text: string, exponentMin = MIN_RSA_EXPONENT): KeySet {
  const listed = listKeys(text)
  for (const [i, jwk] of listed.entries()) {
    if (jwk?.kty === 'oct') {
      throw new Error(`${nameOf(jwk, i)} is a symmetric key (kty "oct"): who verifies with it can also sign with it`)
    }
    if (jwk === null) continue
    if (isPrivate(jwk)) throw new Error(`${nameOf(jwk, i)} is a private key: give its public part only`)
    const weakness = weaknessOf(jwk, exponentMin)
    if (weakness !== null) throw new Error(`${nameOf(jwk, i)} ${weakness}`)
  }
  return keySetOf(listed, () => null)
}

/** Members of private keys (RFC 7518 section 6, RFC 8037 section 2). */
const PRIVATE = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

function isPrivate(jwk: Jwk): boolean {
  return PRIVATE.some((member) => jwk[member] !== undefined)
}

const SHOWN_MAX = 64

/** For messages: a "kid" is no secret, tokens show it. */
function nameOf(jwk: Jwk | null, i: number): string {
  const kid = jwk?.kid
  return typeof kid === 'string' ? `keys[${i}] (kid ${JSON.stringify(kid.slice(0, SHOWN_MAX))})` : `keys[${i}]`
}

/** Entries of "keys"; null for one that is not an object. */
function listKeys(text: string): readonly (Jwk | null)[] {
  if (text.length > KEY_SET_CHARS_MAX) throw new Error(`the key set is longer than ${KEY_SET_CHARS_MAX} characters`)
  const value = parseJson(text)
  if (value === undefined) throw new Error('the key set is not JSON')
  const listed = objectOf(value)?.keys
  if (!Array.isArray(listed)) throw new Error('not a JSON Web Key Set: an object with a list "keys" is expected')
  if (listed.length > KEYS_MAX) throw new Error(`the key set has more than ${KEYS_MAX} keys`)
  return listed.map(objectOf)
}

/** The key, or why it is not used. */
function readKey(jwk: Jwk | null, weaknessIn: JudgeKey): VerificationKey | string {
  if (jwk === null) return 'is not an object'
  const { kty, crv, kid, alg, use, key_ops: operations } = jwk
  if (kty === 'oct') return 'is a symmetric key'
  if (isPrivate(jwk)) return 'is a private key'
  if (use !== undefined && use !== 'sig') return 'is not for signatures ("use")'
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes('verify'))) {
    return 'is not for verification ("key_ops")'
  }
  if (kid !== undefined && typeof kid !== 'string') return 'has a "kid" that is no text'
  const curve = typeof crv === 'string' ? crv : null
  const fitting = [...ALGORITHMS].filter(([, known]) => known.kty === kty && (known.crv ?? curve) === curve)
  if (fitting.length === 0) return 'is of a type or curve that is not supported'
  if (alg !== undefined && !fitting.some(([name]) => name === alg))
    return 'has an "alg" that does not fit or is not supported'
  const weakness = weaknessIn(jwk)
  if (weakness !== null) return weakness
  const key = importKey(jwk)
  if (key === null) return 'is malformed'
  return {
    kid: kid ?? null,
    alg: typeof alg === 'string' ? alg : null,
    kty: String(kty),
    crv: kty === 'RSA' ? null : curve,
    key
  }
}

/** Null: it is malformed; the library's messages are about its own insides. */
function importKey({ kty, crv, n, e, x, y }: Jwk): KeyObject | null {
  try {
    // Only these fields: certificates and links to them (x5c, x5u) are not looked at.
    return createPublicKey({ key: { kty, crv, n, e, x, y } as JsonWebKey, format: 'jwk' })
  } catch {
    return null
  }
}

function fingerprintOf(keys: readonly VerificationKey[]): string {
  const facts = keys.map(({ kid, alg, key }) => JSON.stringify([kid, alg, key.export({ format: 'jwk' })]))
  return hash('sha256', facts.toSorted().join('\n'), 'base64')
}

function objectOf(value: unknown): Jwk | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Jwk) : null
}

/** Whether a token with this `alg` can be signed by the key at all. */
export function fits(key: VerificationKey, alg: string): boolean {
  const known = ALGORITHMS.get(alg)
  return known !== undefined && known.kty === key.kty && known.crv === key.crv && (key.alg === null || key.alg === alg)
}

/** Off the event loop (libuv's threads; 50,000 RS256 a second in batches, docs/design/009-jwt.md). */
export function verifySignature(
  key: VerificationKey,
  alg: string,
  signed: Buffer,
  signature: Buffer
): Promise<boolean> {
  const { hash: digest, isPss, bytes, kty } = ALGORITHMS.get(alg)!
  if (bytes > 0 && signature.length !== bytes) return Promise.resolve(false)
  const options = {
    key: key.key,
    ...(kty === 'EC' ? { dsaEncoding: 'ieee-p1363' as const } : {}),
    ...(kty === 'RSA' ? { padding: isPss ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING } : {}),
    // RFC 7518 section 3.5: the salt is as long as the hash.
    ...(isPss ? { saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : {})
  }
  return new Promise((resolve) => {
    try {
      verify(digest, signed, options, signature, (error, ok) => resolve(error === null && ok))
    } catch {
      // A signature that cannot even be looked at with this key.
      resolve(false)
    }
  })
}
