/** What a server says unasked: the stream behind a GET. */

import { isInvalid, parseMessage } from '#backends/mcp/protocol/parse-message.ts'
import type { LinkFailure, ListenEvents } from '#backends/mcp/targets/target.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { type SseEvent, SseReader } from '#engine/http/sse.ts'
import { broken, challengeOf, failureOf, mayBeExpired, NO_ROOM, RefusalBody, refusal } from './failures.ts'
import { isType } from './post-response.ts'
import { type Marked, StreamMarks } from './stream-marks.ts'
import type { HttpLink } from './target.ts'
export class GetStream implements CallEvents {
  call: Call | null = null
  readonly #link: HttpLink
  readonly #events: ListenEvents
  #sse: SseReader | null = null
  #refusal: RefusalBody | null = null
  readonly #marks: StreamMarks | null
  #isOver = false

  constructor(link: HttpLink, events: ListenEvents) {
    this.#link = link
    this.#events = events
    this.#marks = events.mark === undefined ? null : new StreamMarks(events as Marked)
  }

  giveUp(): void {
    this.#isOver = true
    this.call?.abort()
  }

  head(status: number, headers: HeaderBlock): void {
    if (this.#isOver) return
    const isFine = status >= 200 && status < 300
    if (isFine && isType(headers.get('content-type') ?? '', 'text/event-stream')) {
      this.#sse = new SseReader(this.#link.target.messageBytesMax)
      this.#events.opened?.()
    } else if (status === 405 || isFine) this.#end(null)
    // Servers without such a stream that have never heard of 405.
    else if (this.#link.upstreamSession === null && (status === 404 || status === 400)) this.#end(null)
    else this.#refused(status, headers)
  }

  #refused(status: number, headers: HeaderBlock): void {
    const hasSession = this.#link.upstreamSession !== null
    const challenge = challengeOf(status, headers)
    if (challenge === null && mayBeExpired(status, hasSession)) this.#refusal = new RefusalBody(status)
    else this.#end(challenge ?? refusal(status, hasSession))
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver) return true
    this.#refusal?.add(chunk, start, end)
    if (this.#sse === null) return true
    const events: SseEvent[] = []
    try {
      this.#sse.push(chunk, start, end, events)
    } catch {
      this.#end(broken('sent events that cannot be read'))
      return true
    }
    for (const { name, data, id } of events) {
      if (this.#isOver) break
      if (data === '' || (name !== '' && name !== 'message')) {
        this.#marks?.pass(id ?? null, this.#sse.retryMs)
        continue
      }
      const message = parseMessage(Buffer.from(data))
      if (isInvalid(message)) this.#end(broken('sent a message that is no JSON-RPC'))
      else {
        this.#marks?.onMessage(id)
        this.#events.message(message, id ?? null)
      }
    }
    if (!this.#isOver) this.#marks?.pass(this.#sse.lastId, this.#sse.retryMs)
    if (!this.#isOver && this.call?.keeps(this.#sse.waitingBytes) === false) this.#end(NO_ROOM)
    return true
  }

  end(): void {
    this.#end(this.#refusal === null ? broken('ended the stream') : this.#refusal.failure)
  }

  failed(code: ErrorCode): void {
    this.#end(failureOf(code))
  }

  #end(failure: LinkFailure | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.call?.abort()
    this.#events.ended(failure)
  }
}
