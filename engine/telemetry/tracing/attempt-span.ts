/** The span of one attempt to have a request served by somebody else: HTTP conventions for clients, gRPC, models. */
import { detailOf } from '#engine/contract/detail.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { KeptContent } from '#engine/contract/kept-content.ts'
import type { ModelUse } from '#engine/contract/model-use.ts'
import type { TracingPlan } from '#engine/contract/tracing.ts'
import { isGrpc } from '#engine/http/grpc.ts'
import {
  type Attribute,
  compileAttributes,
  compileStableAttributes,
  encodeAttributes
} from '#engine/telemetry/otlp/attributes.ts'
import { CALLER_ATTRIBUTES, hasKey } from './caller-attributes.ts'
import { writeContent } from './content-attributes.ts'
import { LANGFUSE_ATTRIBUTES, LANGFUSE_MODEL_ATTRIBUTES } from './langfuse.ts'
import { MODEL_ATTRIBUTES, MODEL_CALL_ATTRIBUTES, modelSpanName, ROUTING_ATTRIBUTES } from './model-attributes.ts'
import { rpcStatus } from './rpc-status.ts'
import { methodOf } from './server-span.ts'
import { SPAN_ATTRIBUTES, SPAN_CLIENT, type SpanIds, type SpanTimes, type SpanWriter } from './span-writer.ts'

/** One attempt that is over. */
export interface Attempt {
  readonly ex: Exchange
  readonly endpoint: Endpoint
  /** How many were made before it. */
  readonly resends: number
  /** Status of the answer; 0: there was none. */
  readonly status: number
  /** Why it has failed; null: by its status alone, or not at all. */
  readonly error: ErrorCode | null
}

const ATTRIBUTES: readonly Attribute<Attempt>[] = [['url.full', urlOf]]

const STABLE_ATTRIBUTES: readonly Attribute<Attempt>[] = [
  ['http.request.method', ({ ex }) => methodOf(ex.method)],
  ['http.request.resend_count', ({ resends }) => (resends === 0 ? undefined : resends)],
  ['http.response.status_code', ({ status }) => (status === 0 ? undefined : status)],
  ['network.peer.address', ({ ex }) => peerOf(ex.endpoint)?.address],
  ['network.peer.port', ({ ex }) => peerOf(ex.endpoint)?.port],
  ['rpc.system.name', ({ ex }) => (isRpc(ex) ? 'grpc' : undefined)],
  ['rpc.method', ({ ex }) => (isRpc(ex) ? ex.path.slice(1) : undefined)],
  ['rpc.response.status_code', ({ ex }) => rpcStatus(ex.grpcStatus)],
  ['error.type', errorType],
  ['weir.backend', ({ ex }) => ex.backend ?? undefined]
]

const isRpc = (ex: Exchange): boolean => isGrpc(ex.method, ex.request)

/** The query is left out, as in the access log: keys and tokens travel in it. */
function urlOf({ ex, endpoint }: Attempt): string {
  return `${endpoint.isTls === true ? 'https' : 'http'}://${endpoint.hostHeader}${ex.path}`
}

interface Peer {
  readonly address: string
  readonly port?: number
}

/** Of the last attempt: the next one mostly has the same. */
let last: { readonly label: string; readonly peer: Peer } = { label: '', peer: { address: '' } }

/** `label`: ip:port, or unix:path. */
function peerOf(label: string | null): Peer | null {
  if (label === null) return null
  if (last.label !== label) last = { label, peer: parsePeer(label) }
  return last.peer
}

function parsePeer(label: string): Peer {
  if (label.startsWith('unix:')) return { address: label.slice(5) }
  const colon = label.lastIndexOf(':')
  const address = label.slice(0, colon)
  return { address: address.startsWith('[') ? address.slice(1, -1) : address, port: Number(label.slice(colon + 1)) }
}

/** For a client every status from 400 on is an error, and so is every grpc-status but OK. */
function errorType({ ex, status, error }: Attempt): string | undefined {
  if (error !== null && error !== 'CLIENT_GONE' && (status === 0 || ERRORS[error].source === 'upstream')) return error
  if (ex.llm?.errorType !== undefined) return ex.llm.errorType
  if (status >= 400) return String(status)
  return ex.grpcStatus > 0 ? rpcStatus(ex.grpcStatus) : undefined
}

export class AttemptSpans {
  readonly #skip: ReadonlySet<string>
  readonly #write: (of: Attempt, out: SpanWriter) => void
  readonly #writeStable: (of: Attempt, out: SpanWriter) => void
  readonly #writeCaller: (of: Exchange, out: SpanWriter) => void
  readonly #writeModel: (of: Exchange, out: SpanWriter) => void
  /** server.address and server.port. */
  readonly #servers = new WeakMap<Endpoint, Buffer>()

  constructor({ skip, isForLangfuse }: Pick<TracingPlan, 'skip' | 'isForLangfuse'>) {
    this.#skip = skip
    const own = isForLangfuse ? [...LANGFUSE_ATTRIBUTES, ...LANGFUSE_MODEL_ATTRIBUTES] : []
    this.#writeCaller = compileStableAttributes(CALLER_ATTRIBUTES, skip)
    this.#write = compileAttributes(ATTRIBUTES, skip)
    this.#writeStable = compileStableAttributes(STABLE_ATTRIBUTES, skip)
    this.#writeModel = compileAttributes(
      [...MODEL_ATTRIBUTES, ...MODEL_CALL_ATTRIBUTES, ...ROUTING_ATTRIBUTES, ...own],
      skip
    )
  }

  /** Returns the span, valid until the next one is written. */
  write(out: SpanWriter, attempt: Attempt, ids: SpanIds, times: SpanTimes): Buffer {
    const { ex } = attempt
    out.begin(ids, nameOf(ex), SPAN_CLIENT, times)
    out.encoded(this.#serverOf(attempt.endpoint))
    this.#writeStable(attempt, out)
    this.#write(attempt, out)
    if (ex.llm !== null) {
      this.#writeModel(ex, out)
      if (hasKey(ex)) this.#writeCaller(ex, out)
    }
    if (errorType(attempt) !== undefined) out.failed(detailOf(ex) ?? '')
    return out.end()
  }

  /** To the span that was written last, or that `out` goes on with. Returns it as write does. */
  addContent(out: SpanWriter, content: KeptContent, llm: ModelUse | null): Buffer {
    writeContent(content, llm?.finishReasons, this.#skip, out)
    return out.end()
  }

  #serverOf(endpoint: Endpoint): Buffer {
    let known = this.#servers.get(endpoint)
    if (known === undefined) {
      const { address, port } = parsePeer(endpoint.name)
      const all: (readonly [string, string | number])[] = [['server.address', address]]
      if (port !== undefined) all.push(['server.port', port])
      const kept = all.filter(([name]) => !this.#skip.has(name))
      known = encodeAttributes(kept, SPAN_ATTRIBUTES)
      this.#servers.set(endpoint, known)
    }
    return known
  }
}

/** Low cardinality: what is asked of a model, the method of a service, or of HTTP. */
function nameOf(ex: Exchange): string {
  if (ex.llm !== null) return modelSpanName(ex.llm) ?? methodOf(ex.method)
  return isRpc(ex) ? ex.path.slice(1) : methodOf(ex.method)
}
