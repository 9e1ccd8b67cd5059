/** Tokens that the gateway signs for a backend (RFC 7519, RFC 7515): one is shown until a fifth of its time is left. */
import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import type { SignedTokenAuth, SigningAlg } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'

/** Clocks of backends that are behind see no token of the future. */
const BACKDATE_S = 10
const SHOWN_PART = 0.8

/** Of RFC 7518 section 3.1; null: the key says it (RFC 8037). */
const HASHES: Readonly<Record<SigningAlg, string | null>> = {
  ...{ RS256: 'sha256', RS384: 'sha384', RS512: 'sha512' },
  ...{ ES256: 'sha256', ES384: 'sha384', ES512: 'sha512', EdDSA: null }
}

/** The token for a request at `now`, in milliseconds since 1970. Signing takes 0.1 to 2 ms, once in a lifetime. */
export function signedTokens({ key, alg, kid, claims, ttlMs }: SignedTokenAuth): (now: number) => string {
  const header = encoded({ alg, typ: 'JWT', ...(kid === null ? {} : { kid }) })
  const privateKey: KeyObject = createPrivateKey(reveal(key))
  let token = ''
  let from = 0
  let until = 0
  return (now) => {
    // A clock that was set back gets a new one, too.
    if (now >= from && now < until) return token
    const at = Math.floor(now / 1000)
    const times = { iat: at - BACKDATE_S, exp: at + Math.floor(ttlMs / 1000) }
    const text = `${header}.${encoded({ ...claims, ...times })}`
    // JWS has both numbers of an ECDSA signature one after the other (RFC 7518 section 3.4).
    const signature = sign(HASHES[alg], Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' })
    token = `${text}.${signature.toString('base64url')}`
    from = now
    until = now + ttlMs * SHOWN_PART
    return token
  }
}

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
