/** The lifecycle's side of body processors, which work on bodies while they pass (contract/body-processor.ts). */
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

/** The receiver of a body behind its last processor. */
interface BodyEnd {
  body(ex: Exchange, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean
  end(ex: Exchange, trailers: string): void
}

type MakeProcessor = (output: BodyOutput) => BodyProcessor

/** The processors of one side of an exchange. Each gets the output of the one before it. */
class ProcessorChain implements BodyProcessor {
  readonly #ex: Exchange
  readonly #end: BodyEnd
  /** Lets the sender of the body, which is paused, go on. */
  readonly #more: () => void
  readonly #processors: BodyProcessor[] = []
  /** Further output is dropped. */
  isCut = false
  /** The whole body has gone in. */
  isEnding = false
  /** The whole body has come out. */
  hasEnded = false

  constructor(ex: Exchange, end: BodyEnd, more: () => void) {
    this.#ex = ex
    this.#end = end
    this.#more = more
  }

  add(make: MakeProcessor): BodyProcessor {
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

  /** The last processor has room again. */
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
const chainOf = (slot: Slot<BodyProcessor | null>, ex: Exchange): ProcessorChain | null =>
  ex.slots === null ? null : (slot.get(ex) as ProcessorChain | null)

/** Null: the request has no processors. Otherwise its body is what comes out of them. */
export const requestChain = (ex: Exchange): ProcessorChain | null => chainOf(REQUEST_PROCESSORS, ex)
export const responseChain = (ex: Exchange): ProcessorChain | null => chainOf(RESPONSE_PROCESSORS, ex)

const REQUEST_END: BodyEnd = {
  body: takeRequestBody,
  end(ex, trailers) {
    ex.requestDone = true
    takeRequestEnd(ex, trailers)
  }
}

/** What a processor needs of the lifecycle to end an exchange. */
export interface Ends extends AnswerLifecycle {
  fail(ex: Exchange, code: ErrorCode): void
  replyInstead(ex: Exchange, reply: LocalReply): void
}

/** `response`: the receiver of response bodies. */
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
      // A hook that waits has paused the request.
      if (!ex.requestDone) inTurn(() => resumeRequest(ex))
      return answer
    }
  }
}

/** The part of the request that has been read goes to the processor, as all of the rest will. */
function addToRequest(ex: Exchange, make: MakeProcessor): void {
  let chain = requestChain(ex)
  if (chain === null) {
    chain = new ProcessorChain(ex, REQUEST_END, () => askClientForBody(ex))
    REQUEST_PROCESSORS.set(ex, chain)
  }
  const { heldRequest, requestDone, requestTrailers } = ex
  ex.heldRequest = null
  ex.requestBytes = null
  ex.requestPrefix = null
  // Behind a processor the request is done when the whole body has come out.
  ex.requestDone = false
  ex.requestTrailers = ''
  chain.hasEnded = false
  const hasRoom = feed(chain.add(make), heldRequest, requestDone ? requestTrailers : null)
  if (!requestDone && hasRoom) chain.pull()
}

/** The same for a response of a backend. */
function addToResponse(ex: Exchange, make: MakeProcessor, end: BodyEnd): void {
  let chain = responseChain(ex)
  if (chain === null) {
    chain = new ProcessorChain(ex, end, () => ex.server?.resumeBody())
    RESPONSE_PROCESSORS.set(ex, chain)
  }
  const { heldResponse, heldTrailers } = ex
  ex.heldResponse = null
  ex.heldTrailers = null
  ex.responseBytes = null
  ex.responsePrefix = null
  chain.hasEnded = false
  const hasRoom = feed(chain.add(make), heldResponse, heldTrailers)
  if (heldTrailers === null && hasRoom) chain.pull()
}

/** Writes what has been read already. Null trailers: the end has not been read. True: there is room for more. */
function feed(processor: BodyProcessor, pieces: readonly Buffer[] | null, trailers: string | null): boolean {
  let hasRoom = true
  if (pieces !== null) for (const piece of pieces) hasRoom = processor.write(piece, 0, piece.length)
  if (trailers !== null) processor.end(trailers)
  return hasRoom
}

/** The client may be paused, or wait for a 100 (RFC 9110 section 10.1.1). */
function askClientForBody(ex: Exchange): void {
  askForBody(ex)
  ex.client.resumeBody()
}

/** Drops the rest of the response. */
export function cutResponse(ex: Exchange): void {
  const chain = responseChain(ex)
  if (chain !== null) chain.isCut = true
}

/**
 * The backend broke off a response that has begun. `tap` may write an error in the client's format, which passes the
 * processors, too. False: it has none, and the client's connection must be broken.
 */
/** Whether somebody else goes on with the response, of which the server has sent all that it will. */
export function goesOn(ex: Exchange, code: ErrorCode | null): boolean {
  const { tap } = ex
  if (tap?.goesOn === undefined || ex.step !== STEP_SENDING || ex.localReply !== null) return false
  const chain = responseChain(ex)
  return (chain === null || !(chain.isCut || chain.isEnding)) && tap.goesOn(ex, code)
}

export function endWithTap(ex: Exchange, tap: ResponseTap, code: ErrorCode, finish: () => void): boolean {
  const chain = responseChain(ex)
  if (chain !== null && (chain.isCut || chain.isEnding)) return false
  const last = tap.fault(ex, code)
  if (last === null) return false
  if (chain === null) {
    ex.client.sendBody(ex, last, 0, last.length, null)
    finish()
  } else {
    chain.write(last, 0, last.length)
    chain.end('')
  }
  return true
}
