/** What expressions may read of an exchange, at each place where they run. */

import { performance } from 'node:perf_hooks'
import { BODY_NONE, type BodyKind, type ClientStream, type Exchange } from '#engine/contract/exchange.ts'
import type { Identity } from '#engine/contract/identity.ts'
import { type McpItem, mcpErrorType } from '#engine/contract/mcp-use.ts'
import { MODEL_ROUTING, type ModelRouting } from '#engine/contract/model-routing.ts'
import { firstTokenMs, perTokenMs } from '#engine/contract/model-use.ts'
import { requestIdOf } from '#engine/contract/request-id.ts'
import type { ListenerParts, Route } from '#engine/contract/route.ts'
import { Slot } from '#engine/contract/slot.ts'
import { TRACE, type TraceIds } from '#engine/contract/tracing.ts'
import { schemeOf } from '#engine/contract/transport.ts'
import { hostOf } from '#engine/http/authority.ts'
import { decodedPath } from '#engine/http/path.ts'
import { secret } from '#engine/kit/secret.ts'
import { costFacts, rateFacts } from './cost-facts.ts'
import { HeaderFields } from './headers.ts'
import type { Roots, TextForm, Variable } from './roots.ts'
import { CERTIFICATE_READERS, hasIdentity, IDENTITY_READERS } from './source.ts'
import { Duration, Timestamp, type Value } from './values.ts'
import { VARIABLES } from './variables.ts'

/** What expressions have noted under names of their own (policy `transformation`), as JSON. */
export const METADATA = new Slot<Record<string, unknown>>()

/** What the authorization service has answered (policy `extAuth`), as JSON. */
export const EXT_AUTHZ = new Slot<Readonly<Record<string, unknown>>>()
/** The same of the processing service (policy `extProc`). */
export const EXT_PROC = new Slot<Readonly<Record<string, unknown>>>()

/** The part of an exchange that expressions can read: what offload.ts takes to another thread. */
export type Facts = Pick<
  Exchange,
  | 'method'
  | 'authority'
  | 'originalPath'
  | 'rawPath'
  | 'query'
  | 'request'
  | 'requestBody'
  | 'requestBytes'
  | 'status'
  | 'response'
  | 'responseBody'
  | 'responseBytes'
  | 'requestPrefix'
  | 'responsePrefix'
  | 'grpcStatus'
  | 'slots'
  | 'backend'
  | 'backendType'
  | 'llm'
  | 'mcp'
  | 'startedAt'
  | 'firstByteAt'
  | 'servedAt'
  | 'respondedAt'
> & {
  readonly identity: Omit<Identity, 'credentials'> | null
  readonly client: Pick<
    ClientStream,
    'remoteAddress' | 'remotePort' | 'localAddress' | 'localPort' | 'httpVersion' | 'tls'
  >
  readonly listener: Pick<ListenerParts, 'name' | 'port' | 'requestId'> | null
  readonly route: Pick<Route, 'name' | 'rule'> | null
  /** In another thread, where the trace itself is not. */
  readonly traceIds?: TraceIds | null
  readonly routing?: ModelRouting | null
}

/** Null: the exchange is not traced. */
export const traceIdsOf = (ex: Facts): TraceIds | null => ex.traceIds ?? TRACE.get(ex)

/** Null: no target of a model was drawn, or nobody asks why one was. */
export const routingOf = (ex: Facts): ModelRouting | null => ex.routing ?? MODEL_ROUTING.get(ex)

type Reader = (ex: Facts) => unknown
type Readers = Readonly<Record<string, Reader | Variable<Facts>>>

/** The variable with those of its known fields that can be read here; asking for another is a mistake. */
function offer(name: string, readers: Readers): Variable<Facts> {
  const known = VARIABLES[name]!.fields!
  const fields = Object.entries(readers).map(([field, reader]): [string, Variable<Facts>] => [
    field,
    typeof reader === 'function' ? { type: known[field]!.type, read: reader } : reader
  ])
  return { type: 'map', read: (ex) => ex, fields: Object.fromEntries(fields) }
}

