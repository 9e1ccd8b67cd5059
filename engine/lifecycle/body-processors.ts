/** The lifecycle's side of what works on bodies while they pass (contract/body-processor.ts). */
import { askForBody } from '#engine/contract/body.ts'
import {
  type BodyOutput,
  type BodyProcessing,
  type BodyProcessor,
  REQUEST_PROCESSORS,
  RESPONSE_PROCESSORS,
  resumeRequest
} from '#engine/contract/body-processor.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import {
  BODY_NONE,
  BODY_STREAM,
  type Exchange,
  type LocalReply,
  type ResponseTap,
  STEP_RECORDED,
  STEP_SENDING
} from '#engine/contract/exchange.ts'
import type { Slot } from '#engine/contract/slot.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { inTurn } from '#engine/socket/round.ts'
import { type AnswerLifecycle, InnerServer } from './inner-server.ts'
import { takeRequestBody, takeRequestEnd } from './request-body.ts'

/** Where a body goes that has passed all of them. */
interface BodyEnd {
  body(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  end(ex: Exchange, trailers: string): void
}

type Make = (output: BodyOutput) => BodyProcessor

/** The processors of one side of an exchange: each gets what the one before has made of the body. */
class Row implements BodyProcessor {
  readonly #ex: Exchange
  readonly #end: BodyEnd
  /** The other side of the exchange, which sends the body, takes up again. */
  readonly #more: () => void
  readonly #processors: BodyProcessor[] = []
  /** What is still to come out of it is for nobody. */
  isCut = false
  /** All has come. */
  isEnding = false
  /** All has come out of it. */
  hasEnded = false

  constructor(ex: Exchange, end: BodyEnd, more: () => void) {
    this.#ex = ex
    this.#end = end
    this.#more = more
  }

