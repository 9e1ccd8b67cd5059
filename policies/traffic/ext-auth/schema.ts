/** How external authorization is configured, in the words of the resource and in those of the closest peer's file. */

import { REQUEST_HEAD_ROOTS, RESPONSE_ROOTS } from '#engine/cel/exchange.ts'
import { expression } from '#engine/cel/expression.ts'
import type { ServiceRef } from '#engine/contract/service.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { enforcedAs, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { deferred, list, map, refused, shortString, whole, z } from '#engine/schema/schema.ts'
import { namesService, serviceFields, serviceOf } from '#engine/schema/service-ref.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { type FailureMode, failureMode, statusOf } from '#policies/shared/failure-mode.ts'
import { headerName } from '#policies/shared/field.ts'

/** Of lists and maps (docs/specification.md#traffic-policies). */
const ENTRIES_MAX = 64
const TIMEOUT_DEFAULT_MS = 2_000
const CACHE_ENTRIES_DEFAULT = 10_000
const CACHE_ENTRIES_MAX = 1_000_000
const STATUS_DEFAULT = 403

/** Expressions by name. */
export type Expressions = Readonly<Record<string, string>>

export interface GrpcCheck {
  readonly kind: 'grpc'
  readonly contextExtensions: Readonly<Record<string, string>>
  /** Null: the claims of the token, where there is one. */
  readonly requestMetadata: Expressions | null
  /** In lower case; null: all. */
  readonly allowedRequestHeaders: readonly string[] | null
}

export interface HttpCheck {
  readonly kind: 'http'
  /** Null: the path and query of the request. */
  readonly path: string | null
  readonly redirect: string | null
  /** In lower case. */
  readonly allowedRequestHeaders: readonly string[]
  readonly addRequestHeaders: Expressions
  /** Null: the method of the request. */
  readonly method: string | null
  /** Null: that of the service, or of the request where `host` is an allowed request header. */
  readonly authority: string | null
  /** Null: the body of the request where it is forwarded, otherwise none. */
  readonly body: string | null
  readonly allowedResponseHeaders: readonly string[]
  readonly responseMetadata: Expressions
}

/** Milliseconds, or an expression over the request with what the verdict has changed. */
export type Lifetime = { readonly ms: number } | { readonly expression: string }

export interface CacheConfig {
  readonly keys: readonly string[]
  readonly lifetime: Lifetime
  readonly entriesMax: number
}

export interface ExtAuthConfig {
  readonly service: ServiceRef
  readonly check: GrpcCheck | HttpCheck
  /** `asBytes`: gRPC has it in raw_body. */
  readonly forwardBody: { readonly bytesMax: number; readonly asBytes: boolean } | null
  /** Of the refusal when a check fails; null: the request passes. */
  readonly statusOnError: number | null
  readonly timeoutMs: number
  readonly cache: CacheConfig | null
  /** Asked only where it is true; null: always. */
  readonly when: string | null
}

const entries = <T extends z.ZodType<string>>(value: T) => map(shortString(), value, 0, ENTRIES_MAX)

const expressions = () => entries(expression(REQUEST_HEAD_ROOTS))
const answerExpressions = () => entries(expression(RESPONSE_ROOTS))
const text = () => expression(REQUEST_HEAD_ROOTS, 'string')
const names = () => list(shortString(), 0, ENTRIES_MAX)

/** Parts of the start line, by the names that the closest peer gives them in `addRequestHeaders`. */
const METHOD = ':method'
const AUTHORITY = ':authority'

/** Expressions for header fields, and for method and authority. */
const fields = () =>
  expressions().superRefine((named, context) => {
    for (const key of Object.keys(named)) {
      if (key === METHOD || key === AUTHORITY) continue
      for (const { message } of headerName().safeParse(key).error?.issues ?? [])
        context.addIssue({ code: 'custom', path: [key], message })
    }
  }, enforcedAs(ONLY_GATEWAY))

const bodyText = () => text().optional().describe('The body that the service gets, in place of that of the request.')

function requestParts(fields: Expressions = {}, body: string | null = null) {
  const { [METHOD]: method = null, [AUTHORITY]: authority = null, ...addRequestHeaders } = fields
  return { method, authority, addRequestHeaders, body }
}

const bodyFields = {
  forwardBody: z
    .strictObject({ maxSize: whole(1, Number.MAX_SAFE_INTEGER), packAsBytes: z.boolean().optional() })
    .optional()
    .describe('The service gets the body, which is buffered for it; 413 beyond maxSize bytes.')
}

const positive = () => positiveDuration('must be longer than 0s')

const lifetime = () =>
  z
    .string()
    .transform((text, context): Lifetime => {
      const read = positive().safeParse(text)
      if (read.success) return { ms: read.data }
      const computed = expression(REQUEST_HEAD_ROOTS).safeParse(text)
      if (computed.success) return { expression: text }
      const { issues } = (/^[\d.]/.test(text) ? read : computed).error
      for (const { message } of issues) context.addIssue({ code: 'custom', message })
      return z.NEVER
    })
    .describe(
      'A duration, or an expression that gives a duration or when the verdict ends (a timestamp, seconds of Unix time).'
    )

const cacheKey = () => {
  const several = list(expression(REQUEST_HEAD_ROOTS), 1, 16)
  return inResources(z.union([expression(REQUEST_HEAD_ROOTS), several]), several)
}

const cache = () =>
  z.strictObject({
    key: cacheKey(),
    ttl: lifetime(),
    maxEntries: whole(1, CACHE_ENTRIES_MAX).optional()
  })

