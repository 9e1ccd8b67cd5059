/**
 * Every way in which an exchange can end without the upstream's own answer: one row each.
 * A runtime error is a value; the row decides status, blame and text.
 */

/** Who caused the end of the exchange. `downstream` is the client's fault or wish. */
export type ErrorSource = 'downstream' | 'upstream' | 'policy' | 'internal'

/**
 * Whether the policy `retry` makes another attempt (docs/design/011-retries.md). `always`: nothing was sent.
 * `unless-sent`: as always where no connection was made, else as idempotent. `idempotent`: where the method is, or the
 * policy lists the row's status. `listed`: only that.
 */
export type Retryability = 'never' | 'always' | 'unless-sent' | 'idempotent' | 'listed'

export interface ErrorRow {
  /** Status of the local reply. 499 is only logged: the client is gone. */
  readonly status: number
  readonly source: ErrorSource
  /** Body of the local reply, text/plain. Static: nothing that a client sent is echoed. */
  readonly message: string
  readonly retry: Retryability
}

export const ERRORS = {
  BAD_REQUEST: row(400, 'downstream', 'the request is malformed'),
  TLS_ON_PLAIN_PORT: row(
    400,
    'downstream',
    'this port speaks HTTP without TLS: use http:// here, or an HTTPS listener'
  ),
  BAD_FRAMING: row(400, 'downstream', 'the request is framed ambiguously: check Content-Length and Transfer-Encoding'),
  BAD_HOST: row(400, 'downstream', 'the request needs exactly one valid Host header'),
  BAD_TARGET: row(400, 'downstream', 'the request target is not a valid path or absolute URL'),
  BAD_PATH: row(400, 'downstream', 'the path is encoded in a way that is not accepted here'),
  PATH_AMBIGUOUS: row(400, 'downstream', 'the path can be read in two ways that lead to different places'),
  PATH_REDIRECT: row(307, 'downstream', 'the path is written without escaped slashes and without backslashes here'),
  HEADER_UNDERSCORE: row(400, 'downstream', 'the name of a header field has an underscore'),
  CONNECT_REFUSED: row(405, 'downstream', 'CONNECT is not served here'),
  HEAD_TIMEOUT: row(408, 'downstream', 'the request head did not arrive in time'),
  BODY_TIMEOUT: row(408, 'downstream', 'the request body did not arrive in time'),
  BODY_TOO_LARGE: row(413, 'downstream', 'the request body is larger than the configured limit'),
  BODY_NOT_BUFFERED: row(413, 'policy', 'the request body is larger than what a policy may keep of it'),
  BODY_OVERLOAD: row(503, 'policy', 'too many large bodies wait to be read'),
  BUFFERS_FULL: row(503, 'policy', 'as many messages are kept in memory as may be: try again'),
  URI_TOO_LONG: row(414, 'downstream', 'the request target is too long'),
  EXPECTATION_FAILED: row(417, 'downstream', 'only Expect: 100-continue is understood'),
  HEADERS_TOO_LARGE: row(431, 'downstream', 'the request has too many or too large header fields'),
  CLIENT_TOO_SLOW: row(408, 'downstream', 'others wait for what this exchange keeps and does not use'),
  CLIENT_GONE: row(499, 'downstream', 'the client closed the connection'),
  METHOD_UNKNOWN: row(501, 'downstream', 'the request method is not implemented'),
  CODING_UNKNOWN: row(501, 'downstream', 'only Transfer-Encoding: chunked is implemented'),
  VERSION_UNKNOWN: row(505, 'downstream', 'only HTTP/1.0 and HTTP/1.1 are spoken here'),
  MISDIRECTED: row(421, 'downstream', 'this TLS connection was made for another host'),
  GRPC_OVER_HTTP1: row(505, 'downstream', 'gRPC needs HTTP/2, and this request came over HTTP/1'),
  LISTENER_NOT_FOUND: row(404, 'downstream', 'no listener serves this host'),
  ROUTE_NOT_FOUND: row(404, 'downstream', 'no route matches this request'),
  NO_BACKEND: row(503, 'upstream', 'the route has no usable backend'),
  INVALID_BACKEND: row(500, 'upstream', 'the route refers to a backend that cannot be reached: its status says why'),
  FORBIDDEN: row(403, 'policy', 'this request is not allowed'),
  EXT_AUTH_DENIED: row(403, 'policy', 'this request is not allowed'),
  EXT_AUTH_UNAVAILABLE: row(403, 'policy', 'the authorization service is unavailable'),
  EXT_AUTH_BODY: row(413, 'policy', 'the request body is larger than what the authorization service may be told'),
  EXT_PROC_UNAVAILABLE: row(500, 'policy', 'the service that processes this exchange cannot be asked'),
  EXT_PROC_TIMEOUT: row(504, 'policy', 'the service that processes this exchange did not answer in time'),
  JWT_MISSING: row(401, 'policy', 'this request needs a bearer token'),
  JWT_REPEATED: row(400, 'policy', 'the request has more than one token where one belongs'),
  JWT_MALFORMED: row(401, 'policy', 'the token is malformed or not of a supported kind'),
  JWT_ISSUER: row(401, 'policy', 'the token is not from a trusted issuer'),
  JWT_AUDIENCE: row(401, 'policy', 'the token is for another audience'),
  JWT_EXPIRED: row(401, 'policy', 'the token has expired'),
  JWT_NOT_YET_VALID: row(401, 'policy', 'the token is not valid yet'),
  JWT_CLAIM_MISSING: row(401, 'policy', 'the token lacks a required claim'),
  JWT_KEY_UNKNOWN: row(401, 'policy', 'the issuer has no key that fits the token'),
  JWT_SIGNATURE: row(401, 'policy', 'the signature of the token is not valid'),
  JWT_KEYS_UNAVAILABLE: row(503, 'policy', 'the keys of the token issuer are not available yet'),
  SCOPE_MISSING: row(403, 'policy', 'the token lacks a required scope'),
  JWT_OVERLOAD: row(503, 'policy', 'too many tokens wait to be verified'),
  CSRF_REFUSED: row(403, 'policy', 'this request comes from another site'),
  BASIC_MISSING: row(401, 'policy', 'this request needs a user name and a password'),
  BASIC_INVALID: row(401, 'policy', 'the user name or the password is wrong'),
  BASIC_REPEATED: row(400, 'policy', 'the request has more than one Authorization header'),
  BASIC_OVERLOAD: row(503, 'policy', 'too many passwords wait to be verified'),
  API_KEY_MISSING: row(401, 'policy', 'this request needs an API key'),
  API_KEY_INVALID: row(401, 'policy', 'the API key is wrong'),
  API_KEY_REPEATED: row(400, 'policy', 'the request has more than one API key where one belongs'),
  KEY_EXPIRED: row(401, 'policy', 'the key has expired'),
  KEY_REVOKED: row(401, 'policy', 'the key has been revoked'),
  MODEL_NOT_ALLOWED: row(403, 'policy', 'the key may not use this model'),
  CONCURRENCY_LIMITED: row(429, 'policy', 'the key has as many requests under way as it may have at a time'),
  BUDGET_EXCEEDED: row(429, 'policy', 'a budget of the key is used up'),
  BUDGET_UNAVAILABLE: row(503, 'policy', 'what this call may cost cannot be set aside at the moment'),
  PRICE_UNKNOWN: row(403, 'policy', 'the key has a budget, and the price of this call is not known'),
  ADDRESS_REFUSED: row(403, 'policy', 'the destination address is not allowed'),
  LOOP_DETECTED: row(508, 'downstream', 'the request has been through this gateway already'),
  RATE_LIMITED: row(429, 'policy', 'rate limit exceeded'),
  RATE_LIMIT_UNAVAILABLE: row(500, 'policy', 'the rate limit service cannot be asked at the moment'),
  DNS_FAILURE: row(502, 'upstream', 'the name of the backend could not be resolved', 'always'),
  NO_ENDPOINT: row(503, 'upstream', 'the backend has no endpoint at the moment', 'always'),
  CONNECT_FAILURE: row(502, 'upstream', 'the backend refused the connection', 'always'),
  UPSTREAM_TLS: row(
    502,
    'upstream',
    'no TLS connection to the backend: its certificate or its protocol is not acceptable',
    'always'
  ),
  NO_MESH_CERTIFICATE: row(
    503,
    'upstream',
    'the backend is part of a mesh, for which this gateway has no certificate at the moment',
    'always'
  ),
  CONNECT_TIMEOUT: row(504, 'upstream', 'the backend did not accept the connection in time', 'always'),
  UPSTREAM_RESET: row(502, 'upstream', 'the backend closed the connection before it answered', 'idempotent'),
  UPSTREAM_PROTOCOL: row(502, 'upstream', 'the backend answered with something that is not valid HTTP', 'listed'),
  UPSTREAM_NOT_HTTP2: row(502, 'upstream', 'the backend does not speak HTTP/2, which gRPC or its policy http asks for'),
  GRPC_TO_HTTP1: row(502, 'upstream', 'gRPC needs HTTP/2, and the backend is set to HTTP/1.1 or chose it'),
  UPGRADE_OVER_HTTP2: row(501, 'upstream', 'the backend is set to HTTP/2, over which this upgrade is not possible'),
  UPSTREAM_TIMEOUT: row(504, 'upstream', 'the backend did not answer in time', 'unless-sent'),
  RESPONSE_NOT_BUFFERED: row(502, 'policy', 'the response is larger than what a policy may keep of it'),
  UPSTREAM_OVERFLOW: row(503, 'upstream', 'too many requests wait for a connection to the backend'),
  REQUEST_TIMEOUT: row(504, 'policy', 'the request took longer than the configured timeout'),
  CIRCUIT_BREAKER: row(503, 'upstream', 'as much is under way to the backend as may be: try again'),
  BACKEND_CREDENTIALS: row(503, 'upstream', 'the gateway has no credentials for the backend at the moment'),
  DRAINING: row(503, 'internal', 'the gateway is shutting down'),
  INTERNAL: row(500, 'internal', 'internal error')
} as const satisfies Record<string, ErrorRow>

/** Stable name of an error; it appears as `reason` in the access log and in metrics. */
export type ErrorCode = keyof typeof ERRORS

function row(status: number, source: ErrorSource, message: string, retry: Retryability = 'never'): ErrorRow {
  return { status, source, message, retry }
}
