/**
 * What works on a body while it passes, and gives it back later: a service of others, for instance. A hook puts it
 * there. It gets what the tap of a response (exchange.ts) and the hooks before have made of the body, and what it gives
 * back is the body for hooks that collect it later, for the backend and for the client. Bytes: see transport.ts.
 */

import type { HeaderBlock } from '#engine/http/headers.ts'
import type { ErrorCode } from './errors.ts'
import type { Exchange, LocalReply } from './exchange.ts'
import type { Answer, AnswerEvents } from './in-process.ts'
import { Slot } from './slot.ts'

export interface BodyProcessor {
  /** Bytes [start, end) of `chunk`, valid during the call only. False: no more until BodyOutput.more(). */
  write(chunk: Buffer, start: number, end: number): boolean
  /** The body is complete. `trailers`: lines, each ended by CRLF, or '' for none. */
  end(trailers: string): void
  /** After BodyOutput.send() was false: there is room again. It may also be told when there was room before. */
  resume(): void
}

/** Where a processor puts what it has made of a body. Nothing that comes when the exchange is over does anything. */
export interface BodyOutput {
  /** Copies or sends the bytes before it returns. False: stop until BodyProcessor.resume(). */
  send(chunk: Buffer, start: number, end: number): boolean
  end(trailers: string): void
  /** After BodyProcessor.write() was false: it takes more. */
  more(): void
}

/** What is lent to policies: for hooks, in the step of that side. */
export interface BodyProcessing {
  /** What has come of the body goes to the new processor at once, and what comes from now on. Its client is invited. */
  request(ex: Exchange, make: (output: BodyOutput) => BodyProcessor): void
  /** The same for a backend's response. Not for a reply of the gateway's own, which is there as a whole. */
  response(ex: Exchange, make: (output: BodyOutput) => BodyProcessor): void
  /** Ends the exchange with the reply of `code`, or breaks the response off if it has begun. */
  fail(ex: Exchange, code: ErrorCode): void
  /** Ends the exchange with `reply`. False: its response has begun already, or it is over. */
  reply(ex: Exchange, reply: LocalReply): boolean
  /**
   * Begins a response that is made piece by piece, in place of what the request would have led to; response hooks see
   * it. For hooks that wait in the step of the request. What comes of the request's body is dropped, behind its
   * processors. `hasBody` false: no piece may follow.
   */
  answer(ex: Exchange, status: number, headers: HeaderBlock, hasBody: boolean, events: AnswerEvents): Answer
}

/** For configurations that are only looked at. */
export const NO_BODIES: BodyProcessing = {
  request() {},
  response() {},
  fail() {},
  reply: () => false,
  answer: () => ({ write: () => true, end() {}, fail() {} })
}

/** All processors of one side, in a row. */
export const REQUEST_PROCESSORS = new Slot<BodyProcessor | null>()
export const RESPONSE_PROCESSORS = new Slot<BodyProcessor | null>()

/** What takes the request's body has room for more of it. */
export function resumeRequest(ex: Exchange): void {
  const processors = ex.slots === null ? null : REQUEST_PROCESSORS.get(ex)
  if (processors === null) ex.client.resumeBody()
  else processors.resume()
}

/** What takes the response's body has room for more of it. */
export function resumeResponse(ex: Exchange): void {
  const processors = ex.slots === null ? null : RESPONSE_PROCESSORS.get(ex)
  if (processors === null) ex.server?.resumeBody()
  else processors.resume()
}

/** For taps: bytes of a response that has begun, in a turn of their own. False: stop for now. */
export function sendResponse(ex: Exchange, bytes: Buffer): boolean {
  const processors = ex.slots === null ? null : RESPONSE_PROCESSORS.get(ex)
  if (processors === null) return ex.client.sendBody(ex, bytes, 0, bytes.length, null)
  return processors.write(bytes, 0, bytes.length)
}

/** Neither client nor backend alone decides how its bodies get on. */
export function hasProcessors(ex: Exchange): boolean {
  return ex.slots !== null && (REQUEST_PROCESSORS.get(ex) !== null || RESPONSE_PROCESSORS.get(ex) !== null)
}
