/** `frontendPolicies`: how connections of clients are treated (docs/specification.md#frontend-policies). */

import type { Policy, Sources } from '#engine/contract/policy.ts'
import { REQUEST_ID_DEFAULTS } from '#engine/contract/request-id.ts'
import { PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import type { FrontendSettings, PolicySet } from '#engine/ir/snapshot.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration, positiveDuration } from '#engine/schema/duration.ts'
import { fieldName } from '#engine/schema/http.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { cel } from '#engine/schema/rule.ts'
import { refused, refusedKeys, whole, type ZodType, z } from '#engine/schema/schema.ts'
import { describedInResources, filledIn, onlyInFiles } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'
import { frontendTlsSchema, translateFrontendTls } from './tls/schema.ts'

const KIB = 1024
const BYTES_MAX = Number.MAX_SAFE_INTEGER

/** What holds where a configuration says nothing (docs/specification.md#frontend-policies). */
export const HTTP_DEFAULTS = {
  maxBufferSize: 2 * KIB * KIB,
  http1MaxHeaders: 100,
  http1IdleTimeout: 600_000,
  http1HeaderTimeout: 30_000,
  bodyTimeout: 60_000,
  sendTimeout: 60_000,
  maxHeaderSize: 48 * KIB,
  maxUriSize: 16 * KIB,
  maxRequestBodySize: 0
}
type ProxyProtocol = NonNullable<FrontendSettings['proxyProtocol']>
const PROXY_DEFAULTS: ProxyProtocol = { version: 'v2', mode: 'strict' }
const KEEPALIVE_DEFAULTS = { time: 180_000 }

const NOT_HERE = ['connect', 'networkAuthorization', 'networkExtAuthz']
const HTTP_NOT_HERE = ['http1HeaderCase', 'http2MaxHeaderSize', 'maxConnectionDuration']

const HTTP2_DEFAULTS = PROTOCOL_DEFAULTS.http2
/** Largest window (RFC 9113 section 6.9.1). */
const WINDOW_MAX = 0x7fffffff

const timeout = (key: 'http1IdleTimeout' | 'http1HeaderTimeout' | 'bodyTimeout' | 'sendTimeout', what: string) =>
  positiveDuration('must be longer than 0')
    .optional()
    .describe(`${what} Default ${HTTP_DEFAULTS[key] / 1000}s.`)

const requestIdSchema = atLeastOne({
  header: fieldName().optional().describe('The field that carries the id. Default x-request-id.'),
  acceptFromClient: z
    .boolean()
    .optional()
    .describe('Whether an id of the client is kept: 1 to 128 letters, digits, "_", ".", ":" and "-". Default true.'),
  sendToBackend: z
    .boolean()
    .optional()
    .describe('Whether backends get the field. Default false: as the client sent it.'),
  sendToClient: z.boolean().optional().describe('Whether every answer has the field. Default false: only refusals.')
})

const httpSchema = atLeastOne({
  maxBufferSize: whole(1, BYTES_MAX)
    .optional()
    .describe('Bytes of a body that policies may hold back to look at it. Default 2097152 (2 MiB).'),
  http1MaxHeaders: whole(1, 4096).optional().describe('Header fields of a request. Default 100.'),
  http1IdleTimeout: timeout('http1IdleTimeout', 'How long a connection may wait for its next request.'),
  http1HeaderTimeout: timeout('http1HeaderTimeout', 'From the first byte of a request head to its end.'),
  bodyTimeout: timeout('bodyTimeout', 'Longest pause between two pieces of a request body.'),
  sendTimeout: timeout(
    'sendTimeout',
    'Longest time without progress while a client does not read its response, or a backend a request body.'
  ),
  maxHeaderSize: whole(KIB, 60 * KIB)
    .optional()
    .describe('Bytes of a request head. Default 49152 (48 KiB).'),
  maxUriSize: whole(1, 60 * KIB)
    .optional()
    .describe('Bytes of a request target; at most maxHeaderSize. Default 16384 (16 KiB).'),
  maxRequestBodySize: whole(0, BYTES_MAX).optional().describe('Bytes of a request body; 0 is no limit. Default 0.'),
  http2WindowSize: whole(1, WINDOW_MAX)
    .optional()
    .describe('Bytes of a request body on one HTTP/2 stream that may be under way. Default 262144 (256 KiB).'),
  http2ConnectionWindowSize: whole(1, WINDOW_MAX)
    .optional()
    .describe('Bytes of all request bodies on one HTTP/2 connection that may be under way. Default 1048576 (1 MiB).'),
  http2FrameSize: whole(16_384, 1_677_215)
    .optional()
    .describe('Bytes of the largest HTTP/2 frame that a client may send. Default 16384 (16 KiB).'),
  http2KeepaliveInterval: duration()
    .optional()
    .describe('Silence on an HTTP/2 connection before a PING is sent; 0s sends none. Default 0s.'),
  http2KeepaliveTimeout: positiveDuration('must be longer than 0')
    .optional()
    .describe('How long the client may take to answer it. Default 20s.'),
  requestId: requestIdSchema.optional().describe('The id of a request, in the log and towards others.'),
  ...refusedKeys('frontend setting', HTTP_NOT_HERE)
})

/** Node lets a program set the idle time only; retries and interval are refused, not ignored. */
const keepaliveSchema = z.strictObject({
  time: filledIn(
    duration().refine((ms) => ms === 0 || ms >= 1000, {
      error: 'must be 0s or at least 1s, the unit of TCP keepalive',
      params: cel("duration(self) == duration('0s') || duration(self) >= duration('1s')")
    }),
    '180s'
  )
    .optional()
    .describe('Idle time before the first probe; 0s sends none. Default 180s.'),
  ...refusedKeys('frontend setting', ['enabled', 'retries', 'interval'])
})

/** Idle time before TCP probes as it will be in force; undefined when it is wrong. */
export function keepaliveTime(input: Record<string, unknown>): number | undefined {
  const result = keepaliveSchema.shape.time.safeParse(input.time)
  return result.success ? (result.data ?? KEEPALIVE_DEFAULTS.time) : undefined
}

/** Reference: version v2 and mode strict. */
const proxyProtocolSchema = z.strictObject({
  version: z.enum(['v1', 'v2', 'all']).optional().describe('Versions that are accepted. Default v2.'),
  mode: z
    .enum(['strict', 'optional'])
    .optional()
    .describe('strict: no header, no connection. optional: clients that nobody speaks for come too. Default strict.')
})

const base = z.strictObject({
  proxyProtocol: proxyProtocolSchema
    .optional()
    .describe('Connections begin with a PROXY header that names the client behind a proxy.'),
  http: httpSchema.optional().describe('HTTP connections of clients.'),
  tcp: z
    .strictObject({
      keepalives: onlyInFiles(keepaliveSchema.optional()).describe('TCP keepalive probes.'),
      keepalive: describedInResources(keepaliveSchema.optional(), 'TCP keepalive probes.').describe(
        'Another name of keepalives.'
      ),
      idleTimeout: duration()
        .refine((ms) => ms >= 1000, {
          error: 'must be at least 1s',
          params: cel("duration(self) >= duration('1s')")
        })
        .optional()
        .describe('How long a connection that is passed on unread may say nothing, either way. Default 1h.')
    })
    .refine(
      ({ keepalives, keepalive, idleTimeout }) =>
        (keepalives === undefined) !== (keepalive === undefined) ||
        (idleTimeout !== undefined && keepalives === undefined),
      {
        when: sound(),
        // Resources have no keepalives.
        error: ({ input }) =>
          objectOf(input).keepalives === undefined
            ? 'must have at least one of keepalive, idleTimeout'
            : 'must have exactly one of keepalives, keepalive',
        params: cel('has(self.keepalive) || has(self.idleTimeout)', {
          message: 'must have at least one of keepalive, idleTimeout'
        })
      }
    )
    .optional()
    .describe('TCP connections of clients.'),
  tls: frontendTlsSchema.optional().describe('TLS towards clients, for all listeners that have it.')
})

/** The settings above, and the frontend policies of the registry. */
export function frontendSchema(policies: readonly Policy[]) {
  const shape: Record<string, ZodType> = {}
  for (const { name, schema, section } of policies) if (section === 'frontend') shape[name] = schema.optional()
  for (const name of NOT_HERE) shape[name] ??= refused(`frontend policy '${name}'`)
  return base.safeExtend(shape)
}

type Values = Readonly<Record<string, unknown>>

/** Validated `frontendPolicies` and `config` -> the policies of the registry in them, with what they refer to. */
export function frontendPolicies(
  input: Values | undefined,
  config: Values | undefined,
  policies: readonly Policy[],
  sources: Sources
): PolicySet {
  const out: Record<string, unknown> = {}
  for (const { name, section, inConfig, resolve } of policies) {
    if (section !== 'frontend') continue
    const value = input?.[name] ?? (inConfig === undefined ? undefined : config?.[name])
    if (value !== undefined) out[name] = resolve === undefined ? value : resolve(value as never, sources)
  }
  return out
}

export type HttpSetting = keyof typeof HTTP_DEFAULTS

/** One setting as it will be in force, whatever is wrong elsewhere; undefined when the setting itself is wrong. */
export function httpSetting(input: Record<string, unknown>, key: HttpSetting): number | undefined {
  const result = httpSchema.shape[key].safeParse(input[key])
  return result.success ? (result.data ?? HTTP_DEFAULTS[key]) : undefined
}

export function translateFrontend(input: z.output<typeof base> | undefined): FrontendSettings {
  const http = over(HTTP_DEFAULTS, input?.http)
  const keepalive = over(KEEPALIVE_DEFAULTS, input?.tcp?.keepalives ?? input?.tcp?.keepalive)
  const idle = input?.tcp?.idleTimeout === undefined ? {} : { idleTimeoutMs: input.tcp.idleTimeout }
  const proxyProtocol = input?.proxyProtocol
  const requestId = input?.http?.requestId
  return {
    http: {
      maxBufferBytes: http.maxBufferSize,
      headersMax: http.http1MaxHeaders,
      idleTimeoutMs: http.http1IdleTimeout,
      headTimeoutMs: http.http1HeaderTimeout,
      bodyTimeoutMs: http.bodyTimeout,
      sendTimeoutMs: http.sendTimeout,
      headBytesMax: http.maxHeaderSize,
      uriBytesMax: http.maxUriSize,
      bodyBytesMax: http.maxRequestBodySize,
      ...(requestId === undefined ? {} : { requestId: over(REQUEST_ID_DEFAULTS, requestId) })
    },
    ...PROTOCOL_DEFAULTS,
    tcp: { keepalive: { timeMs: keepalive.time }, ...idle },
    proxyProtocol: proxyProtocol === undefined ? null : over<ProxyProtocol>(PROXY_DEFAULTS, proxyProtocol),
    tls: translateFrontendTls(input?.tls),
    http2: {
      windowBytes: input?.http?.http2WindowSize ?? HTTP2_DEFAULTS.windowBytes,
      connectionWindowBytes: input?.http?.http2ConnectionWindowSize ?? HTTP2_DEFAULTS.connectionWindowBytes,
      frameBytesMax: input?.http?.http2FrameSize ?? HTTP2_DEFAULTS.frameBytesMax,
      pingIntervalMs: input?.http?.http2KeepaliveInterval ?? HTTP2_DEFAULTS.pingIntervalMs,
      pingTimeoutMs: input?.http?.http2KeepaliveTimeout ?? HTTP2_DEFAULTS.pingTimeoutMs
    }
  }
}

/** The given values, and the defaults for the others. What is left out is absent, not undefined. */
function over<T extends object>(defaults: T, settings: { readonly [K in keyof T]?: unknown } | undefined): T {
  return { ...defaults, ...(settings as Partial<T> | undefined) }
}
