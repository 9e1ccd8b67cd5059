/** External authorization over gRPC: calls envoy.service.auth.v3.Authorization/Check and reads the answer. */

import { toJson, type Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CompileContext } from '#engine/contract/policy.ts'
import type { GrpcAnswer, ServiceFailure } from '#engine/contract/service.ts'
import { isDeep } from '#engine/kit/depth.ts'
import type { HeaderValueOption, Metadata } from '#engine/proto/generated/envoy/config/core/v3/base.ts'
import { AttributeContext } from '#engine/proto/generated/envoy/service/auth/v3/attribute_context.ts'
import { CheckResponse, type DeniedHttpResponse } from '#engine/proto/generated/envoy/service/auth/v3/external_auth.ts'
import { METADATA_DEPTH_MAX } from '#policies/shared/metadata-depth.ts'
import { changesOf, octetsOf, replacing, settableName } from '#policies/shared/service-fields.ts'
import { type CheckTemplate, checkRequest } from './check-request.ts'
import type { ExtAuthConfig, GrpcCheck } from './schema.ts'
import type { Allowed, Decision, Denied, Failed } from './verdict.ts'

const CHECK = '/envoy.service.auth.v3.Authorization/Check'
/** Envoy's services answer with a few hundred bytes. */
const ANSWER_BYTES_MAX = 256 * 1024
/** Of fields and parameters together: more are no answer, since each of them costs a look at all others. */
const CHANGES_MAX = 256
const FORBIDDEN = 403
/** Where Envoy has the claims of a token. */
const JWT_METADATA = 'envoy.filters.http.jwt_authn'
/** In the dynamic metadata of an answer: seconds for which it may be kept. What is no such number keeps nothing. */
const LIFETIME = 'cacheMaxAge'

/** Sends one exchange to the service. `onDecision` is called once. */
export type CheckSender = (ex: Exchange, onDecision: (decision: Decision | Failed) => void) => void

/** What `requestMetadata` says, each evaluated per request. */
export type NamedValues = readonly { readonly name: string; readonly value: Evaluation }[]

export function grpcCheckSender(
  check: GrpcCheck,
  { service, timeoutMs, forwardBody }: ExtAuthConfig,
  metadata: NamedValues | null,
  { services, time, failed }: CompileContext
): CheckSender {
  const client = services.grpc(service)
  const template = templateOf(check)
  const options = { path: CHECK, metadata: null, timeoutMs, messageBytesMax: ANSWER_BYTES_MAX }
  return (ex, onDecision) => {
    const body = forwardBody === null ? null : (ex.requestBytes ?? NO_BODY)
    const message = checkRequest(ex, template, {
      metadata: metadata === null ? claimsOf(ex) : metadataOf(ex, metadata, () => failed('extAuth')),
      body,
      asBytes: forwardBody?.asBytes ?? false,
      id: String(Math.floor(time.random() * Number.MAX_SAFE_INTEGER))
    })
    client.unary({ ...options, ex }, message, (answer) =>
      onDecision(decisionOf(answer, client.name, () => failed('extAuth')))
    )
  }
}

const NO_BODY = Buffer.alloc(0)

function templateOf({ contextExtensions, allowedRequestHeaders }: GrpcCheck): CheckTemplate {
  const context = { ...NOTHING, contextExtensions }
  return {
    extensions: Buffer.from(AttributeContext.encode(context).finish()),
    allowed: allowedRequestHeaders === null ? null : new Set(allowedRequestHeaders)
  }
}

const NOTHING: AttributeContext = {
  source: undefined,
  destination: undefined,
  request: undefined,
  contextExtensions: {},
  metadataContext: undefined,
  routeMetadataContext: undefined,
  tlsSession: undefined
}

// --- metadata ---

function encoded(filterMetadata: Metadata['filterMetadata']): Uint8Array {
  const context = { ...NOTHING, metadataContext: { filterMetadata, typedFilterMetadata: {} } }
  return AttributeContext.encode(context).finish()
}

/** Claims are one object for all requests with the same token. */
const claims = new WeakMap<object, Uint8Array>()

function claimsOf({ identity }: Exchange): Uint8Array | null {
  const jwt = identity?.jwt ?? null
  if (jwt === null) return null
  let bytes = claims.get(jwt)
  if (bytes === undefined) {
    bytes = encoded({ [JWT_METADATA]: { jwt_payload: jwt } })
    claims.set(jwt, bytes)
  }
  return bytes
}

