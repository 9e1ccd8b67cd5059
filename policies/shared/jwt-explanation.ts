/** Why a token was refused, for the log: what was expected and what it says. Never a part of the token itself. */
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { ClaimRules } from './jwt-claims.ts'
import { parseToken } from './jwt-token.ts'
import { shownText } from './text.ts'

type Claims = Readonly<Record<string, unknown>>

/** What is asked of tokens. */
interface Expected extends ClaimRules {
  readonly providers: readonly { readonly issuer: string; readonly audiences: ReadonlySet<string> | null }[]
}

/** `now`: milliseconds since 1970. The claims are not verified: the client may have made them up. */
export function explainToken(token: string, code: ErrorCode, expected: Expected, now: number): string {
  const parsed = parseToken(token)
  if (parsed === null) return ERRORS[code].message
  const { claims, kid, alg } = parsed
  const { providers, requiredClaims } = expected
  switch (code) {
    case 'JWT_ISSUER':
      return `iss is ${claimText(claims, 'iss')}; expected ${oneOfText(providers.map(({ issuer }) => issuer))}`
    case 'JWT_AUDIENCE': {
      const wanted = providers
        .filter(({ issuer }) => issuer === claims.iss)
        .flatMap(({ audiences }) => [...(audiences ?? [])])
      return `aud is ${claimText(claims, 'aud')}; expected ${oneOfText(wanted)}`
    }
    case 'JWT_EXPIRED':
      return `exp is ${dateText(claims.exp)}; it is ${dateText(now / 1_000)}, leeway ${expected.leewayMs / 1_000}s`
    case 'JWT_NOT_YET_VALID': {
      const dates = `nbf is ${dateText(claims.nbf)}, iat ${dateText(claims.iat)}`
      return `${dates}; it is ${dateText(now / 1_000)}, leeway ${expected.earlyMs / 1_000}s`
    }
    case 'JWT_CLAIM_MISSING':
      return `there is no ${oneOfText(requiredClaims.filter((name) => claims[name] === undefined || claims[name] === null))}`
    case 'JWT_KEY_UNKNOWN':
    case 'JWT_SIGNATURE':
      return `${ERRORS[code].message}: kid is ${kid === null ? 'not there' : shownText(kid)}, alg ${shownText(alg)}, iss ${claimText(claims, 'iss')}`
    default:
      return ERRORS[code].message
  }
}

const SHOWN_MAX = 4

function oneOfText(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN_MAX).map(shownText).join(' or ')
  return names.length > SHOWN_MAX ? `${shown} or ${names.length - SHOWN_MAX} more` : shown
}

function claimText(claims: Claims, name: string): string {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  if (typeof value === 'string') return shownText(value)
  if (Array.isArray(value)) return oneOfText(value.filter((one): one is string => typeof one === 'string'))
  return value === undefined ? 'not there' : `no text but a ${typeof value}`
}

/** `seconds`: NumericDate (RFC 7519 section 2). */
function dateText(seconds: unknown): string {
  if (typeof seconds !== 'number' || Math.abs(seconds) > DATE_SECONDS_MAX) return 'not there'
  return new Date(Math.round(seconds) * 1_000).toISOString()
}

/** What a Date can hold (ECMA-262, time values). */
const DATE_SECONDS_MAX = 8.64e12
