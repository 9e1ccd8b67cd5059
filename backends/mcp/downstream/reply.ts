/**
 * The reply to one request of a client over HTTP: a JSON body if there is only a response, an event stream if another
 * message comes before it (2025-11-25, transports, Sending Messages to the Server).
 */
import { performance } from 'node:perf_hooks'
import {
  INTERNAL_ERROR,
  type JsonValue,
  type RpcId,
  type RpcMessage,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Dialect, Exchange } from '#engine/contract/exchange.ts'
import type { Answer } from '#engine/contract/in-process.ts'
import { requestIdField } from '#engine/contract/request-id.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { Keepalive } from './keepalive.ts'

/** Bytes that wait for a client that does not read; a stream with more is ended. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024
const NO_BYTES = Buffer.alloc(0)
const UNSTORED: readonly string[] = ['Cache-Control', 'no-cache, no-transform']

interface ResponseHead {
  readonly status: number
  readonly eventId: string | null
  /** Flat: name, value, ...; not sent where the response is an event. */
  readonly headers: readonly string[] | null
}

type Body = string | Buffer | readonly Buffer[] | null

/** For replies without an HTTP response of their own: the one stream of an old client (legacy-sse.ts). */
export interface ReplySink {
  /** In one line. */
  event(json: Buffer): void
  /** The session of the answer to `initialize`. */
  began(sessionId: string): void
  over(reply: Reply): void
}

export class Reply {
  readonly ex: Exchange
  readonly #context: BackendContext
  readonly #keepalive: Keepalive
  /** Sent with the response to `initialize`. */
  sessionId: string | null = null
  /** Stops the work for this reply: the client has left, or a timeout. Called once, unless the reply is complete. */
  onGone: (() => void) | null = null
  /** Called after it on a timeout, to cancel the request at its target. */
  onLate: (() => void) | null = null
  /** Of the client's request; null: it is none. */
  requestId: RpcId | null = null
  /** Called once, when the exchange is over, however it ended. */
  onOver: (() => void) | null = null
  /** Called every 15 seconds while the stream is open. */
  onKeepalive: (() => void) | null = null
  /** HTTP status of a JSON-RPC error; null: always 200. */
  statusOf: ((code: number) => number) | null = null
  writtenAt = 0
  /** A lone response is sent as an event stream, as it came. */
  isEvents = false
  #answer: Answer | null = null
  #isOver = false
  readonly #sink: ReplySink | null
  /** Bytes written since the client's connection was full; -1: it is not. */
  #behind = -1

  constructor(ex: Exchange, context: BackendContext, keepalive: Keepalive, sink: ReplySink | null = null) {
    this.ex = ex
    this.#context = context
    this.#keepalive = keepalive
    this.#sink = sink
    if (sink !== null) return
    ex.onOver = () => {
      this.#gone()
      this.onOver?.()
    }
    ex.onTimeout = (code) => this.#late(code)
  }

  /** The route's `timeouts`: a JSON-RPC error, as for any other failure. */
  #late(code: ErrorCode): boolean {
    const { requestId, ex } = this
    if (this.#isOver || requestId === null) return false
    ex.error ??= code
    const { onGone } = this
    this.onGone = null
    onGone?.()
    this.onLate?.()
    const target = ex.mcp?.target
    this.error(requestId, INTERNAL_ERROR, `${target === undefined ? '' : `target ${target}: `}no answer in time`)
    return true
  }

  /** The stream has begun. */
  get isStream(): boolean {
    return this.#answer !== null
  }

  /** The reply is an HTTP response of its own: its stream can be resumed. */
  get hasOwnStream(): boolean {
    return this.#sink === null
  }