  add(make: Make): BodyProcessor {
    const at = this.#processors.length
    const next = (): BodyProcessor | undefined => this.#processors[at + 1]
    const processor = make({
      send: (chunk, start, end) => {
        if (this.#isOver) return true
        return inTurn(() => next()?.write(chunk, start, end) ?? this.#end.body(this.#ex, chunk, start, end, null))
      },
      end: (trailers) => {
        if (this.#isOver || this.hasEnded) return
        const following = next()
        this.hasEnded = following === undefined
        inTurn(() => (following === undefined ? this.#end.end(this.#ex, trailers) : following.end(trailers)))
      },
      more: () => {
        if (!this.#isOver) inTurn(() => this.#pull(at))
      }
    })
    this.#processors.push(processor)
    return processor
  }

  /** The last processor takes more. */
  pull(): void {
    this.#pull(this.#processors.length - 1)
  }

  #pull(at: number): void {
    if (at === 0) this.#more()
    else this.#processors[at - 1]!.resume()
  }

  get #isOver(): boolean {
    return this.isCut || this.#ex.step === STEP_RECORDED
  }

  write(chunk: Buffer, start: number, end: number): boolean {
    return this.isCut || this.#processors[0]!.write(chunk, start, end)
  }

  end(trailers: string): void {
    this.isEnding = true
    if (!this.isCut) this.#processors[0]!.end(trailers)
  }

  resume(): void {
    if (!this.isCut) this.#processors.at(-1)!.resume()
  }
}

/** Only this file sets these slots. */
const rowOf = (slot: Slot<BodyProcessor | null>, ex: Exchange): Row | null =>
  ex.slots === null ? null : (slot.get(ex) as Row | null)

/** All that has come out of these is the request. */
export const requestRow = (ex: Exchange): Row | null => rowOf(REQUEST_PROCESSORS, ex)
export const responseRow = (ex: Exchange): Row | null => rowOf(RESPONSE_PROCESSORS, ex)

const REQUEST_END: BodyEnd = {
  body: takeRequestBody,
  end(ex, trailers) {
    ex.requestDone = true
    takeRequestEnd(ex, trailers)
  }
}

/** What the lifecycle does with an exchange that a processor ends. */
export interface Ends extends AnswerLifecycle {
  fail(ex: Exchange, code: ErrorCode): void
  replyInstead(ex: Exchange, reply: LocalReply): void
}

/** `response`: where responses go. */
export function bodyProcessing(response: BodyEnd, ends: Ends): BodyProcessing {
  return {
    request: (ex, make) => inTurn(() => addToRequest(ex, make)),
    response: (ex, make) => inTurn(() => addToResponse(ex, make, response)),
    fail(ex, code) {
      inTurn(() => {
        cutResponse(ex)
        ends.fail(ex, code)
      })
    },
    reply(ex, reply) {
      if (ex.step >= STEP_SENDING) return false
      inTurn(() => ends.replyInstead(ex, reply))
      return true
    },
    answer(ex, status, headers, hasBody, events) {
      const answer = new InnerServer(ex, events, ends)
      ex.heldRequest = null
      answer.begin(status, headers, hasBody ? BODY_STREAM : BODY_NONE)
      // The hook may have held it up.
      if (!ex.requestDone) inTurn(() => resumeRequest(ex))
      return answer
    }
  }
}

/** What has come of the request belongs to the processor from now on. */
function addToRequest(ex: Exchange, make: Make): void {
  let row = requestRow(ex)
  if (row === null) {
    row = new Row(ex, REQUEST_END, () => inviteClient(ex))
    REQUEST_PROCESSORS.set(ex, row)
  }
  const { heldRequest, requestDone, requestTrailers } = ex
  ex.heldRequest = null
  ex.requestBytes = null
  ex.requestPrefix = null
  // For what stands behind a processor the request is done when all has come out of it.
  ex.requestDone = false
  ex.requestTrailers = ''
  row.hasEnded = false
  const hasRoom = fed(row.add(make), heldRequest, requestDone ? requestTrailers : null)
  if (!requestDone && hasRoom) row.pull()
}

/** The same for a response of a backend. */
function addToResponse(ex: Exchange, make: Make, end: BodyEnd): void {
  let row = responseRow(ex)
  if (row === null) {
    row = new Row(ex, end, () => ex.server?.resumeBody())
    RESPONSE_PROCESSORS.set(ex, row)
  }
  const { heldResponse, heldTrailers } = ex
  ex.heldResponse = null
  ex.heldTrailers = null
  ex.responseBytes = null
  ex.responsePrefix = null
  row.hasEnded = false
  const hasRoom = fed(row.add(make), heldResponse, heldTrailers)
  if (heldTrailers === null && hasRoom) row.pull()
}

/** Gives `processor` what is there already; null trailers: the end has not come. */
function fed(processor: BodyProcessor, pieces: readonly Buffer[] | null, trailers: string | null): boolean {
  let hasRoom = true
  if (pieces !== null) for (const piece of pieces) hasRoom = processor.write(piece, 0, piece.length)
  if (trailers !== null) processor.end(trailers)
  return hasRoom
}

/** It may wait to be asked for the body. */
function inviteClient(ex: Exchange): void {
  askForBody(ex)
  ex.client.resumeBody()
}

/** The response of ex is given up. */
export function cutResponse(ex: Exchange): void {
  const row = responseRow(ex)
  if (row !== null) row.isCut = true
}

/**
 * A backend broke its response off, of which the client has a part: `tap` may tell the client so in its own terms. That
 * passes what works on the body, too. False: it is to be broken off.
 */
export function endWithTap(ex: Exchange, tap: ResponseTap, code: ErrorCode, finish: () => void): boolean {
  const row = responseRow(ex)
  if (row !== null && (row.isCut || row.isEnding)) return false
  const last = tap.fault(ex, code)
  if (last === null) return false
  if (row === null) {
    ex.client.sendBody(ex, last, 0, last.length, null)
    finish()
  } else {
    row.write(last, 0, last.length)
    row.end('')
  }
  return true
}
