/** `auth.jwtSign`: tokens that the gateway signs for a backend: the schema, and the key that is to fit. */
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { FieldError, type Sources } from '#engine/contract/policy.ts'
import { secret } from '#engine/kit/secret.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { longString, shortString, z } from '#engine/schema/schema.ts'
import { SIGNING_ALGS, type SignedTokenAuth, type SigningAlg } from './auth.ts'

/** A key of 8,192 bits has about 6,400. */
const PEM_CHARS_MAX = 16_384
const CLAIMS_MAX = 64
/** Claims of the signer. */
const RESERVED = ['iat', 'exp', 'nbf']
const TTL_MS = 300_000
const TTL_MAX_MS = 86_400_000

const pem = () => z.string().min(1).max(PEM_CHARS_MAX)

export const jwtSign = () =>
  z.strictObject({
    signingKey: z
      .union([pem(), oneOf({ file: longString().optional().describe('Its path.') })])
      .describe('A private key in PEM (PKCS #8, or that of its kind), or where it is.'),
    alg: z.enum(SIGNING_ALGS).optional().describe('Default RS256.'),
    kid: shortString().optional().describe('Which key it is, for the backend.'),
    claims: z
      .record(shortString(), z.json())
      .refine((map) => Object.keys(map).length <= CLAIMS_MAX, `must have at most ${CLAIMS_MAX} entries`)
      .refine(
        (map) => !RESERVED.some((name) => name in map),
        `cannot have ${RESERVED.join(', ')}: the gateway says them`
      )
      .optional()
      .describe('What each token says beside iat and exp.'),
    ttl: duration()
      .refine((ms) => ms >= 1000 && ms <= TTL_MAX_MS, 'must be from 1s to 24h')
      .optional()
      .describe('How long one is good. Default 5m.')
  })

/** Of its schema. */
export interface FileJwtSign {
  readonly signingKey: string | { readonly file?: string | undefined }
  readonly alg?: SigningAlg | undefined
  readonly kid?: string | undefined
  readonly claims?: Readonly<Record<string, unknown>> | undefined
  readonly ttl?: number | undefined
}

/** Throws a FieldError for a key that cannot be read, or is none for `alg`. */
export function readJwtSign(file: FileJwtSign, { readFile }: Pick<Sources, 'readFile'>): SignedTokenAuth {
  const { signingKey, alg = 'RS256', kid = null, claims = {}, ttl = TTL_MS } = file
  const at = ['jwtSign', 'signingKey']
  let text: string
  try {
    text = typeof signingKey === 'string' ? signingKey : readFile(signingKey.file!)
  } catch (error) {
    throw new FieldError([...at, 'file'], (error as Error).message)
  }
  const key = keyOf(text)
  if (key === null || !fits(alg, key)) throw new FieldError(at, `must be a private key in PEM, of the kind for ${alg}`)
  return { kind: 'jwtSign', key: secret(text), alg, kid, claims, ttlMs: ttl }
}

function keyOf(text: string): KeyObject | null {
  try {
    return createPrivateKey(text)
  } catch {
    // What is wrong with it could show a part of it.
    return null
  }
}

/** Curves of RFC 7518 section 3.4, by their names in OpenSSL. */
const CURVES: Readonly<Record<string, string>> = { ES256: 'prime256v1', ES384: 'secp384r1', ES512: 'secp521r1' }

function fits(alg: SigningAlg, { asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (alg === 'EdDSA') return type === 'ed25519'
  const curve = CURVES[alg]
  return curve === undefined ? type === 'rsa' && (details?.modulusLength ?? 0) >= 2048 : details?.namedCurve === curve
}