  #gone(): void {
    if (this.#answer !== null) this.#keepalive.delete(this)
    if (this.#isOver) return
    this.#isOver = true
    this.onGone?.()
  }

  // --- whole answers ---

  /** `json`: null for none. */
  plain(status: number, json: Body, headers: readonly string[] | null = null): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#sink !== null) {
      this.#toSink(this.#sink, json)
      return
    }
    const own = this.sessionId === null ? headers : [...(headers ?? []), 'Mcp-Session-Id', this.sessionId]
    this.#send(status, json, 'application/json', own)
  }

  #send(status: number, body: Body, contentType: string, headers: readonly string[] | null): void {
    // Messages of other threads and timers come outside of a turn.
    inTurn(() => this.#context.reply(this.ex, { status, body, contentType, headers }))
  }

  /** Only responses go to the stream: a status alone has no place there. */
  #toSink(sink: ReplySink, json: Body): void {
    if (this.sessionId !== null) sink.began(this.sessionId)
    const bytes = typeof json === 'string' || json === null ? Buffer.from(json ?? '') : whole(json)
    if (bytes.includes('"id"')) sink.event(oneLine(bytes))
    sink.over(this)
  }

  /** A JSON-RPC error as the body of an HTTP error: the message was not accepted. */
  refuse(status: number, code: number, message: string, more: Refusal = {}): void {
    this.ex.errorDetail ??= message
    const headers = [...(more.headers ?? []), ...requestIdField(this.ex)]
    this.plain(status, errorJson(more.id ?? null, code, message, more.data), headers)
  }

  /** The response, and the end. */
  respond(response: RpcResponse, eventId: string | null = null): void {
    if ('error' in response && this.ex.mcp !== null) this.ex.mcp.errorCode = response.error.code
    const status = 'error' in response ? this.#status(response.error.code) : 200
    this.respondBytes(Buffer.from(JSON.stringify(response)), status, eventId)
  }

  #status(code: number): number {
    return this.statusOf?.(code) ?? 200
  }

  /** The same as bytes. Pieces are not copied: they must not change any more. */
  respondBytes(json: Buffer | readonly Buffer[], status = 200, eventId: string | null = null): void {
    this.#respond(json, { status, eventId, headers: null })
  }

  #respond(json: Buffer | readonly Buffer[], { status, eventId, headers }: ResponseHead): void {
    if (this.#isOver) return
    if (this.#answer !== null) {
      this.#event(whole(json), eventId)
      this.end()
    } else if (this.isEvents && status === 200 && this.#sink === null) {
      // The whole stream is one write.
      this.#isOver = true
      this.#send(200, eventOf(whole(json), eventId), 'text/event-stream', UNSTORED)
    } else this.plain(status, json, headers)
  }

  /** An error of the gateway's own: the log has its text, and the client the id of its request. */
  error(id: RpcId, code: number, message: string, data?: JsonValue): void {
    if (this.ex.mcp !== null) this.ex.mcp.errorCode = code
    this.ex.errorDetail ??= message
    // An error of the gateway came on no stream.
    this.isEvents = false
    const json = Buffer.from(errorJson(id, code, message, data))
    this.#respond(json, { status: this.#status(code), eventId: null, headers: requestIdField(this.ex) })
  }

  // --- streams ---

  /** Begins the stream, unless it has begun. */
  open(): void {
    if (this.#answer !== null || this.#isOver || this.#sink !== null) return
    const headers = new HeaderBlock()
    headers.append('Content-Type', 'text/event-stream')
    headers.append(UNSTORED[0]!, UNSTORED[1]!)
    // Otherwise nginx and its relatives buffer the stream.
    headers.append('X-Accel-Buffering', 'no')
    if (this.sessionId !== null) headers.append('Mcp-Session-Id', this.sessionId)
    this.writtenAt = performance.now()
    this.#answer = this.#context.inProcess.answer(this.ex, 200, headers, {
      writable: () => {
        this.#behind = -1
      },
      gone: () => this.#gone()
    })
    this.#keepalive.add(this)
  }

  message(message: RpcMessage, eventId: string | null): void {
    if (this.#isOver) return
    this.open()
    this.#event(Buffer.from(JSON.stringify(message)), eventId)
  }

  #event(json: Buffer, eventId: string | null): void {
    if (this.#sink !== null) this.#sink.event(oneLine(json))
    else this.write(eventOf(json, eventId))
  }

  /** An event without a message: an event id, and when to resume; null: neither. */
  mark(eventId: string | null, retryMs: number | null): void {
    if (this.#isOver || this.#sink !== null) return
    this.open()
    const id = eventId === null ? '' : `id: ${eventId}\n`
    const retry = retryMs === null ? '' : `retry: ${retryMs}\n`
    // Clients take the id only of an event with data, which may be empty.
    this.write(Buffer.from(`${id}${retry}${eventId === null ? '' : 'data: \n'}\n`))
  }

  write(bytes: Buffer): void {
    if (this.#isOver || this.#answer === null) return
    this.writtenAt = performance.now()
    const hasRoom = this.#answer.write(bytes)
    if (hasRoom) this.#behind = -1
    else if (this.#behind < 0) this.#behind = 0
    else this.#behind += bytes.length
    if (this.#behind > BEHIND_BYTES_MAX) this.end(true)
  }

  /** Ends the stream. `isBroken`: it is incomplete, and the client must see that. */
  end(isBroken = false): void {
    if (this.#isOver) return
    this.#isOver = true
    const answer = this.#answer
    if (isBroken) this.onGone?.()
    if (this.#sink !== null) {
      this.#sink.over(this)
      return
    }
    if (answer === null) {
      this.#isOver = false
      this.plain(200, NO_BYTES)
      return
    }
    this.#keepalive.delete(this)
    if (isBroken) answer.fail('UPSTREAM_RESET')
    else answer.end()
  }
}

export interface Refusal {
  readonly id?: RpcId | null
  readonly data?: JsonValue
  readonly headers?: readonly string[]
}

/** Without an id in replies to what is no request, as MCP requires. */
export function errorJson(id: RpcId | null, code: number, message: string, data?: JsonValue): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id === null ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) }
  })
}

/** The engine's own errors on routes to MCP servers. */
export const dialect: Dialect = (status, message) => ({
  body: errorJson(null, status >= 500 ? INTERNAL_ERROR : -32_000, message),
  headers: null
})

const whole = (json: Buffer | readonly Buffer[]): Buffer => (Buffer.isBuffer(json) ? json : Buffer.concat(json))

/** Line ends in pretty-printed JSON would end the event's data line. */
function eventOf(json: Buffer, eventId: string | null): Buffer {
  const head = eventId === null ? 'event: message\ndata: ' : `event: message\nid: ${eventId}\ndata: `
  return Buffer.concat([Buffer.from(head), oneLine(json), Buffer.from('\n\n')])
}

/** JSON has line ends only between its tokens. */
function oneLine(json: Buffer): Buffer {
  if (!json.includes(10) && !json.includes(13)) return json
  return Buffer.from(json.toString().replaceAll(/[\r\n]/g, ' '))
}
