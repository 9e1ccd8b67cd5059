/** Requests and answers of the gateway's own: a backend that speaks a protocol makes them, the engine carries them. */

import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Endpoint } from './endpoint.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange } from './exchange.ts'
import type { ModelUse } from './model-use.ts'
import type { SidePurpose } from './side-call.ts'
import type { ExchangeTrace } from './tracing.ts'

/** What a call of a model is recorded for: metrics of its own, and the spend log, as of the route of `of`. */
export interface SideCall {
  readonly of: Exchange
  readonly purpose: SidePurpose
}

/** A request that the gateway asks by itself. */
export interface CallRequest {
  readonly method: string
  readonly path: string
  /** With its leading "?", or "". */
  readonly query: string
  /** Host and the framing of the body are added. */
  readonly headers: HeaderBlock
  /** 'stream': it comes by Call.write, and its length is not known ahead. */
  readonly body: Buffer | null | 'stream'
  /** Speaks HTTP/2, as gRPC needs; absent: as the destination is set. */
  readonly isGrpc?: boolean
  /** Host or :authority instead of that of the destination. */
  readonly authority?: string
  /** Milliseconds until the last byte of the answer; 0: however long it takes. */
  readonly timeoutMs: number
  /** Of the exchange that it is made for (ExchangeTrace.child); null or absent: it has none. */
  readonly trace?: ExchangeTrace | null
  /** Whose keys, limits and budgets it counts against; absent: nobody's. */
  readonly payer?: Exchange
  /** Of a call of a model: what it is recorded for. Absent: it is not. */
  readonly record?: SideCall
}

/** What becomes of it. Called in turns; after `end` or `failed` nothing follows. */
export interface CallEvents {
  head(status: number, headers: HeaderBlock): void
  /** Bytes [start, end) of `chunk`, valid during the call only. False: stop until Call.resume(). */
  body(chunk: Buffer, start: number, end: number): boolean
  /** `trailers`: lines, each ended by CRLF, or ''. */
  end(trailers: string): void
  /** Before or within the answer. `detail`: what is known of it beyond its code, for logs; null: nothing. */
  failed(code: ErrorCode, detail: string | null): void
  /** After Call.write was false: there is room again. */
  writable?(): void
  /** It is over, ahead of `end` or `failed`: what it has asked of a model. */
  used?(llm: ModelUse): void
}

export interface Call {
  /** Cancels the call: the connection is closed, and no event follows. */
  abort(): void
  resume(): void
  /** Of a request whose body is a stream: copies or sends `bytes`. False: stop until CallEvents.writable. */
  write(bytes: Buffer): boolean
  /** The body of the request is complete. */
  finish(): void
  /**
   * How many bytes of the answer are kept in all, until it is over or the number changes: they are on the account
   * (held-bytes.ts). False: there is no room for them, and the call must be cancelled.
   */
  keeps(bytes: number): boolean
}

/** An answer that the gateway writes by itself, piece by piece. */
export interface Answer {
  /** False: stop until AnswerEvents.writable. The bytes are copied or sent before it returns. */
  write(bytes: Buffer): boolean
  /** Nothing more comes. `trailers`: lines, each ended by CRLF; absent: none. */
  end(trailers?: string): void
  /** It cannot be completed: the client is shown so. */
  fail(code: ErrorCode): void
}

export interface AnswerEvents {
  writable(): void
  /** The client has left, or a timeout has ended the exchange: nothing more is sent. Not after `end` or `fail`. */
  gone(): void
}

/** What the engine lends to backends that ask and answer by themselves. */
export interface InProcess {
  /** Sends `request` to `endpoint`, over its pool. */
  call(endpoint: Endpoint, request: CallRequest, events: CallEvents): Call
  /** Sends `request` the way that a backend sends exchanges (CompiledBackend.serve). */
  callBackend(serve: (ex: Exchange) => void, request: CallRequest, events: CallEvents): Call
  /**
   * Begins the answer of ex, whose request is here whole, with status and headers; response hooks see it. Not twice.
   * Its length is not known ahead: what is known whole is for BackendContext.reply.
   */
  answer(ex: Exchange, status: number, headers: HeaderBlock, events: AnswerEvents): Answer
  /** Goes on with the answer of ex, which is being sent, in place of its server: for ResponseTap.goesOn. */
  follow(ex: Exchange, events: AnswerEvents): Answer
}

/** For configurations that are only checked: nothing is served. */
export const NO_CALLS: InProcess = {
  call() {
    throw new Error('nothing is served here')
  },
  callBackend() {
    throw new Error('nothing is served here')
  },
  answer() {
    throw new Error('nothing is served here')
  },
  follow() {
    throw new Error('nothing is served here')
  }
}
