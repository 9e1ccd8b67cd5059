/** One side of a conversation: the answers that the service owes for what it was sent. */
import type { Time } from '#engine/contract/time.ts'
import type { ProcessingResponse } from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'

/** The service has failed the exchange. */
export interface Failed {
  readonly kind: 'failed'
  readonly isLate: boolean
  readonly detail: string
}

/** Null: the service has ended the stream in good order, and the exchange goes on without it. */
export type Answer = ProcessingResponse | Failed | null

export interface LaneOptions {
  readonly time: Time
  readonly messageTimeoutMs: number
  readonly maxMessageTimeoutMs: number
}

/** What answers of a side that is streamed come to. False: no more until Lane.resume(). */
export type LaneListener = (answer: Answer) => boolean

export class Lane {
  /** The service answers when it likes, as often as it likes (FULL_DUPLEX_STREAMED). */
  isFree = false
  /** What it owes is to come in time. */
  isTimed = true
  /** Its listener has no room. */
  isFull = false
  readonly #options: LaneOptions
  readonly #onLate: () => void
  #awaited = 0
  #isClosed = false
  #first: ((answer: Answer) => void) | null = null
  #listener: LaneListener | null = null
  #stopClock: (() => void) | null = null
  /** One extension for each message. */
  #isExtended = false

  constructor(options: LaneOptions, onLate: () => void) {
    this.#options = options
    this.#onLate = onLate
  }

  /** `listener` gets all answers but the ones that `next` was called for, and the end of the conversation. */
  listen(listener: LaneListener): void {
    this.#listener = listener
  }

  /** The next answer is for `done` alone. */
  next(done: (answer: Answer) => void): void {
    this.#first = done
  }

  /** The next answer is for the one that `next` was called for. */
  get awaitsNext(): boolean {
    return this.#first !== null
  }

  /** A message was sent that wants an answer. */
  expectAnswer(): void {
    this.#awaited++
    if (this.isTimed && this.#stopClock === null) this.#restart()
  }

  /** Somebody waits for what the service says. */
  get isOpen(): boolean {
    return this.#first !== null || this.#listener !== null
  }

  get awaitsAnswer(): boolean {
    return this.#awaited > 0 || (this.isFree && this.isOpen)
  }

  /** What still comes is for nobody. */
  close(): void {
    this.#isClosed = true
    this.#listener = null
    this.#first = null
    this.#rest()
  }

  /** The service owes nothing more. */
  settle(): void {
    this.isFree = false
    this.#rest()
  }

  /** False: nothing was asked. */
  take(response: ProcessingResponse): boolean {
    if (this.#isClosed) return true
    if (!this.awaitsAnswer) return false
    this.#awaited = Math.max(0, this.#awaited - 1)
    this.#rest()
    if (this.isTimed && (this.#awaited > 0 || this.isFree)) this.#restart()
    const first = this.#first
    this.#first = null
    if (first !== null) first(response)
    else this.isFull = this.#listener?.(response) === false
    return true
  }

  /** The conversation is over. */
  end(how: Failed | null): void {
    const first = this.#first
    const listener = this.#listener
    this.close()
    first?.(how)
    listener?.(how)
  }

  /** What Envoy ignores is ignored: a second extension, and one that is longer than may be. */
  extend(ms: number): void {
    if (this.#isExtended || this.#stopClock === null || ms < 1 || ms > this.#options.maxMessageTimeoutMs) return
    this.#startClock(ms)
    this.#isExtended = true
  }

  /** The answer that has been owed longest is to come within this time, counted from the answer before it. */
  #restart(): void {
    this.#isExtended = false
    this.#startClock(this.#options.messageTimeoutMs)
  }

  #startClock(ms: number): void {
    this.#stopClock?.()
    this.#stopClock = this.#options.time.after(ms, this.#onLate)
  }

  #rest(): void {
    this.#stopClock?.()
    this.#stopClock = null
  }
}
