/** What a server answers to a POST: JSON, or a stream of messages of which the response is the last. */

import { isFieldValue } from '#backends/mcp/protocol/field-values.ts'
import { isTooDeep } from '#backends/mcp/protocol/json-bytes.ts'
import {
  isObject,
  METHOD_NOT_FOUND,
  type RpcMessage,
  type RpcRequest,
  type RpcResponse
} from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, isPlainAnswer, parseMessage, validateMessage } from '#backends/mcp/protocol/parse-message.ts'
import type { LinkEvents, LinkFailure } from '#backends/mcp/targets/target.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { type SseEvent, SseReader, SseTooLong } from '#engine/http/sse.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import { broken, challengeOf, failureOf, hasForgottenSession, NO_ROOM, refusal, TOO_LARGE } from './failures.ts'
import { StreamMarks } from './stream-marks.ts'
import type { HttpLink } from './target.ts'

/** Of an answer that is an error of HTTP: enough for a JSON-RPC error. */
const ERROR_BYTES_MAX = 64 * 1024
/** How often a stream that brought nothing new is taken up again. */
const RESUMPTIONS_MAX = 5
const RETRY_MS = 1_000
const RETRY_MAX_MS = 60_000
/** A server that wants to be asked again at once, and again, would keep the gateway busy. */
const RETRY_MIN_MS = 100
/** For the end of a complete stream: its connection can be used again. */
const LINGER_MS = 1_000

type Kind = 'json' | 'stream' | 'error'

export class PostResponse implements CallEvents {
  readonly #link: HttpLink
  readonly #message: RpcRequest
  readonly #events: LinkEvents
  #call: Call | null = null
  #kind: Kind = 'error'
  #status = 0
  readonly #pieces = new Pieces()
  #length = 0
  #sse: SseReader | null = null
  readonly #marks: StreamMarks | null
  /** Where the stream broke off. */
  #lastId: string | null = null
  #resumptions = 0
  #timer: NodeJS.Timeout | null = null
  #isOver = false

  constructor(link: HttpLink, message: RpcRequest, events: LinkEvents) {
    this.#link = link
    this.#message = message
    this.#events = events
    this.#marks = events.stream === undefined ? null : new StreamMarks(events.stream)
  }

  begin(call: Call): void {
    this.#call = call
  }

  giveUp(): void {
    this.#isOver = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#call?.abort()
  }

