/**
 * A body that passes the service while it comes (STREAMED: each piece waits for its answer; FULL_DUPLEX_STREAMED: what
 * the service says is the body), or only its trailers (NONE: it passes by).
 */
import type { BodyOutput, BodyProcessor } from '#engine/contract/body-processor.ts'
import { Pieces } from '#engine/kit/pieces.ts'
import type {
  BodyMutation,
  CommonResponse,
  ImmediateResponse,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import type { Conversation } from './conversation.ts'
import type { Answer, Failed, Lane } from './lane.ts'
import { bodyOf, type Part, trailersOf } from './message.ts'
import type { BodyMode } from './schema.ts'
import type { Side } from './side.ts'

/** Of a body: sent and not answered, or waiting to be sent. With so much of it no more is read. */
const IN_FLIGHT_BYTES_MAX = 64 * 1024
/** What the service has made of it and nothing takes yet. With so much of it the service is not read. */
const WAITING_BYTES_MAX = 1024 * 1024
const NO_BYTES = Buffer.alloc(0)

export interface BodyStreamOptions {
  readonly conversation: Conversation
  readonly lane: Lane
  readonly side: Side
  readonly mode: Extract<BodyMode, 'NONE' | 'STREAMED' | 'FULL_DUPLEX_STREAMED'>
  readonly sendsTrailers: boolean
  /** What the service makes of it waits until `release` is called. */
  readonly isHeld: boolean
  /** FULL_DUPLEX_STREAMED: pieces that are answered without a body pass as they came. */
  readonly unchangedPasses: boolean
  /** It goes on without a service that fails, if nothing of it is lost. */
  readonly passesOnError: boolean
  readonly events: BodyStreamEvents
}

export interface BodyStreamEvents {
  /** Sends a part in its message, which wants an answer. */
  ask(side: Side, part: Part): void
  /** An answer has come. A text says why it cannot be taken. */
  answered(response: ProcessingResponse): string | null
  /** The trailers as the service wants them; what says why they cannot be so has no `lines`. */
  trailers(side: Side, response: ProcessingResponse, lines: string): { readonly lines: string } | string
  /** The service has ended the exchange itself. */
  immediate(response: ImmediateResponse): void
  failed(failed: Failed): void
  /** All of the body has passed. */
  over(side: Side): void
}

export class BodyStream implements BodyProcessor {
  readonly #options: BodyStreamOptions
  readonly #output: BodyOutput
  /** What has come and was not sent to the service yet. */
  #waiting = new Pieces()
  #waitingBytes = 0
  #isFlushDue = false
  /** Pieces that wait for their answers, where these may leave them as they are. */
  readonly #unanswered: Buffer[] = []
  #unansweredBytes = 0
  #hasSent = false
  /** FULL_DUPLEX_STREAMED: what it sends is the body. Before, it may answer that nothing changes. */
  #isChanged: boolean
  #keptBytes = 0
  /** Trailer lines; null: the body has not ended. */
  #trailers: string | null = null
  #isEndSent = false
  #awaitsTrailers = false
  /** What has not been taken yet. */
  readonly #made: Buffer[] = []
  #madeBytes = 0
  #isTaken = true
  #isHeld: boolean
  /** Trailer lines behind that; null: more may come. */
  #end: string | null = null
  /** The service is not asked (any more). */
  #isAlone = false
  /** What comes now is for nobody. */
  #isOver = false
  #isPaused = false

  constructor(options: BodyStreamOptions, output: BodyOutput) {
    this.#options = options
    this.#output = output
    this.#isHeld = options.isHeld
    this.#isChanged = !options.unchangedPasses
    options.lane.listen((answer) => this.#take(answer))
  }

  // --- what comes ---

  write(chunk: Buffer, start: number, end: number): boolean {
    if (this.#isOver || this.#end !== null) return true
    if (this.#passesBy && this.#made.length === 0) {
      this.#isTaken = this.#output.send(chunk, start, end)
    } else {
      this.#waiting.push(chunk, start, end)
      this.#waitingBytes += end - start
      this.#flushSoon()
    }
    this.#isPaused ||= !this.#hasRoom
    return this.#hasRoom
  }

  end(trailers: string): void {
    if (this.#isOver || this.#end !== null) return
    this.#trailers = trailers
    this.#flushSoon()
  }

  resume(): void {
    this.#isTaken = true
    this.#drain()
    const { conversation, lane } = this.#options
    if (this.#madeBytes < WAITING_BYTES_MAX) conversation.resume(lane)
    this.#flush()
    this.#pull()
  }

  /** The service takes more. */
  roomAgain(): void {
    this.#flush()
    this.#pull()
  }

  /** `bytes` are the body, whatever has come or comes. Before it is released. */
  replace(bytes: Buffer): void {
    this.#clear()
    this.#make(bytes)
    this.#finish('')
  }

  /** The headers are as they go on. */
  release(): void {
    this.#isHeld = false
    this.#drain()
    this.#flush()
    this.#pull()
  }

  get #passesBy(): boolean {
    return this.#isAlone || this.#options.mode === 'NONE'
  }

  get #hasRoom(): boolean {
    if (!this.#isTaken || this.#made.length > 0) return false
    if (this.#passesBy) return true
    return this.#options.conversation.hasRoom && this.#unansweredBytes + this.#waitingBytes < IN_FLIGHT_BYTES_MAX
  }

  /** Those who paused for it go on. */
  #pull(): void {
    if (!this.#isPaused || !(this.#hasRoom || this.#isOver || this.#end !== null)) return
    this.#isPaused = false
    this.#output.more()
  }

  // --- what the service is sent ---

  /** Behind the read at hand: all that it brings is one message, and its end as well. */
  #flushSoon(): void {
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    queueMicrotask(() => {
      this.#isFlushDue = false
      this.#flush()
    })
  }

  #flush(): void {
    if (this.#isOver || this.#end !== null) return
    if (this.#passesBy) this.#passOn()
    const { conversation, side } = this.#options
    if (this.#waitingBytes > 0 && conversation.hasRoom && this.#unansweredBytes < IN_FLIGHT_BYTES_MAX) {
      const bytes = this.#waiting.whole
      this.#dropWaiting()
      this.#send(bytes, this.#trailers !== null && !this.#sendsTrailers)
    }
    if (this.#trailers === null || this.#waitingBytes > 0 || this.#isEndSent || this.#end !== null) return
    if (this.#sendsTrailers) {
      this.#isEndSent = true
      this.#awaitsTrailers = true
      this.#options.events.ask(side, trailersOf(side, this.#trailers))
    } else if (!this.#passesBy) this.#send(NO_BYTES, true)
    else this.#finish(this.#trailers)
  }

  /** The trailers go to the service, which the end of the body tells it. */
  get #sendsTrailers(): boolean {
    return this.#options.sendsTrailers && this.#trailers !== '' && !this.#isAlone
  }

  #send(bytes: Buffer, isEnd: boolean): void {
    const { side, mode, events } = this.#options
    this.#isEndSent = isEnd
    this.#hasSent ||= bytes.length > 0
    if (mode === 'STREAMED') {
      this.#unanswered.push(bytes)
      this.#unansweredBytes += bytes.length
    } else if (!this.#isChanged) {
      this.#unanswered.push(bytes)
      this.#keptBytes += bytes.length
      // Who waits with answers for so long makes the body anew.
      if (this.#keptBytes > WAITING_BYTES_MAX) this.#changes()
    }
    events.ask(side, bodyOf(side, bytes, isEnd))
  }

  // --- what it answers ---

  #take(answer: Answer): boolean {
    if (this.#isOver || this.#end !== null) return true
    if (answer === null || 'kind' in answer) this.#stopped(answer)
    else {
      const problem = this.#options.events.answered(answer) ?? this.#answer(answer)
      // It is told of that in turn.
      if (problem !== null) this.#options.conversation.fail(problem)
    }
    this.#flush()
    this.#pull()
    return this.#isOver || this.#madeBytes < WAITING_BYTES_MAX
  }

  /** A text: why that is no answer. */
  #answer(answer: ProcessingResponse): string | null {
    const { side, events } = this.#options
    const { response } = answer
    if (response?.$case === 'immediateResponse') {
      this.#drop()
      events.immediate(response.value)
      return null
    }
    if (response?.$case === side.bodyCase) return this.#body((response.value as { response?: CommonResponse }).response)
    if (response?.$case !== side.trailersCase || !this.#awaitsTrailers)
      return 'it answers another question than it was asked'
    if (this.#unanswered.length > 0) return 'it answers trailers ahead of a body'
    const trailers = events.trailers(side, answer, this.#trailers ?? '')
    if (typeof trailers === 'string') return trailers
    this.#finish(trailers.lines)
    return null
  }

  #body(common: CommonResponse | undefined): string | null {
    const mutation = common?.bodyMutation?.mutation
    if (this.#options.mode === 'FULL_DUPLEX_STREAMED') {
      if (mutation === undefined) {
        const kept = this.#isChanged ? undefined : this.#unanswered.shift()
        if (kept !== undefined) this.#unchanged(kept)
        return null
      }
      this.#changes()
      if (mutation.$case !== 'streamedResponse') return 'it replaces a body that is streamed both ways'
      this.#make(mutation.value.body)
      // Behind trailers that it was told it says how they are, too.
      if (mutation.value.endOfStream && !this.#awaitsTrailers)
        this.#finish(this.#options.sendsTrailers ? '' : (this.#trailers ?? ''))
      return null
    }
    const piece = this.#unanswered.shift()
    if (piece === undefined) return 'it answers what it was not asked'
    const replacement = replacementOf(common?.bodyMutation)
    if (replacement === 'streamed') return STREAMED
    this.#unansweredBytes -= piece.length
    this.#answered(replacement ?? piece)
    return null
  }

  #unchanged(piece: Buffer): void {
    this.#keptBytes -= piece.length
    this.#answered(piece)
  }

  #answered(bytes: Buffer): void {
    this.#make(bytes)
    if (this.#isEndSent && this.#unanswered.length === 0 && !this.#awaitsTrailers) this.#finish(this.#trailers ?? '')
  }

  /** The copies of what it was sent are for nobody. */
  #changes(): void {
    if (this.#isChanged) return
    this.#isChanged = true
    this.#keptBytes = 0
    this.#unanswered.length = 0
  }

  /** The service is gone. What it has not answered passes as it came, unless it has the only copy. */
  #stopped(failed: Failed | null): void {
    const { conversation, mode, passesOnError, events } = this.#options
    const isLost = mode === 'FULL_DUPLEX_STREAMED' && this.#hasSent
    if ((failed !== null && !passesOnError) || isLost) {
      this.#drop()
      events.failed(failed ?? conversation.failure('it ends the stream within a body'))
      return
    }
    this.#isAlone = true
    for (const piece of this.#unanswered.splice(0)) this.#make(piece)
    this.#unansweredBytes = 0
    this.#passOn()
    if (this.#trailers !== null) this.#finish(this.#trailers)
  }

  // --- what goes on ---

  #passOn(): void {
    if (this.#waitingBytes === 0) return
    for (const piece of this.#waiting.list) this.#make(piece)
    this.#dropWaiting()
  }

  #make(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#made.push(bytes)
    this.#madeBytes += bytes.length
    this.#drain()
  }

  #finish(trailers: string): void {
    this.#end ??= trailers
    this.#dropWaiting()
    this.#drain()
  }

  #drain(): void {
    if (this.#isHeld) return
    while (this.#isTaken && this.#made.length > 0) {
      const bytes = this.#made.shift()!
      this.#madeBytes -= bytes.length
      this.#isTaken = this.#output.send(bytes, 0, bytes.length)
    }
    if (this.#made.length > 0 || this.#end === null || this.#isOver) return
    this.#isOver = true
    // First: the end of the body may be the end of the exchange.
    this.#options.events.over(this.#options.side)
    this.#output.end(this.#end)
  }

  #dropWaiting(): void {
    this.#waiting = new Pieces()
    this.#waitingBytes = 0
  }

  /** What comes now is dropped, as it comes. */
  drop(): void {
    this.#drop()
    this.#pull()
  }

  /** Nothing more of it is of interest. */
  #drop(): void {
    this.#isOver = true
    this.#clear()
  }

  #clear(): void {
    this.#dropWaiting()
    this.#unanswered.length = 0
    this.#made.length = 0
    this.#madeBytes = 0
  }
}

export const STREAMED = 'it streams a body that was not streamed both ways'

/** Null: the body stays. */
export function replacementOf(bodyMutation: BodyMutation | undefined): Buffer | 'streamed' | null {
  const mutation = bodyMutation?.mutation
  if (mutation === undefined) return null
  if (mutation.$case === 'streamedResponse') return 'streamed'
  if (mutation.$case === 'body') return mutation.value
  return mutation.value ? NO_BYTES : null
}
