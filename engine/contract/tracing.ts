/**
 * Traces: what the policy `tracing` compiles to, and what the engine tells the trace of an exchange. Only an exchange
 * that is sampled has a trace, in a slot; that is decided before anything is made for it.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { PropagatorName } from '#engine/http/propagation/propagators.ts'
import type { FieldSink } from './access-log.ts'
import type { Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { McpItem } from './mcp-use.ts'
import type { OtlpPlan } from './otlp.ts'
import type { ServiceResult } from './service.ts'
import { Slot } from './slot.ts'

/** A share of what could be sampled: 0..1. */
export type Sampling = (ex: Exchange) => number

export interface TracingPlan extends OtlpPlan {
  /** In the order in which they are looked for; all of them are sent. */
  readonly propagators: readonly PropagatorName[]
  /** Of requests that are part of no trace; null: none. */
  readonly randomSampling: Sampling | null
  /** Of requests in traces that their callers sample; null: all. */
  readonly clientSampling: Sampling | null
  /** Spans go to Langfuse itself, which reads some names of its own. */
  readonly isForLangfuse: boolean
  /** Default attributes that are left out. */
  readonly skip: ReadonlySet<string>
  /** Adds the configured attributes of a request's span; returns how many failed. Null: there are none. */
  readonly attributes: ((ex: Exchange, into: FieldSink) => number) | null
  /** As AccessLogPlan.elsewhere. */
  readonly elsewhere: ((ex: Exchange) => Promise<{ readonly attributes: TracingPlan['attributes'] }> | null) | null
  /** As in AccessLogPlan. */
  readonly readsAnswers: boolean
  readonly readsRequests: boolean
  readonly readsTimes: boolean
  /** It reads why a target of a model was drawn: llm.routing. */
  readonly readsRouting: boolean
}

/** Decides which exchanges have a trace. */
export interface Tracer {
  /** A request has come, and has its listener if there is one. Sets TRACE if it is sampled. */
  begin(ex: Exchange): void
  /** Sends what has been gathered. */
  flush(): void
}

/** A JSON-RPC request or notification to an MCP server, or of one. */
export interface SentMessage {
  readonly method: string
  /** '': it is a notification. */
  readonly requestId: string
  /** What it names, if it names something. */
  readonly item: Pick<McpItem, 'kind' | 'name'> | null
  /** Name of the target. */
  readonly target: string
}

/** The span of one of them. */
export interface MessageSpan {
  readonly spanId: string
  /** Of its trace; '' for none. */
  readonly tracestate: string
  /** Replaces the headers of its exchange by its own. */
  inject(headers: HeaderBlock): void
  /** It has its answer. `errorType`: undefined when that is no error. */
  end(errorType: string | undefined): void
}

/** The trace context that a message has of its own, whatever carries it. */
export interface MessageContext extends TraceIds {
  readonly isSampled: boolean
  readonly isRandom: boolean
  /** '' for none. */
  readonly tracestate: string
}

/** Hex digits: 32 and 16. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** Is told of the attempts of one exchange. */
export interface AttemptObserver {
  /** It is about to be sent: its head gets the headers of the span that begins, if one does. */
  sending(ex: Exchange, endpoint: Endpoint): void
  /** The head of its answer is there, with a final status. */
  answered(status: number): void
  /** What was sent is given up for another attempt: because of `code`, or for its answer (null). */
  retrying(ex: Exchange, code: ErrorCode | null): void
}

/** The trace of one exchange: of a client, or of the gateway's own (contract/in-process.ts). */
export interface ExchangeTrace extends TraceIds, AttemptObserver {
  /** Headers of the exchange's own span: for copies and messages that have none. Those of attempts replace them. */
  inject(headers: HeaderBlock): void
  /** The exchange is over. */
  over(ex: Exchange): void
  /** The trace of a request that the gateway makes for `ex`, this exchange. */
  child(ex: Exchange): ExchangeTrace
  /** The message of this exchange belongs to a span of its sender: spans about it go on from there. */
  joinMessage(context: MessageContext): void
  /** A message goes to an MCP server for `ex`, this exchange, over whatever carries it. */
  message(ex: Exchange, message: SentMessage): MessageSpan
  /**
   * A message of an MCP server goes to the client of `ex`, this exchange. `context`: the one that it has brought; null:
   * none. `request`: the request to the server that it belongs to; null: it came on a stream of its own.
   */
  serverMessage(
    ex: Exchange,
    message: SentMessage,
    context: MessageContext | null,
    request: MessageSpan | null
  ): MessageSpan
}

export const TRACE = new Slot<ExchangeTrace>()

/** One of several backends that share exchanges out. */
export interface SharingBackend {
  readonly name: string
  readonly weight: number
  /** False while it cannot be reached. */
  readonly isUsable: () => boolean
}

/** Is told what one exchange causes beside its attempts as well. */
export interface ExchangeObserver extends AttemptObserver {
  /** `drawn` of `all` is to serve it. */
  backendDrawn(all: readonly SharingBackend[], drawn: SharingBackend): void
  /** A service is asked for it. What is returned is called once, when that is over. */
  calling(service: string, method: string, path: string): (result: ServiceResult) => void
}

/** Of an exchange that is followed (engine/story), whether it has a trace or not. */
export const FOLLOWED = new Slot<ExchangeObserver>()

// For exchanges that have slots at all.

export function attemptSending(ex: Exchange, endpoint: Endpoint): void {
  TRACE.get(ex)?.sending(ex, endpoint)
  FOLLOWED.get(ex)?.sending(ex, endpoint)
}

export function attemptAnswered(ex: Exchange): void {
  TRACE.get(ex)?.answered(ex.status)
  FOLLOWED.get(ex)?.answered(ex.status)
}

export function attemptRetrying(ex: Exchange, code: ErrorCode | null): void {
  TRACE.get(ex)?.retrying(ex, code)
  FOLLOWED.get(ex)?.retrying(ex, code)
}
