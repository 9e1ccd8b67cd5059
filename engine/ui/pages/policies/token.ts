/** A token in compact form (RFC 7519), for people who want to know what it says. Nothing of it is verified here. */

export interface TokenParts {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** What is wrong with it as a text, or what it says. "Bearer " before it is left out. */
export function readToken(text: string): TokenParts | string {
  const token = text.trim().replace(/^Bearer\s+/i, '')
  const parts = token.split('.')
  if (parts.length === 5) return 'This is an encrypted token (JWE, five parts): the gateway reads signed ones only.'
  if (parts.length !== 3) return 'A token has three parts with dots between them: header.claims.signature'
  const [header, claims] = [objectIn(parts[0]!), objectIn(parts[1]!)]
  if (header === null) return 'The first part is no JSON object in base64url.'
  if (claims === null) return 'The second part is no JSON object in base64url.'
  return { header, claims }
}

function objectIn(part: string): Record<string, unknown> | null {
  if (!/^[\w-]+$/.test(part)) return null
  try {
    const binary = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)))
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

export interface TokenTime {
  readonly claim: 'exp' | 'nbf' | 'iat'
  /** Milliseconds since 1970. */
  readonly at: number
  /** Because of it the token is not good now. */
  readonly isBad: boolean
}

/** `now`: milliseconds since 1970. Claims that are no numbers have no time. */
export function timesOf({ claims }: TokenParts, now: number): TokenTime[] {
  return (['iat', 'nbf', 'exp'] as const).flatMap((claim) => {
    const value = claims[claim]
    if (typeof value !== 'number' || !Number.isFinite(value)) return []
    const at = value * 1000
    return [{ claim, at, isBad: claim === 'exp' ? at <= now : at > now }]
  })
}