  head(status: number, headers: HeaderBlock): void {
    if (this.#isOver) return
    this.#status = status
    const type = headers.get('content-type') ?? ''
    const isFine = status >= 200 && status < 300
    if (isFine && this.#message.method === 'initialize') this.#link.began(headers)
    if (headers.has('content-encoding')) this.#fail(broken('answered in a coding that nobody asked for'))
    else if (isFine && isType(type, 'application/json')) this.#kind = 'json'
    else if (isFine && isType(type, 'text/event-stream')) {
      this.#kind = 'stream'
      this.#sse = new SseReader(this.#link.target.messageBytesMax)
      this.#events.stream?.started()
    } else if (isFine) this.#fail(broken('answered with neither JSON nor a stream of events'))
    else if (status === 404 && this.#lastId !== null) this.#fail(broken('has forgotten the call'))
    else {
      this.#kind = 'error'
      const challenge = challengeOf(status, headers)
      if (challenge !== null) this.#fail(challenge)
    }
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return true
    if (this.#kind === 'stream') this.#stream(chunk, start, end)
    else this.#keep(chunk, start, end)
    return true
  }

  #keep(chunk: Buffer, start: number, end: number): void {
    this.#length += end - start
    const max = this.#kind === 'json' ? this.#link.target.messageBytesMax : ERROR_BYTES_MAX
    if (this.#length <= max && this.#call?.keeps(this.#length) === false) this.#fail(NO_ROOM)
    else if (this.#length <= max) this.#pieces.push(chunk, start, end)
    else if (this.#kind === 'json') this.#fail(TOO_LARGE)
    else this.#fail(refusal(this.#status, this.#hasSession))
  }

  #stream(chunk: Buffer, start: number, end: number): void {
    const events: SseEvent[] = []
    try {
      this.#sse!.push(chunk, start, end, events)
    } catch (error) {
      this.#fail(error instanceof SseTooLong ? TOO_LARGE : broken('sent events that cannot be read'))
      return
    }
    for (const event of events) {
      if (this.#isOver) return
      this.#event(event)
    }
    if (!this.#isOver) this.#marks?.pass(this.#sse!.lastId, this.#sse!.retryMs)
    if (!this.#isOver && this.#call?.keeps(this.#sse!.waitingBytes) === false) this.#fail(NO_ROOM)
  }

  #event({ name, data, id }: SseEvent): void {
    if (id !== undefined) this.#resumptions = 0
    if (data === '' || (name !== '' && name !== 'message')) {
      // The first event of a stream may be an id alone (2025-11-25).
      this.#marks?.pass(id ?? null, this.#sse!.retryMs)
      return
    }
    const json = Buffer.from(data)
    const message = parseMessage(json)
    if (isInvalid(message)) this.#fail(broken('sent a message that is no JSON-RPC'))
    else if ('method' in message) {
      this.#marks?.onMessage(id)
      this.#events.message(message, id ?? null)
    } else if (message.id === this.#message.id) this.#answer(message, json, id ?? null)
    // Other ids are ignored: this stream belongs to one request.
  }

  /** The response has come on a stream: what follows is only its end. */
  #answer(response: RpcResponse, json: Buffer, id: string | null): void {
    this.#isOver = true
    this.#timer = setTimeout(() => this.#call?.abort(), LINGER_MS)
    this.#timer.unref()
    if (this.#events.answeredBytes === undefined || 'error' in response) this.#events.answered(response, id)
    else this.#events.answeredBytes(json, id)
  }

  end(): void {
    if (this.#isOver) {
      if (this.#timer !== null) clearTimeout(this.#timer)
    } else if (this.#kind === 'stream') {
      if ((this.#sse!.lastId ?? this.#lastId) !== null && this.#events.stream?.closed() === true) this.#isOver = true
      else this.#endOfStream(broken('ended the stream without an answer'))
    } else if (this.#kind === 'json') this.#endOfJson()
    else this.#endOfError()
  }

  failed(code: ErrorCode): void {
    if (this.#isOver) return
    const failure = failureOf(code)
    if (this.#kind === 'stream' && failure.kind !== 'timeout') this.#endOfStream(failure)
    else this.#fail(failure)
  }

  #endOfJson(): void {
    const json = this.#whole()
    this.#isOver = true
    const { answeredBytes } = this.#events
    if (answeredBytes !== undefined && isPlainAnswer(json, this.#message.id)) {
      this.#events.answeredBytes!(json)
      return
    }
    const message = parseMessage(json)
    if (!isInvalid(message) && this.#isAnswer(message)) this.#events.answered(message)
    else this.#events.failed(broken('answered with what is no response to the request'))
  }

  /** A JSON-RPC error says more than its status. */
  #endOfError(): void {
    this.#isOver = true
    const body = this.#whole()
    const message = parsed(body)
    // Of the newest revision 404 is also what comes with an unknown method, and some servers say it in all of them.
    const isMethod = message !== null && 'error' in message && message.error.code === METHOD_NOT_FOUND
    const hasId = message !== null && message.id === this.#message.id
    if (this.#hasSession && !isMethod && hasForgottenSession(this.#status, body, hasId))
      this.#events.failed(refusal(404, true))
    else if (message === null || !('error' in message)) this.#events.failed(refusal(this.#status, false))
    else this.#events.answered({ ...message, id: this.#message.id })
  }

  get #hasSession(): boolean {
    return this.#link.upstreamSession !== null
  }

  #whole(): Buffer {
    const { whole } = this.#pieces
    this.#pieces.drop()
    return whole
  }

  #isAnswer(message: RpcMessage): message is RpcResponse {
    return !('method' in message) && message.id === this.#message.id
  }

  /** A stream with ids may be closed at any time, and goes on in a GET (2025-11-25, Resumability and Redelivery). */
  #endOfStream(failure: LinkFailure): void {
    const { lastId, retryMs } = this.#sse!
    this.#lastId = lastId ?? this.#lastId
    if (this.#lastId === null || !isFieldValue(this.#lastId) || this.#resumptions++ >= RESUMPTIONS_MAX) {
      this.#fail(failure)
      return
    }
    this.#timer = setTimeout(() => this.#resume(), Math.min(Math.max(retryMs ?? RETRY_MS, RETRY_MIN_MS), RETRY_MAX_MS))
  }

  #resume(): void {
    this.#timer = null
    this.#kind = 'error'
    this.#call = this.#link.get(this.#lastId, this)
  }

  #fail(failure: LinkFailure): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#call?.abort()
    this.#events.failed(failure)
  }
}

export function isType(field: string, type: string): boolean {
  return field.toLowerCase().startsWith(type) && !/^[\w.+-]/.test(field.slice(type.length))
}

/** A response, whatever id it has: servers that cannot read a request answer with null. */
function parsed(json: Buffer): RpcResponse | null {
  if (isTooDeep(json)) return null
  try {
    const parsed: unknown = JSON.parse(json.toString())
    // Some leave the id out where they have not read it.
    const message = validateMessage(isObject(parsed) && parsed.id === undefined ? { ...parsed, id: null } : parsed)
    return isInvalid(message) || 'method' in message ? null : message
  } catch {
    return null
  }
}
