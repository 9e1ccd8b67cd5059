/**
 * What fields of the client say that targets are told (forwardHeaders): who it is, or nothing of that. By whole names
 * in lists: a word in a name says nothing (`user-agent`, `idempotency-key`, `x-csrf-token`).
 */

/**
 * Only its holder can show it: what engine/kit/sensitive.ts hides, as far as it is known to name a client. Cookies
 * are not here: they go to no target.
 */
export const CREDENTIALS: ReadonlySet<string> = new Set([
  ...['authorization', 'proxy-authorization', 'x-authorization', 'x-forwarded-authorization'],
  ...['x-api-key', 'api-key', 'apikey', 'x-apikey', 'x-goog-api-key', 'x-functions-key', 'ocp-apim-subscription-key'],
  ...['x-auth-key', 'x-rapidapi-key', 'dd-api-key', 'dd-application-key', 'x-subscription-token'],
  ...['x-auth-token', 'x-access-token', 'x-id-token', 'x-user-token', 'x-session-token', 'x-amz-security-token'],
  ...['private-token', 'job-token', 'x-gitlab-token', 'x-github-token', 'x-vault-token', 'x-figma-token'],
  ...['x-shopify-access-token', 'x-forwarded-access-token', 'x-auth-request-access-token'],
  ...['x-ms-token-aad-access-token', 'x-ms-token-aad-id-token', 'x-amzn-oidc-accesstoken'],
  ...['cf-access-jwt-assertion', 'cf-access-client-secret', 'x-goog-iap-jwt-assertion']
])

/** Of W3C Trace Context and Baggage: they are always told. */
export const TRACE: readonly string[] = ['traceparent', 'tracestate', 'baggage']

/** Another one with each request, or each way that it takes: of the same caller all the same. */
const OF_ONE_REQUEST: ReadonlySet<string> = new Set([
  ...TRACE,
  ...['x-request-id', 'request-id', 'x-correlation-id', 'correlation-id', 'x-trace-id', 'x-span-id', 'sentry-trace'],
  ...['b3', 'x-b3-traceid', 'x-b3-spanid', 'x-b3-parentspanid', 'x-b3-sampled', 'x-b3-flags', 'uber-trace-id'],
  ...['x-amzn-trace-id', 'x-cloud-trace-context', 'x-ot-span-context', 'x-client-trace-id'],
  ...['x-datadog-trace-id', 'x-datadog-parent-id', 'x-datadog-sampling-priority', 'x-datadog-origin'],
  ...['x-datadog-tags', 'cf-ray', 'x-amz-cf-id', 'x-vercel-id', 'x-github-request-id', 'x-ms-client-request-id'],
  ...['idempotency-key', 'x-idempotency-key', 'x-csrf-token', 'x-xsrf-token', 'x-nonce', 'x-timestamp'],
  // Proofs over one request (RFC 9449, RFC 9421, RFC 9530).
  ...['dpop', 'signature', 'signature-input', 'content-digest', 'repr-digest', 'x-signature', 'x-amz-date'],
  ...['date', 'age', 'via', 'x-request-start', 'x-queue-start', 'x-envoy-attempt-count', 'x-stainless-retry-count'],
  ...['x-stainless-read-timeout', 'x-stainless-timeout', 'x-envoy-expected-rq-timeout-ms', 'grpc-timeout'],
  // Where it has come from, and by what: an address is of many, and one client has several.
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-port', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip'],
  ...['x-client-ip', 'x-cluster-client-ip', 'x-envoy-external-address', 'fastly-client-ip', 'x-azure-clientip']
])

/** A scheme without anything behind it shows nothing. */
const SCHEME_ONLY = /^[ \t]*(?:(?:basic|bearer|digest|dpop|negotiate)[ \t]*)?$/i

/** `name`: in lower case. */
export const isCredential = (name: string, value: string): boolean => CREDENTIALS.has(name) && !SCHEME_ONLY.test(value)

/** `name`: in lower case. */
export const isOfOneRequest = (name: string): boolean => OF_ONE_REQUEST.has(name)
