/** What the claims of a token must say (RFC 7519 section 4.1), whatever its signature is worth. */
import type { ErrorCode } from '#engine/contract/errors.ts'

export interface ClaimRules {
  /** Names of claims that a token must have. */
  readonly requiredClaims: readonly string[]
  /** How long after its exp a token is still valid. */
  readonly leewayMs: number
  /** How long before its nbf and iat it already is: the issuer's clock may be ahead. */
  readonly earlyMs: number
}

type Claims = Readonly<Record<string, unknown>>

/** Why the token is refused at `now` (milliseconds since 1970), or null. Issuer and audience are not looked at. */
export function refusedClaims(claims: Claims, rules: ClaimRules, now: number): ErrorCode | null {
  const { exp, nbf, iat } = claims
  if (!isDate(exp) || !isDate(nbf) || !isDate(iat)) return 'JWT_MALFORMED'
  for (const name of rules.requiredClaims) {
    if (!Object.hasOwn(claims, name) || claims[name] === null) return 'JWT_CLAIM_MISSING'
  }
  if (exp !== undefined && now >= exp * 1000 + rules.leewayMs) return 'JWT_EXPIRED'
  // A token from the future: the clocks differ by more than agreed, or tokens are made in advance.
  if (nbf !== undefined && now < nbf * 1000 - rules.earlyMs) return 'JWT_NOT_YET_VALID'
  return iat !== undefined && now < iat * 1000 - rules.earlyMs ? 'JWT_NOT_YET_VALID' : null
}

/** Milliseconds since 1970 from which on the token is not valid any more. */
export function deadlineOf(claims: Claims, { leewayMs }: ClaimRules): number {
  return typeof claims.exp === 'number' ? claims.exp * 1000 + leewayMs : Number.POSITIVE_INFINITY
}

/** `audiences`: null for any. */
export function hasAudience({ aud }: Claims, audiences: ReadonlySet<string> | null): boolean {
  if (audiences === null) return true
  if (typeof aud === 'string') return audiences.has(aud)
  return Array.isArray(aud) && aud.some((one) => typeof one === 'string' && audiences.has(one))
}

/** NumericDate (RFC 7519 section 2), or not there. */
function isDate(value: unknown): value is number | undefined {
  return value === undefined || (typeof value === 'number' && Number.isFinite(value))
}
