/**
 * The wire of the HTTP+SSE transport (MCP 2024-11-05, transports): a GET opens a stream of events; the first,
 * `endpoint`, says where messages are POSTed; everything that the server says comes as `message` events on the stream.
 */

import { appendFlat } from '#backends/mcp/protocol/flat-headers.ts'
import { splitPath } from '#backends/mcp/targets/split-path.ts'
import type { StartCall } from '#backends/shared/auth/authenticated-call.ts'
import type { ChannelEvents, ChildChannel, ChildFailure, Delivery } from '#engine/contract/children.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { type SseEvent, SseReader, SseTooLong } from '#engine/http/sse.ts'

/** From the GET to the endpoint event, and for the answer to one POST. */
const OPEN_MS = 20_000
const POST_MS = 60_000
const ENDPOINT_CHARS_MAX = 4096

export interface SseServer {
  readonly name: string
  /** http://host:port or https://host:port: messages go nowhere else. */
  readonly origin: string
  /** With its leading slash and query. */
  readonly path: string
  readonly ask: StartCall
  readonly messageBytesMax: number
}

interface Waiting {
  readonly line: string
  readonly delivery: Delivery
}

export class SseChannel implements ChildChannel {
  readonly pid = 0
  readonly #server: SseServer
  readonly #events: ChannelEvents
  readonly #reader = new SseReader()
  readonly #gone = Promise.withResolvers<void>()
  readonly #posts = new Set<Call>()
  #stream: Call | null = null
  /** Where messages go, once the server has sent the endpoint. */
  #postTo: { readonly path: string; readonly query: string } | null = null
  /** Written before that, or behind one that nothing may overtake. */
  #waiting: Waiting[] = []
  #isBlocked = false
  #isPaused = false
  #isOver = false
  #timer: NodeJS.Timeout | undefined
  queuedBytes = 0

  constructor(server: SseServer, events: ChannelEvents) {
    this.#server = server
    this.#events = events
  }

  get gone(): Promise<void> {
    return this.#gone.promise
  }

  write(line: string, delivery: Delivery): void {
    if (this.#isOver) return
    this.queuedBytes += line.length
    if (this.#stream === null) this.#open(delivery.extra)
    this.#waiting.push({ line, delivery })
    this.#flush()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#stream?.resume()
  }

  end(): void {
    this.#over('its stream was closed')
  }

  kill(): void {
    this.#over('it takes no messages')
  }

  // --- the stream ---

  #open(extra: unknown): void {
    const { path, ask } = this.#server
    const [at, query] = splitPath(path)
    const headers = this.#headers(extra)
    headers.set('Accept', 'text/event-stream')
    headers.set('Cache-Control', 'no-store')
    this.#timer = setTimeout(() => this.#over(`did not say where messages go within ${OPEN_MS / 1000} s`), OPEN_MS)
    const request = { method: 'GET', path: at, query, headers, body: null, timeoutMs: 0 }
    this.#stream = ask(request, {
      head: (status, fields) => this.#opened(status, fields.get('content-type') ?? ''),
      body: (chunk, start, end) => this.#read(chunk, start, end),
      end: () => this.#over('its stream ended'),
      failed: (code) => this.#over(inWords(code))
    })
    // It may have failed at once.
    if (this.#isOver) this.#stream.abort()
  }

  #opened(status: number, type: string): void {
    if (status !== 200) {
      this.#failWaiting({ kind: 'unreachable', status, message: `answered with status ${status}` })
      this.#over(`its stream was refused with status ${status}`)
    } else if (!/^text\/event-stream\s*(?:;|$)/i.test(type)) this.#over('it has no stream of events at this path')
  }

  #read(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return true
    const events: SseEvent[] = []
    try {
      this.#reader.push(chunk, start, end, events)
    } catch (error) {
      if (!(error instanceof SseTooLong)) throw error
      this.#events.tooLong()
      this.#over('sent an event that is too long')
      return true
    }
    for (const event of events) if (!this.#isOver) this.#take(event)
    return !this.#isPaused
  }

  #take({ name, data }: SseEvent): void {
    if (name === 'endpoint') this.#setEndpoint(data)
    else if (name !== 'message' && name !== '') return
    else if (Buffer.byteLength(data) > this.#server.messageBytesMax) this.#events.tooLong()
    else this.#events.line(data)
  }

  /** A server must not send our messages, and what they carry, anywhere else. */
  #setEndpoint(data: string): void {
    const { origin, path } = this.#server
    if (this.#postTo !== null) return
    const isShort = data.length <= ENDPOINT_CHARS_MAX
    const url = isShort && URL.canParse(data, `${origin}${path}`) ? new URL(data, `${origin}${path}`) : null
    if (url === null || url.origin !== new URL(origin).origin) {
      this.#over('wants messages to go to another server, which is not done')
      return
    }
    clearTimeout(this.#timer)
    this.#postTo = { path: url.pathname, query: url.search }
    this.#flush()
  }

  // --- messages ---

  #flush(): void {
    while (this.#postTo !== null && !this.#isBlocked && !this.#isOver) {
      const next = this.#waiting.shift()
      if (next === undefined) return
      this.#post(next, this.#postTo)
    }
  }

  #post({ line, delivery }: Waiting, to: { readonly path: string; readonly query: string }): void {
    const headers = this.#headers(delivery.extra)
    headers.set('Content-Type', 'application/json')
    headers.set('Accept', 'application/json, text/event-stream')
    const body = Buffer.from(line)
    this.#isBlocked = delivery.isFirst
    let isDone = false
    const done = (failure: ChildFailure | null) => {
      if (isDone) return
      isDone = true
      if (call !== null) this.#posts.delete(call)
      this.queuedBytes -= line.length
      if (delivery.isFirst) this.#isBlocked = false
      if (failure === null) delivery.taken?.()
      else delivery.lost(failure)
      this.#events.drained()
      this.#flush()
    }
    const request = { ...to, method: 'POST', headers, body, timeoutMs: POST_MS }
    let call: Call | null = null
    call = this.#server.ask(request, this.#postEvents(done))
    if (!isDone) this.#posts.add(call)
  }

  /** The body of the answer says nothing: what it answers comes on the stream. */
  #postEvents(done: (failure: ChildFailure | null) => void): CallEvents {
    return {
      head: (status) => {
        if (status >= 200 && status <= 299) return
        const isGone = status === 404 || status === 410
        const message = `refused a message with status ${status}`
        done({ kind: isGone ? 'expired' : 'broken', status, message })
        if (isGone) this.#over('it knows the session no more')
      },
      body: () => true,
      end: () => done(null),
      failed: (code) => done({ kind: 'unreachable', message: inWords(code) })
    }
  }

  #headers(extra: unknown): HeaderBlock {
    const headers = new HeaderBlock()
    if (Array.isArray(extra)) appendFlat(extra as readonly string[], headers)
    return headers
  }

  // --- the end ---

  #failWaiting(failure: ChildFailure): void {
    for (const { delivery } of this.#waiting.splice(0)) delivery.lost(failure)
  }

  #over(why: string): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#waiting = []
    this.queuedBytes = 0
    for (const call of [this.#stream, ...this.#posts]) call?.abort()
    this.#posts.clear()
    this.#events.ended(why)
    this.#gone.resolve()
  }
}

function inWords(code: ErrorCode): string {
  return ERRORS[code].message
}
