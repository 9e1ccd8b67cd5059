/**
 * What a client gets for one request over HTTP: one JSON body where the response is all there is, and a stream of
 * events from the first message that comes ahead of it (2025-11-25, transports, Sending Messages to the Server).
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
import { HeaderBlock } from '#engine/http/headers.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import type { Pulse } from './pulse.ts'

/** What waits for a client that does not read; a stream that outgrows it is ended. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024
const NO_BYTES = Buffer.alloc(0)
const UNSTORED: readonly string[] = ['Cache-Control', 'no-cache, no-transform']

type Body = string | Buffer | readonly Buffer[] | null

/** Where answers go that have no HTTP response of their own: the one stream of an old client (legacy-sse.ts). */
export interface Outlet {
  /** In one line. */
  event(json: Buffer): void
  /** The session of the answer to `initialize`. */
  began(sessionId: string): void
  over(reply: Reply): void
}

export class Reply {
  readonly ex: Exchange
  readonly #context: BackendContext
  readonly #pulse: Pulse
  /** Given out with the answer to `initialize`. */
  sessionId: string | null = null
  /** Stops what works for this reply: the client has left, or time is up. Called once, unless all has been said. */
  onGone: (() => void) | null = null
  /** Called behind it when time is up: whoever works for this reply is told that nobody waits any more. */
  onLate: (() => void) | null = null
  /** Of the request that is answered; null: it is none. */
  requestId: RpcId | null = null
  /** Called once, when the exchange is over, however it ended. */
  onOver: (() => void) | null = null
  /** Called now and again while the stream is open. */
  onPulse: (() => void) | null = null
  /** Status of an error that is all there is; null: 200, since the message could be taken. */
  statusOf: ((code: number) => number) | null = null
  writtenAt = 0
  /** A response that is all there is goes out as the one event of a stream: so it came. */
  isEvents = false
  #answer: Answer | null = null
  #isOver = false
  readonly #outlet: Outlet | null
  /** Bytes since the client's side was full; -1: it is not. */
  #behind = -1

  constructor(ex: Exchange, context: BackendContext, pulse: Pulse, outlet: Outlet | null = null) {
    this.ex = ex
    this.#context = context
    this.#pulse = pulse
    this.#outlet = outlet
    if (outlet !== null) return
    ex.onOver = () => {
      this.#gone()
      this.onOver?.()
    }
    ex.onTimeout = (code) => this.#late(code)
  }

  /** The route's `timeouts`: the request has failed, and its client is told so as of any other failure. */
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

  /** Answers have an HTTP response of their own: a stream that ends can be taken up again. */
  get hasOwnStream(): boolean {
    return this.#outlet === null
  }