const commonFields = {
  failureMode: failureMode(),
  timeout: positive().optional().describe('Default 2s.'),
  cache: cache().optional().describe('Verdicts that are kept for requests with the same key.'),
  when: expression(REQUEST_HEAD_ROOTS, 'bool').optional().describe('The service is called only where it is true.')
}

interface Common {
  readonly failureMode?: FailureMode
  readonly timeout?: number | undefined
  readonly cache?: z.output<ReturnType<typeof cache>> | undefined
  readonly when?: string | undefined
}

function commonOf({ failureMode: mode, timeout, cache: kept, when }: Common) {
  return {
    statusOnError: statusOf(mode, STATUS_DEFAULT),
    timeoutMs: timeout ?? TIMEOUT_DEFAULT_MS,
    when: when ?? null,
    cache:
      kept === undefined
        ? null
        : { keys: [kept.key].flat(), lifetime: kept.ttl, entriesMax: kept.maxEntries ?? CACHE_ENTRIES_DEFAULT }
  }
}

const lower = (headers: readonly string[]): readonly string[] => headers.map((name) => name.toLowerCase())

// --- the resource ---

const grpcCheck = () =>
  z
    .strictObject({
      contextExtensions: entries(z.string()).optional(),
      requestMetadata: expressions().optional(),
      allowedRequestHeaders: names().optional()
    })
    .transform(
      ({ contextExtensions = {}, requestMetadata = null, allowedRequestHeaders }): GrpcCheck => ({
        kind: 'grpc',
        contextExtensions,
        requestMetadata,
        allowedRequestHeaders: allowedRequestHeaders === undefined ? null : lower(allowedRequestHeaders)
      })
    )

const httpCheck = () =>
  z
    .strictObject({
      path: text().optional(),
      redirect: text().optional(),
      allowedRequestHeaders: names().optional(),
      addRequestHeaders: fields().optional(),
      body: bodyText(),
      allowedResponseHeaders: names().optional(),
      responseMetadata: answerExpressions().optional()
    })
    .transform(
      ({
        path,
        redirect,
        allowedRequestHeaders,
        addRequestHeaders,
        body,
        allowedResponseHeaders,
        responseMetadata
      }): HttpCheck => ({
        kind: 'http',
        path: path ?? null,
        redirect: redirect ?? null,
        allowedRequestHeaders: lower(allowedRequestHeaders ?? ['authorization']),
        ...requestParts(addRequestHeaders, body),
        allowedResponseHeaders: lower(allowedResponseHeaders ?? []),
        responseMetadata: responseMetadata ?? {}
      })
    )

export const schema = deferred(() =>
  oneOf(
    { grpc: grpcCheck().optional(), http: httpCheck().optional() },
    { ...serviceFields, ...bodyFields, ...commonFields }
  )
    .check(namesService())
    .transform(
      (input): ExtAuthConfig => ({
        service: serviceOf(input),
        check: input.grpc ?? input.http!,
        forwardBody:
          input.forwardBody === undefined
            ? null
            : { bytesMax: input.forwardBody.maxSize, asBytes: input.forwardBody.packAsBytes ?? false },
        ...commonOf(input)
      })
    )
)

// --- the closest peer's file ---

const peerGrpc = () => z.strictObject({ context: entries(z.string()).optional(), metadata: expressions().optional() })
const peerHttp = () =>
  z.strictObject({
    path: text().optional(),
    redirect: text().optional(),
    includeResponseHeaders: names().optional(),
    addRequestHeaders: fields().optional(),
    body: bodyText(),
    metadata: answerExpressions().optional()
  })

/** As extAuthz of agentgateway's file. */
export const aliasSchema = deferred(() =>
  z
    .strictObject({
      ...serviceFields,
      ...commonFields,
      protocol: oneOf({ grpc: peerGrpc().optional(), http: peerHttp().optional() }).optional(),
      includeRequestHeaders: names().optional(),
      includeRequestBody: z
        .strictObject({
          maxRequestBytes: whole(1, Number.MAX_SAFE_INTEGER),
          allowPartialMessage: refused(
            "'allowPartialMessage'",
            'the service gets a whole body, or the request is refused with 413'
          ),
          packAsBytes: z.boolean().optional()
        })
        .optional()
    })
    .check(namesService())
    .transform((input): ExtAuthConfig => {
      const { protocol, includeRequestHeaders, includeRequestBody: body } = input
      return {
        service: serviceOf(input),
        check: peerCheck(protocol, includeRequestHeaders),
        forwardBody: body === undefined ? null : { bytesMax: body.maxRequestBytes, asBytes: body.packAsBytes ?? false },
        ...commonOf(input)
      }
    })
)

interface PeerProtocol {
  readonly grpc?: z.output<ReturnType<typeof peerGrpc>> | undefined
  readonly http?: z.output<ReturnType<typeof peerHttp>> | undefined
}

function peerCheck({ grpc, http }: PeerProtocol = {}, headers?: readonly string[]): GrpcCheck | HttpCheck {
  if (http === undefined) {
    return {
      kind: 'grpc',
      contextExtensions: grpc?.context ?? {},
      requestMetadata: grpc?.metadata ?? null,
      allowedRequestHeaders: headers === undefined ? null : lower(headers)
    }
  }
  return {
    kind: 'http',
    path: http.path ?? null,
    redirect: http.redirect ?? null,
    allowedRequestHeaders: lower(headers ?? ['authorization']),
    ...requestParts(http.addRequestHeaders, http.body),
    allowedResponseHeaders: lower(http.includeResponseHeaders ?? []),
    responseMetadata: http.metadata ?? {}
  }
}
