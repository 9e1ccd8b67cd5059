/**
 * Services that policies and backends ask: authorization, processing, rate limits, collectors. A service is a backend
 * of the configuration, so its own backend policies (tls, tcp, http, auth) apply. What a call costs: no promise, since
 * answers arrive by callback; a hook that waits makes the one that it returns.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { BackendAuth } from './backend-auth/auth.ts'
import type { BackendTransport } from './backend-transport/transport.ts'
import type { Exchange } from './exchange.ts'

/** How a policy names a service: engine/schema/service-ref.ts has the schema that gives it. */
export type ServiceRef = NamedService | InlineService

/** One of the backends of the configuration. */
export interface NamedService {
  readonly name: string
  /** Where the name stands in the value that was validated, for errors. */
  readonly at: readonly PropertyKey[]
}

/** A server written where the policy needs it; the fields of a static backend. */
export interface InlineService {
  readonly host: string
  readonly port: number
  readonly unixPath: string | null
  readonly transport?: BackendTransport
  readonly auth?: BackendAuth
}

/**
 * Why a call has no answer. UNAVAILABLE: no connection, or it broke. DEADLINE: the time is up. PROTOCOL: what came is
 * not HTTP, not gRPC, or not what was asked for. TOO_LARGE: the answer is longer than the caller takes. NO_ROOM: the
 * gateway keeps so much already that there is none for it. CANCELLED: the caller or its exchange is gone.
 */
export type ServiceError = 'UNAVAILABLE' | 'DEADLINE' | 'PROTOCOL' | 'TOO_LARGE' | 'NO_ROOM' | 'CANCELLED'

export interface ServiceFailure {
  readonly error: ServiceError
  /** For logs; nothing of what the service has sent. */
  readonly detail: string
}

/** What ends a call, for metrics: 'ok', 'status' (an answer with a grpc-status other than 0), or why there is none. */
export type ServiceResult = 'ok' | 'status' | ServiceError

/** Counts the calls of one policy to one service. */
export interface ServiceRecorder {
  record(result: ServiceResult, durationMs: number): void
}

export interface ServiceCall {
  /** Gives the call up: its stream is reset. A call that is not over yet ends with CANCELLED. */
  cancel(): void
}

/** What every call has. */
export interface CallBounds {
  /** Milliseconds until the last byte of the answer. 0: however long it takes, for streams. */
  readonly timeoutMs: number
  /** The call ends with this exchange; null: it serves none in particular. */
  readonly ex: Exchange | null
}

// --- HTTP ---

export interface HttpServiceRequest extends CallBounds {
  readonly method: string
  readonly path: string
  /** With its leading "?", or "". */
  readonly query: string
  /** The host is added, and the framing of the body. The block belongs to the call from now on. */
  readonly headers: HeaderBlock
  readonly body: Buffer | null
  /** Host or :authority instead of that of the service; absent: that of the service. */
  readonly authority?: string
  /** Longest answer, in bytes of its body. */
  readonly answerBytesMax: number
}

/** An answer with whatever status. */
export interface HttpServiceAnswer {
  readonly error: null
  readonly status: number
  readonly headers: HeaderBlock
  readonly body: Buffer
}

export interface HttpService {
  /** For logs and metrics. */
  readonly name: string
  /** Its backend in the configuration: deeply equal where server and policies are the same. Never shown. */
  readonly definition: unknown
  /** `done` is called exactly once, not before `request` has returned. */
  request(request: HttpServiceRequest, done: (answer: HttpServiceAnswer | ServiceFailure) => void): ServiceCall
}

// --- gRPC ---

export interface GrpcCallOptions extends CallBounds {
  /** "/package.Service/Method". */
  readonly path: string
  /** Sent as they are: names in lower case, values of names that end in "-bin" in base64. Null: none. */
  readonly metadata: HeaderBlock | null
  /** Longest message that is taken, in bytes. */
  readonly messageBytesMax: number
}

/** How the server has ended a call. */
export interface GrpcStatus {
  /** Code of gRPC; 0 is OK. */
  readonly status: number
  /** Text of grpc-message, decoded; '' when there is none. */
  readonly message: string
  /** All trailing metadata as lines, each ended by CRLF; '' for none. */
  readonly trailers: string
}

export interface GrpcAnswer extends GrpcStatus {
  readonly error: null
  /** The receiver's own. Null where status is not 0. */
  readonly bytes: Uint8Array | null
  /** Leading metadata. */
  readonly metadata: HeaderBlock
}

/** What becomes of a stream. Nothing follows `ended` and `failed`, of which exactly one is called. */
export interface GrpcStreamEvents {
  /** Leading metadata has come; not called for an answer that has only trailers. */
  head?(metadata: HeaderBlock): void
  /** The receiver's own bytes. False: no more until GrpcStream.resume(). */
  message(bytes: Uint8Array): boolean
  /** After send() was false: there is room again. */
  writable?(): void
  ended(status: GrpcStatus): void
  failed(failure: ServiceFailure): void
}

export interface GrpcStream extends ServiceCall {
  /** Copies or sends `message` before it returns. False: stop until GrpcStreamEvents.writable. */
  send(message: Uint8Array): boolean
  /** No further message follows. */
  finish(): void
  /** It does not end with its exchange any more, only by its server or by `cancel`. */
  detach(): void
  resume(): void
}

export interface GrpcService {
  /** For logs and metrics. */
  readonly name: string
  /** One message each way. `done` is called exactly once, not before `unary` has returned. */
  unary(options: GrpcCallOptions, message: Uint8Array, done: (answer: GrpcAnswer | ServiceFailure) => void): ServiceCall
  /** Streams of messages both ways, as one of them or both may be. Events come after `stream` has returned. */
  stream(options: GrpcCallOptions, events: GrpcStreamEvents): GrpcStream
}

/** What is lent to policies and backends: asked for at build time, used per request. */
export interface Services {
  /** Throws a FieldError when `ref` names no backend, or one that is no server. */
  http(ref: ServiceRef): HttpService
  /** As `http`. The service must speak HTTP/2: with TLS by ALPN, without by prior knowledge. */
  grpc(ref: ServiceRef): GrpcService
}

const NOTHING_SERVED: ServiceFailure = { error: 'UNAVAILABLE', detail: 'nothing is served here' }

/** Where configurations are only looked at. */
export const NO_REMOTE_SERVICES: Services = {
  http: () => ({ name: '', definition: null, request: (_request, done) => unserved(done) }),
  grpc: () => ({
    name: '',
    unary: (_options, _message, done) => unserved(done),
    stream: (_options, events) => ({
      ...unserved((failure) => events.failed(failure)),
      send: () => true,
      finish() {},
      detach() {},
      resume() {}
    })
  })
}

function unserved(done: (failure: ServiceFailure) => void): ServiceCall {
  queueMicrotask(() => done(NOTHING_SERVED))
  return { cancel() {} }
}