/** A variable with any fields, which is not there as long as its policy has not found it. */
function open(read: (ex: Facts) => object | null | undefined, fields: Variable<Facts>['fields'] = {}): Variable<Facts> {
  return { type: 'map', read: (ex) => read(ex) ?? undefined, fields, isOpen: true }
}

/** What prints as <redacted> and must be asked for by `.unredacted()`. */
function credential(read: (ex: Facts) => string | null | undefined): Variable<Facts> {
  return {
    type: 'dyn',
    read: (ex) => {
      const text = read(ex) ?? null
      return text === null ? undefined : secret(text)
    }
  }
}

const NANOS_PER_MS = 1_000_000

/** Wall-clock time of a reading of performance.now(). */
function timestamp(ms: number): Timestamp {
  return new Timestamp(BigInt(Math.round((performance.timeOrigin + ms) * 1_000)) * 1_000n)
}

function duration(fromMs: number, toMs: number): Duration {
  return new Duration(BigInt(Math.round((toMs - fromMs) * NANOS_PER_MS)))
}

/** A body as text when it is UTF-8, else as bytes; '' without a body. Undefined: not collected. */
function bodyOf(bytes: Buffer | null, kind: BodyKind): Value | undefined {
  if (bytes === null) return kind === BODY_NONE ? '' : undefined
  const text = bytes.toString('utf8')
  return text.includes('\ufffd') ? bytes : text
}

const uri = (ex: Facts) => `${schemeOf(ex.client)}://${ex.authority}${ex.originalPath}${ex.query}`

const DECODED: TextForm = {
  of: decodedPath,
  what: 'request.path is decoded, and this is written encoded',
  instead: 'request.rawPath is what was sent'
}

const request: Readers = {
  id: (ex) => requestIdOf(ex),
  method: (ex) => ex.method,
  uri,
  host: (ex) => ex.authority,
  hostname: (ex) => hostOf(ex.authority),
  scheme: (ex) => schemeOf(ex.client),
  path: { type: 'string', read: (ex) => decodedPath(ex.originalPath), form: DECODED },
  rawPath: (ex) => ex.rawPath,
  pathAndQuery: (ex) => ex.originalPath + ex.query,
  version: (ex) => `HTTP/${ex.client.httpVersion}`,
  headers: (ex) => new HeaderFields(ex.request),
  body: (ex) => bodyOf(ex.requestBytes, ex.requestBody),
  bodyPrefix: (ex) => bodyOf(ex.requestBytes ?? ex.requestPrefix, ex.requestBody),
  startTime: (ex) => timestamp(ex.startedAt)
}

const name = (read: Reader): Variable<Facts> => ({
  type: 'map',
  read: (ex) => ex,
  fields: { name: { type: 'string', read } }
})

/** There is one as long as the exchange is traced. */
const ids = (of: 'trace' | 'span', read: Reader): Variable<Facts> => ({
  ...VARIABLES[of]!,
  read: (ex) => traceIdsOf(ex) ?? undefined,
  fields: { id: { type: 'string', read } }
})

const proxy: Readers = {
  bind: (ex) => (ex.listener === null ? undefined : `bind/${ex.listener.port}`),
  listener: name((ex) => ex.listener?.name),
  route: {
    type: 'map',
    read: (ex) => ex,
    fields: {
      name: { type: 'string', read: (ex) => ex.route?.name },
      rule: { type: 'string', read: (ex) => ex.route?.rule || undefined }
    }
  }
}

/** When the response head is there; absent for a local reply made before any upstream attempt. */
const proxyAnswered: Readers = {
  ...proxy,
  requestProcessingDuration: (ex) => between(ex.startedAt, ex.servedAt),
  upstreamDuration: (ex) => between(ex.servedAt, ex.firstByteAt)
}

