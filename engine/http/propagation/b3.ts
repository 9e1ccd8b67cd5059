/**
 * B3 propagation (github.com/openzipkin/b3-propagation): one header `b3`, or one header for each part. Trace ids of
 * 64 bits are filled with zeros on the left.
 */
import type { HeaderBlock } from '#engine/http/headers.ts'
import { isId, MALFORMED, type Propagator, type TraceContext } from './trace-context.ts'

const DASH = 45
const SPAN_CHARS = 16
/** Trace id, span id, state and parent span. */
const SINGLE_CHARS_MAX = 32 + 1 + SPAN_CHARS + 2 + 1 + SPAN_CHARS

const MULTI_NAMES = ['x-b3-traceid', 'x-b3-spanid', 'x-b3-parentspanid', 'x-b3-sampled', 'x-b3-flags']

type Decision = Pick<TraceContext, 'isSampled' | 'isDebug'>
const DEFERRED: Decision = { isSampled: null, isDebug: false }
/** "true" and "false" come from before the specification. */
const DECISIONS: Readonly<Record<string, Decision | undefined>> = {
  '0': { isSampled: false, isDebug: false },
  '1': { isSampled: true, isDebug: false },
  false: { isSampled: false, isDebug: false },
  true: { isSampled: true, isDebug: false },
  d: { isSampled: true, isDebug: true }
}
const DEBUG = DECISIONS.d!

function contextOf(traceId: string, spanId: string, { isSampled, isDebug }: Decision): TraceContext {
  return { traceId: traceId.padStart(32, '0'), spanId, isSampled, isDebug, isRandom: false }
}

/** A sampling decision for a trace that the caller has not begun. */
function decisionAlone({ isSampled, isDebug }: Decision): TraceContext {
  return { traceId: '', spanId: '', isSampled, isDebug, isRandom: false }
}

/** Null: it is no header `b3`. */
export function parseB3(text: string): TraceContext | null {
  if (text.length > SINGLE_CHARS_MAX) return null
  if (text.length === 1) return DECISIONS[text] === undefined ? null : decisionAlone(DECISIONS[text])
  const idEnd = text.indexOf('-')
  const spanEnd = idEnd + 1 + SPAN_CHARS
  if ((idEnd !== 16 && idEnd !== 32) || text.length < spanEnd) return null
  if (!isId(text, 0, idEnd) || !isId(text, idEnd + 1, spanEnd)) return null
  const traceId = text.substring(0, idEnd)
  const spanId = text.substring(idEnd + 1, spanEnd)
  if (text.length === spanEnd) return contextOf(traceId, spanId, DEFERRED)
  const decision = text.charCodeAt(spanEnd) === DASH ? DECISIONS[text.charAt(spanEnd + 1)] : undefined
  if (decision === undefined) return null
  const end = spanEnd + 2
  // A parent of the caller's span may follow: it is not used.
  const isWhole = text.length === end || (text.charCodeAt(end) === DASH && isParent(text, end + 1))
  return isWhole ? contextOf(traceId, spanId, decision) : null
}

function isParent(text: string, start: number): boolean {
  return text.length === start + SPAN_CHARS && isId(text, start, text.length)
}

export const b3Single: Propagator = {
  extract(headers) {
    const i = headers.find('b3', 0)
    if (i < 0) return null
    if (headers.find('b3', i + 1) >= 0) return MALFORMED
    return parseB3(headers.value(i)) ?? MALFORMED
  },
  inject(headers, { traceId, spanId, isSampled, isDebug }) {
    headers.set('b3', `${traceId}-${spanId}-${isDebug ? 'd' : isSampled === true ? '1' : '0'}`)
  },
  remove(headers) {
    headers.remove('b3')
  }
}

export const b3Multi: Propagator = {
  extract(headers) {
    const traceId = one(headers, 'x-b3-traceid')
    const spanId = one(headers, 'x-b3-spanid')
    const sampled = one(headers, 'x-b3-sampled')
    const flags = one(headers, 'x-b3-flags')
    if (traceId === null || spanId === null || sampled === null || flags === null) return MALFORMED
    const decision = flags === '1' ? DEBUG : sampled === '' ? DEFERRED : DECISIONS[sampled]
    const hasIds = traceId !== '' || spanId !== ''
    if (!hasIds && sampled === '' && flags === '') return null
    if (decision === undefined) return MALFORMED
    if (!hasIds) return decisionAlone(decision)
    const isLong = traceId.length === 32 || traceId.length === 16
    if (!isLong || !isId(traceId, 0, traceId.length)) return MALFORMED
    if (spanId.length !== SPAN_CHARS || !isId(spanId, 0, SPAN_CHARS)) return MALFORMED
    return contextOf(traceId, spanId, decision)
  },
  inject(headers, { traceId, spanId, isSampled, isDebug }) {
    this.remove(headers)
    headers.append('x-b3-traceid', traceId)
    headers.append('x-b3-spanid', spanId)
    // Debug implies the decision: sending it too is an error (section "Debug Flag").
    if (isDebug) headers.append('x-b3-flags', '1')
    else headers.append('x-b3-sampled', isSampled === true ? '1' : '0')
  },
  remove(headers) {
    for (const name of MULTI_NAMES) headers.remove(name)
  }
}

/** The value; '' where there is none, null where there are several. */
function one(headers: HeaderBlock, name: string): string | null {
  const i = headers.find(name, 0)
  if (i < 0) return ''
  return headers.find(name, i + 1) >= 0 ? null : headers.value(i)
}
