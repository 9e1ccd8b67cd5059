/**
 * Which of the client's header fields targets get (forwardHeaders), and what those say of the caller. Whole names in
 * lists: a word within a name says nothing (`user-agent`, `idempotency-key`, `x-csrf-token`).
 */

import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { STATELESS_METHODS } from '#backends/mcp/protocol/stateless.ts'
import type { BackendAuth } from '#engine/contract/backend-auth/auth.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { HeaderBlock } from '#engine/http/headers.ts'

/** Never forwarded: fields of the client's connection, session and framing, those that the gateway sets, cookies. */
export const NEVER_FORWARDED: ReadonlySet<string> = new Set([
  ...['connection', 'content-encoding', 'content-length', 'content-type', 'cookie', 'expect', 'host', 'keep-alive'],
  ...['accept', 'accept-encoding', 'last-event-id', 'mcp-method', 'mcp-name', 'mcp-protocol-version'],
  ...['mcp-session-id', 'proxy-authorization', 'proxy-connection', 'set-cookie', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'via']
])

const PARAMETER = /^mcp-param-/i

const AUTHORIZATION = 'authorization'

/** Before the name of a field that only targets with `passthrough` are shown: no field of a client begins with it. */
const PASSED = ':'

/**
 * `forwardHeaders` of the configuration -> what targets get of a client's fields, of which `compileShownFields` selects
 * those for one target. `isPassed`: some targets are shown the client's own credential.
 */
export function compileForwardedHeaders(
  configured: readonly string[],
  isPassed = false
): (ex: Exchange) => HeaderBlock {
  const forwarded = [...TRACE, ...configured.filter((name) => !NEVER_FORWARDED.has(name))]
  return ({ request, mcp, identity }) => {
    const headers = new HeaderBlock()
    if (isPassed) appendPassed(request, identity?.credentials ?? null, headers)
    for (const name of forwarded) {
      // Most are absent, which costs little to find out.
      if (request.has(name)) headers.append(name, request.getAll(name)!)
    }
    if (request.get('mcp-protocol-version') !== STATELESS) return headers
    // Mirrored arguments, which the body has too: unknown ones are passed on.
    request.forEach((name, value) => {
      if (PARAMETER.test(name)) headers.append(name, value)
    })
    // Only the server knows what Mcp-Name repeats of a method of an extension.
    const name = STATELESS_METHODS.has(mcp?.method ?? '') ? undefined : request.get('mcp-name')
    if (name !== undefined) headers.append('Mcp-Name', name)
    return headers
  }
}

/** What policies of the gateway have taken out, the first line of each name; else the client's own Authorization. */
function appendPassed(request: HeaderBlock, consumed: readonly string[] | null, headers: HeaderBlock): void {
  for (let i = 0; consumed !== null && i < consumed.length; i += 2) {
    const name = consumed[i]!.toLowerCase()
    if (!NEVER_FORWARDED.has(name) && !headers.has(PASSED + name)) headers.append(PASSED + name, consumed[i + 1]!)
  }
  const own = headers.has(PASSED + AUTHORIZATION) ? undefined : request.getAll(AUTHORIZATION)
  if (own !== undefined) headers.append(PASSED + AUTHORIZATION, own)
}

/**
 * Of the fields that are forwarded, those for a target with this policy; null: all of them. A target with a key of its
 * own is shown no credential of the client.
 */
export function compileShownFields(
  configured: readonly string[],
  isPassed: boolean,
  auth: BackendAuth | null
): ((headers: HeaderBlock) => HeaderBlock) | null {
  if (auth?.kind === 'passthrough') return withPassed
  const isOwn = auth !== null
  if (!isPassed && !(isOwn && configured.some((name) => CREDENTIALS.has(name)))) return null
  return (headers) => {
    const rest = new HeaderBlock()
    headers.forEach((name, value) => {
      if (!name.startsWith(PASSED) && !(isOwn && CREDENTIALS.has(name))) rest.append(name, value)
    })
    return rest
  }
}

function withPassed(headers: HeaderBlock): HeaderBlock {
  const shown = new HeaderBlock()
  headers.forEach((name, value) => {
    if (name.startsWith(PASSED)) shown.append(name.slice(PASSED.length), value)
    else if (!headers.has(PASSED + name)) shown.append(name, value)
  })
  return shown
}

/** Fields that only their holder can show: those of engine/kit/sensitive.ts that name a client. Cookies go nowhere. */
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

/** W3C Trace Context and Baggage: always forwarded. */
export const TRACE: readonly string[] = ['traceparent', 'tracestate', 'baggage']

/** Differ from request to request, or by route, for one caller. */
const PER_REQUEST: ReadonlySet<string> = new Set([
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
  // Addresses: one is of many clients, and one client has several.
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-port', 'x-real-ip', 'true-client-ip', 'cf-connecting-ip'],
  ...['x-client-ip', 'x-cluster-client-ip', 'x-envoy-external-address', 'fastly-client-ip', 'x-azure-clientip']
])

/** A scheme without credentials. */
const SCHEME_ONLY = /^[ \t]*(?:(?:basic|bearer|digest|dpop|negotiate)[ \t]*)?$/i

/** `name`: in lower case. */
export const isCredential = (name: string, value: string): boolean => CREDENTIALS.has(name) && !SCHEME_ONLY.test(value)

/** `name`: in lower case. */
export const isPerRequest = (name: string): boolean => PER_REQUEST.has(name)