/** Undefined where one of the two has not happened: they are 0 then. */
function between(from: number, to: number): Duration | undefined {
  return from === 0 || to === 0 ? undefined : duration(from, Math.max(from, to))
}

const backend: Readers = {
  name: (ex) => ex.backend ?? undefined,
  type: (ex) => ex.backendType?.kind,
  protocol: (ex) => ex.backendType?.protocol
}

/** What stands in the facts under the same name. */
const MODEL_FIELDS = [
  ...(['streaming', 'requestModel', 'responseModel', 'provider'] as const),
  ...(['inputTokens', 'outputTokens', 'totalTokens'] as const),
  ...(['cachedInputTokens', 'cacheCreationInputTokens', 'reasoningTokens'] as const),
  ...(['inputAudioTokens', 'inputImageTokens', 'outputAudioTokens', 'outputImageTokens'] as const)
]

const llm: Readers = {
  ...Object.fromEntries(MODEL_FIELDS.map((field): [string, Reader] => [field, (ex) => ex.llm?.[field]])),
  cost: (ex) => (ex.llm === null ? undefined : costFacts(ex.llm)),
  costRates: (ex) => (ex.llm === null ? undefined : rateFacts(ex.llm)),
  serviceTier: (ex) => ex.llm?.serviceTier ?? ex.llm?.content?.serviceTier(),
  prompt: (ex) => ex.llm?.content?.prompt(),
  completion: (ex) => ex.llm?.content?.completion(),
  toolCalls: (ex) => ex.llm?.content?.toolCalls(),
  params: (ex) => ex.llm?.content?.params(),
  routing: { ...VARIABLES.llm!.fields!.routing!, read: (ex) => routingOf(ex) ?? undefined }
}

const item = (kind: McpItem['kind']): Variable<Facts> => ({
  ...VARIABLES.mcp!.fields![kind]!,
  read: (ex) => (ex.mcp?.item?.kind === kind ? ex.mcp.item : undefined),
  fields: ITEM_FIELDS
})

/** Properties of McpItem. */
const ITEM_FIELDS: NonNullable<Variable<Facts>['fields']> = {
  target: { type: 'string' },
  name: { type: 'string' },
  arguments: { type: 'dyn' }
}

/** What a request asks of MCP servers, as far as it has been read. */
const mcp: Readers = {
  tool: item('tool'),
  prompt: item('prompt'),
  resource: item('resource'),
  task: item('task'),
  method: item('method'),
  methodName: (ex) => ex.mcp?.method,
  sessionId: (ex) => ex.mcp?.sessionId,
  protocolVersion: (ex) => ex.mcp?.protocolVersion,
  target: (ex) => ex.mcp?.item?.target ?? ex.mcp?.target
}

/** When the answer is over, with the times of a streamed one. */
const llmAtLast: Readers = {
  ...llm,
  timeToFirstToken: (ex) => span(ex.llm === null ? undefined : firstTokenMs(ex.llm, ex.startedAt)),
  timePerOutputToken: (ex) => span(ex.llm === null ? undefined : perTokenMs(ex.llm))
}

const span = (ms: number | undefined): Duration | undefined => (ms === undefined ? undefined : duration(0, ms))

const ENVIRONMENT = {
  podName: process.env.POD_NAME,
  namespace: process.env.NAMESPACE,
  gateway: process.env.GATEWAY
}