  #gone(): void {
    if (this.#answer !== null) this.#pulse.delete(this)
    if (this.#isOver) return
    this.#isOver = true
    this.onGone?.()
  }

  // --- whole answers ---

  /** `json`: null for none. */
  plain(status: number, json: Body, headers: readonly string[] | null = null): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#outlet !== null) {
      this.#toOutlet(this.#outlet, json)
      return
    }
    const own = this.sessionId === null ? headers : [...(headers ?? []), 'Mcp-Session-Id', this.sessionId]
    this.#send(status, json, 'application/json', own)
  }

  #send(status: number, body: Body, contentType: string, headers: readonly string[] | null): void {
    // What comes from another thread or a timer is in no turn yet.
    enterTurn()
    this.#context.reply(this.ex, { status, body, contentType, headers })
    leaveTurn()
  }

  /** What has an id is an answer to somebody; a status alone is for nobody there. */
  #toOutlet(outlet: Outlet, json: Body): void {
    if (this.sessionId !== null) outlet.began(this.sessionId)
    const bytes = typeof json === 'string' || json === null ? Buffer.from(json ?? '') : whole(json)
    if (bytes.includes('"id"')) outlet.event(oneLine(bytes))
    outlet.over(this)
  }

  /** A JSON-RPC error as the body of a status other than 200: the message could not be taken at all. */
  refuse(status: number, code: number, message: string, more: Refusal = {}): void {
    this.plain(status, errorJson(more.id ?? null, code, message, more.data), more.headers ?? null)
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

  /** The same, as JSON that is not looked at. Pieces are not copied: nobody may change them any more. */
  respondBytes(json: Buffer | readonly Buffer[], status = 200, eventId: string | null = null): void {
    if (this.#isOver) return
    if (this.#answer !== null) {
      this.#event(whole(json), eventId)
      this.end()
    } else if (this.isEvents && status === 200 && this.#outlet === null) {
      // A whole stream is one write, as JSON is.
      this.#isOver = true
      this.#send(200, eventOf(whole(json), eventId), 'text/event-stream', UNSTORED)
    } else this.plain(status, json)
  }

  error(id: RpcId, code: number, message: string, data?: JsonValue): void {
    if (this.ex.mcp !== null) this.ex.mcp.errorCode = code
    // The gateway's own words came on no stream.
    this.isEvents = false
    this.respondBytes(Buffer.from(errorJson(id, code, message, data)), this.#status(code))
  }

  // --- streams ---

  /** Begins the stream, unless it has begun. */
  open(): void {
    if (this.#answer !== null || this.#isOver || this.#outlet !== null) return
    const headers = new HeaderBlock()
    headers.append('Content-Type', 'text/event-stream')
    headers.append(UNSTORED[0]!, UNSTORED[1]!)
    // Proxies of the nginx family keep events back otherwise.
    headers.append('X-Accel-Buffering', 'no')
    if (this.sessionId !== null) headers.append('Mcp-Session-Id', this.sessionId)
    this.writtenAt = performance.now()
    this.#answer = this.#context.inProcess.answer(this.ex, 200, headers, {
      writable: () => {
        this.#behind = -1
      },
      gone: () => this.#gone()
    })
    this.#pulse.add(this)
  }

  message(message: RpcMessage, eventId: string | null): void {
    if (this.#isOver) return
    this.open()
    this.#event(Buffer.from(JSON.stringify(message)), eventId)
  }

  #event(json: Buffer, eventId: string | null): void {
    if (this.#outlet !== null) this.#outlet.event(oneLine(json))
    else this.write(eventOf(json, eventId))
  }

  /** An event without a message: how far the stream has come, when to come back for it. Null: says nothing of it. */
  mark(eventId: string | null, retryMs: number | null): void {
    if (this.#isOver || this.#outlet !== null) return
    this.open()
    const id = eventId === null ? '' : `id: ${eventId}\n`
    const retry = retryMs === null ? '' : `retry: ${retryMs}\n`
    // Readers take the id of an event that has data, be it empty.
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

  /** The stream is over. `isBroken`: not all has been said, and the client is to see it. */
  end(isBroken = false): void {
    if (this.#isOver) return
    this.#isOver = true
    const answer = this.#answer
    if (isBroken) this.onGone?.()
    if (this.#outlet !== null) {
      this.#outlet.over(this)
      return
    }
    if (answer === null) {
      this.#isOver = false
      this.plain(200, NO_BYTES)
      return
    }
    this.#pulse.delete(this)
    if (isBroken) answer.fail('UPSTREAM_RESET')
    else answer.end()
  }
}

export interface Refusal {
  readonly id?: RpcId | null
  readonly data?: JsonValue
  readonly headers?: readonly string[]
}

/** Without an id where there is none to name: MCP asks for that in answers to what is no request. */
export function errorJson(id: RpcId | null, code: number, message: string, data?: JsonValue): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id === null ? {} : { id }),
    error: { code, message, ...(data === undefined ? {} : { data }) }
  })
}

/** How the engine's own errors look on routes to MCP servers. */
export const dialect: Dialect = (status, message) => ({
  body: errorJson(null, status >= 500 ? INTERNAL_ERROR : -32_000, message),
  headers: null
})

const whole = (json: Buffer | readonly Buffer[]): Buffer => (Buffer.isBuffer(json) ? json : Buffer.concat(json))

/** Line ends in JSON that a server has laid out nicely would be line ends of the event. */
function eventOf(json: Buffer, eventId: string | null): Buffer {
  const head = eventId === null ? 'event: message\ndata: ' : `event: message\nid: ${eventId}\ndata: `
  return Buffer.concat([Buffer.from(head), oneLine(json), Buffer.from('\n\n')])
}

/** JSON has line ends only between its tokens. */
function oneLine(json: Buffer): Buffer {
  if (!json.includes(10) && !json.includes(13)) return json
  return Buffer.from(json.toString().replaceAll(/[\r\n]/g, ' '))
}
