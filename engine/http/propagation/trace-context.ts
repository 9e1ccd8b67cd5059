/** What headers say of the trace that a request is part of, whatever their format. */
import type { HeaderBlock } from '#engine/http/headers.ts'

export interface TraceContext {
  /** 32 lower-case hex digits, not all of them zero; '' where headers carry a sampling decision alone (B3). */
  readonly traceId: string
  /** 16 lower-case hex digits of the caller's span, not all of them zero; '' with an empty traceId. */
  readonly spanId: string
  /** The caller records the trace; null: it leaves the decision to us (B3). */
  readonly isSampled: boolean | null
  /** B3's debug flag: sampled, and collectors should keep it. */
  readonly isDebug: boolean
  /** The trace id was made at random (Trace Context level 2, section 3.2.2.5.2). */
  readonly isRandom: boolean
}

/** Headers of a format are there and cannot be read: the request counts as one without a trace. */
export const MALFORMED = 'malformed'

/** Reads and writes the headers of one format. */
export interface Propagator {
  /** Null: the request has none. Must look at no more than a bounded part of a header. */
  extract(headers: HeaderBlock): TraceContext | typeof MALFORMED | null
  /** Replaces the headers of the format. */
  inject(headers: HeaderBlock, context: TraceContext): void
  /** Removes the headers of the format. */
  remove(headers: HeaderBlock): void
}

/** Whether text[start, end) is lower-case hex, and not zeros alone. */
export function isId(text: string, start: number, end: number): boolean {
  let isZero = true
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i)
    if (!isHexDigit(c)) return false
    if (c !== 48) isZero = false
  }
  return !isZero
}

/** Whether text[start, end) is lower-case hex. */
export function isHex(text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (!isHexDigit(text.charCodeAt(i))) return false
  return true
}

function isHexDigit(c: number): boolean {
  return (c >= 48 && c <= 57) || (c >= 97 && c <= 102)
}