/** Before a backend is chosen: authorization, rate limits, transformation of requests. */
export const REQUEST_ROOTS: Roots<Facts> = {
  request: offer('request', request),
  // Nothing stands between the connection and the client that could tell another address.
  source: offer('source', {
    address: (ex) => ex.client.remoteAddress,
    port: (ex) => ex.client.remotePort,
    rawAddress: (ex) => ex.client.remoteAddress,
    rawPort: (ex) => ex.client.remotePort,
    ...CERTIFICATE_READERS,
    identity: {
      ...VARIABLES.source!.fields!.identity!,
      read: (ex) => (hasIdentity(ex) ? ex : undefined),
      fields: Object.fromEntries(
        Object.entries(IDENTITY_READERS).map(([field, read]): [string, Variable<Facts>] => [
          field,
          { type: 'string', read }
        ])
      )
    }
  }),
  destination: offer('destination', {
    address: (ex) => ex.client.localAddress || undefined,
    port: (ex) => ex.client.localPort,
    hostname: (ex) => ex.client.tls?.serverName || undefined
  }),
  // Claims and metadata are shared by many requests: what is of this one stands beside them.
  jwt: open(({ identity }) => identity?.jwt, { rawToken: credential(({ identity }) => identity?.rawToken) }),
  apiKey: open(({ identity }) => identity?.apiKey, { key: credential(({ identity }) => identity?.rawKey) }),
  basicAuth: { ...VARIABLES.basicAuth!, read: ({ identity }) => identity?.basicAuth ?? undefined },
  extauthz: open((ex) => EXT_AUTHZ.get(ex)),
  extproc: open((ex) => EXT_PROC.get(ex)),
  metadata: open((ex) => METADATA.get(ex)),
  proxy: offer('proxy', proxy),
  trace: ids('trace', (ex) => traceIdsOf(ex)?.traceId),
  span: ids('span', (ex) => traceIdsOf(ex)?.spanId),
  env: { ...VARIABLES.env!, read: () => ENVIRONMENT }
}

const { body: _, bodyPrefix: __, ...withoutBody } = request

/** As REQUEST_ROOTS, where no body is waited for. */
export const REQUEST_HEAD_ROOTS: Roots<Facts> = { ...REQUEST_ROOTS, request: offer('request', withoutBody) }

/** Rules about what MCP servers offer: they run for every item of a list, when the message has been read. */
export const MCP_ROOTS: Roots<Facts> = {
  ...REQUEST_ROOTS,
  request: offer('request', withoutBody),
  mcp: offer('mcp', mcp)
}

const responseHead: Readers = {
  code: (ex) => ex.status,
  grpcStatus: (ex) => (ex.grpcStatus < 0 ? undefined : ex.grpcStatus),
  headers: (ex) => (ex.response === null ? undefined : new HeaderFields(ex.response))
}

/** When the response's head is there. */
export const RESPONSE_ROOTS: Roots<Facts> = {
  ...REQUEST_ROOTS,
  response: offer('response', {
    ...responseHead,
    body: (ex) => (ex.response === null ? undefined : bodyOf(ex.responseBytes, ex.responseBody)),
    bodyPrefix: (ex) =>
      ex.response === null ? undefined : bodyOf(ex.responseBytes ?? ex.responsePrefix, ex.responseBody)
  }),
  proxy: offer('proxy', proxyAnswered),
  backend: offer('backend', backend),
  llm: offer('llm', llm),
  mcp: offer('mcp', { ...mcp, errorType: (ex) => (ex.mcp === null ? undefined : mcpErrorType(ex.mcp)) }),
  llmRequest: open((ex) => ex.llm?.content?.request() ?? null)
}

/** As RESPONSE_ROOTS, where no body is waited for. */
export const RESPONSE_HEAD_ROOTS: Roots<Facts> = {
  ...RESPONSE_ROOTS,
  request: offer('request', withoutBody),
  response: offer('response', responseHead)
}

/** When the exchange is over. */
export const LOG_ROOTS: Roots<Facts> = {
  ...RESPONSE_ROOTS,
  request: offer('request', { ...request, endTime: () => timestamp(performance.now()) }),
  llm: offer('llm', llmAtLast),
  proxy: offer('proxy', {
    ...proxyAnswered,
    responseProcessingDuration: (ex) => between(ex.firstByteAt, ex.respondedAt)
  })
}