/** An expression that fails leaves its entry out. What is no map stands under "value". */
function metadataOf(ex: Exchange, metadata: NamedValues, failed: () => void): Uint8Array | null {
  const fields: Metadata['filterMetadata'] = {}
  for (const { name, value } of metadata) {
    const json = toJson(value.program.run(ex) as Value)
    if (typeof json !== 'string') failed()
    else {
      // Values of expressions are views of the exchange; this is what they say, once.
      const plain: unknown = JSON.parse(json)
      const isMap = typeof plain === 'object' && plain !== null && !Array.isArray(plain)
      fields[name] = isMap ? (plain as Record<string, unknown>) : { value: plain }
    }
  }
  return encoded(fields)
}

// --- the answer ---

export function decisionOf(
  answer: GrpcAnswer | ServiceFailure,
  service: string,
  ignored: () => void
): Decision | Failed {
  if (answer.error !== null) return failure(`${service}: ${answer.error}, ${answer.detail}`)
  if (answer.status !== 0) return failure(`${service}: it answers with grpc-status ${answer.status}`)
  const response = decoded(answer.bytes!)
  if (response === null) return failure(`${service}: its answer is no CheckResponse`)
  return judged(response, service, ignored)
}

function failure(detail: string, reply: Denied['reply'] = null): Failed {
  return { kind: 'failed', detail, reply }
}

function decoded(bytes: Uint8Array): CheckResponse | null {
  try {
    return CheckResponse.decode(bytes)
  } catch {
    // Whatever a service sends is an answer or none.
    return null
  }
}

function judged(response: CheckResponse, service: string, ignored: () => void): Decision | Failed {
  const { status, httpResponse } = response
  if (changeCount(response) > CHANGES_MAX) return failure(`${service}: its answer has too many fields`)
  const isAllowed = (status?.code ?? 0) === 0
  if (!isAllowed && httpResponse?.$case === 'errorResponse') {
    const { value } = httpResponse
    const reply = value.status === undefined ? null : replyOf(value, ignored)
    return failure(`${service}: it says that it has failed`, reply)
  }
  const ok = httpResponse?.$case === 'okResponse' ? httpResponse.value : null
  const metadata = ok?.dynamicMetadata ?? response.dynamicMetadata ?? null
  if (isDeep(metadata, METADATA_DEPTH_MAX)) return failure(`${service}: its dynamic metadata is too deep`)
  const lifetimeMs = lifetimeOf(metadata)
  if (!isAllowed) {
    const reply = httpResponse?.$case === 'deniedResponse' ? replyOf(httpResponse.value, ignored) : null
    return { verdict: { kind: 'denied', reply, metadata }, lifetimeMs }
  }
  const verdict: Allowed = {
    kind: 'allowed',
    fields: changesOf((ok?.headers ?? []).map(replacing), ignored),
    removed: [...(ok?.headersToRemove ?? []).flatMap((name) => settableName(name) ?? []), ...unfit(ok?.headers ?? [])],
    setQuery: (ok?.queryParametersToSet ?? []).map(({ key, value }) => [key, value] as const),
    removedQuery: ok?.queryParametersToRemove ?? [],
    responseFields: changesOf(ok?.responseHeadersToAdd ?? [], ignored),
    metadata
  }
  return { verdict, lifetimeMs }
}

function changeCount({ httpResponse }: CheckResponse): number {
  if (httpResponse === undefined) return 0
  if (httpResponse.$case !== 'okResponse') return httpResponse.value.headers.length
  const { headers, headersToRemove, responseHeadersToAdd, queryParametersToSet, queryParametersToRemove } =
    httpResponse.value
  const lists = [headers, headersToRemove, responseHeadersToAdd, queryParametersToSet, queryParametersToRemove]
  return lists.reduce((sum, { length }) => sum + length, 0)
}

/** Names whose values cannot be sent: what the client says under them must not stand for what the service says. */
function unfit(options: readonly HeaderValueOption[]): string[] {
  return options.flatMap(({ header }) => {
    const name = settableName(header?.key ?? '')
    return name === null || header === undefined || octetsOf(header) !== null ? [] : [name]
  })
}

function lifetimeOf(metadata: Readonly<Record<string, unknown>> | null): number | null {
  const seconds = metadata?.[LIFETIME]
  if (seconds === undefined) return null
  return typeof seconds === 'number' && seconds >= 0 ? seconds * 1000 : 0
}

function replyOf({ status, headers, body }: DeniedHttpResponse, ignored: () => void): NonNullable<Denied['reply']> {
  const code: number = status?.code ?? 0
  const fields: string[] = []
  // All of them, as in Envoy: there is nothing yet that they could replace.
  for (const { name, value } of changesOf(headers, ignored)) fields.push(name, value)
  // What has refused the request must not look like its success.
  return { status: code >= 300 && code <= 599 ? code : FORBIDDEN, headers: fields, body: Buffer.from(body, 'utf8') }
}
