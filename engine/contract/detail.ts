/**
 * The detail of a refusal beyond its code, for logs and traces; clients never see it. It becomes text when it is first
 * read, and once at most: a flood of refusals that are not logged makes no text.
 */
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { PolicyPlaces } from './route.ts'

export type { Detail } from './exchange.ts'

/** The engine's own detail of a code when no policy has left one. */
const BY_CODE: { readonly [code in ErrorCode]?: (ex: Exchange) => string | null } = {
  REQUEST_TIMEOUT: ({ route }) =>
    route === null ? null : `timeouts.request is ${route.settings.requestTimeoutMs}ms${placed(route, 'timeouts')}`,
  UPSTREAM_TIMEOUT: ({ route }) =>
    route === null || route.settings.backendTimeoutMs === 0
      ? null
      : `timeouts.backendRequest is ${route.settings.backendTimeoutMs}ms${placed(route, 'timeouts')}`,
  BODY_NOT_BUFFERED: ({ bytesReceived }) =>
    `frontendPolicies.http.maxBufferSize is less than the request body, of which ${bytesReceived} bytes have come`,
  RESPONSE_NOT_BUFFERED: () => 'frontendPolicies.http.maxBufferSize is less than the response body',
  RATE_LIMITED: (ex) => `${placeOf(ex, 'rateLimit', '.global')}: the service says that it is over a limit`,
  EXT_AUTH_DENIED: (ex) => `${placeOf(ex, 'extAuth')}: the service denies it`,
  EXT_AUTH_BODY: (ex) => `${placeOf(ex, 'extAuth', '.forwardBody.maxSize')} is less than the request body`,
  ROUTE_NOT_FOUND: (ex) => ex.listener?.whyNoRoute?.(ex) ?? null
}

/** Null: nothing is known. Never throws. */
export function detailOf(ex: Exchange): string | null {
  const { errorDetail: detail, error } = ex
  if (typeof detail === 'string') return detail
  try {
    if (detail !== null) return detail(ex)
    return error === null ? null : (BY_CODE[error]?.(ex) ?? null)
  } catch (problem) {
    // The line of the log is worth more than its last word.
    return `no detail: ${problem instanceof Error ? problem.message : String(problem)}`
  }
}

function placed(owner: PolicyPlaces, policy: string): string {
  const place = owner.placesOf?.(policy).at(-1)
  return place === undefined ? '' : ` at ${withSource(owner, place)}`
}

/**
 * Where the policy that refuses `ex` stands: `binds[0].listeners[0].routes[2].policies.csrf (weir.yaml:41:7)`.
 * `inside`: what of it, from its own value on (`.rules[0]`). `level`: which of the places that have it, for policies
 * that accumulate; else the most precise one. Its bare name where the place is unknown.
 */
export function placeOf(ex: Exchange, policy: string, inside = '', level = -1): string {
  // Before a route is chosen the policy is one of the listener's phase PreRouting.
  const owner: PolicyPlaces | null = ex.route ?? ex.listener
  const place = owner?.placesOf?.(policy).at(level)
  return place === undefined ? `${policy}${inside}` : withSource(owner!, `${place}${inside}`)
}

/** `path (weir.yaml:41:7)`, as far as that is known. */
export function withSource(owner: PolicyPlaces, path: string): string {
  const source = owner.sourceOf?.(path) ?? null
  return source === null ? path : `${path} (${source})`
}
