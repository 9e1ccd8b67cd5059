/** W3C Trace Context, levels 1 and 2: the headers traceparent and tracestate. */
import type { HeaderBlock } from '#engine/http/headers.ts'
import { isHex, isId, MALFORMED, type Propagator, type TraceContext } from './trace-context.ts'

const DASH = 45
/** 00-<32>-<16>-<2>: section 3.2.2 */
const LENGTH = 55
const SAMPLED = 1
const RANDOM = 2

/** Section 3.3.1.1: members of a list, */
const MEMBERS_MAX = 32
/** section 3.3.1.3.1: characters of a key and of a value, */
const KEY_CHARS_MAX = 256
const TENANT_CHARS_MAX = 241
const SYSTEM_CHARS_MAX = 14
const VALUE_CHARS_MAX = 256
/** section 3.3.1.5: what is passed on in any case, and what goes first when there is more. */
export const TRACESTATE_CHARS_MAX = 512
const LONG_MEMBER_CHARS = 128

/** Null: not a traceparent that a version of the specification allows. */
export function parseTraceparent(text: string): TraceContext | null {
  if (text.length < LENGTH || !isHex(text, 0, 2)) return null
  const version = text.substring(0, 2)
  if (version === 'ff') return null
  // Later versions may append fields; version 00 is whole.
  if (text.length > LENGTH && (version === '00' || text.charCodeAt(LENGTH) !== DASH)) return null
  if (text.charCodeAt(2) !== DASH || text.charCodeAt(35) !== DASH || text.charCodeAt(52) !== DASH) return null
  if (!isId(text, 3, 35) || !isId(text, 36, 52) || !isHex(text, 53, LENGTH)) return null
  const flags = Number.parseInt(text.substring(53, LENGTH), 16)
  return {
    traceId: text.substring(3, 35),
    spanId: text.substring(36, 52),
    isSampled: (flags & SAMPLED) !== 0,
    isDebug: false,
    isRandom: (flags & RANDOM) !== 0
  }
}

/** Flags that this version does not know are sent as zero (section 3.2.2.5.3). */
export function formatTraceparent({ traceId, spanId, isSampled, isRandom }: TraceContext): string {
  return `00-${traceId}-${spanId}-0${(isSampled === true ? SAMPLED : 0) | (isRandom ? RANDOM : 0)}`
}

export const traceparent: Propagator = {
  extract(headers) {
    const i = headers.find('traceparent', 0)
    if (i < 0) return null
    // Several are ambiguous.
    if (headers.find('traceparent', i + 1) >= 0) return MALFORMED
    return parseTraceparent(headers.value(i)) ?? MALFORMED
  },
  inject(headers, context) {
    headers.set('traceparent', formatTraceparent(context))
  },
  remove(headers) {
    headers.remove('traceparent')
    headers.remove('tracestate')
  }
}

/**
 * Keeps tracestate within bounds, and removes what is no tracestate (section 3.3.1). Returns what goes on, '' for
 * nothing.
 */
export function boundTracestate(headers: HeaderBlock): string {
  const i = headers.find('tracestate', 0)
  if (i < 0) return ''
  const isOne = headers.find('tracestate', i + 1) < 0
  const received = isOne ? headers.value(i) : headers.getAll('tracestate')!
  const kept = boundedTracestate(received)
  if (kept === received && isOne) return kept
  headers.remove('tracestate')
  if (kept !== '') headers.append('tracestate', kept)
  return kept
}

/** What is passed on of a tracestate; '' when it is malformed, because then none of it may be (section 3.3.1.5). */
export function boundedTracestate(text: string): string {
  const members = membersOf(text)
  if (members === null) return ''
  let chars = members.reduce((sum, member) => sum + member.length + 1, -1)
  if (chars <= TRACESTATE_CHARS_MAX) return chars <= 0 ? '' : members.join(',')
  const kept: string[] = []
  // The eldest entries stand at the end, and long ones before all others go.
  for (let i = members.length - 1; i >= 0; i--) {
    const isDropped = chars > TRACESTATE_CHARS_MAX && members[i]!.length > LONG_MEMBER_CHARS
    if (isDropped) chars -= members[i]!.length + 1
    else kept.unshift(members[i]!)
  }
  while (chars > TRACESTATE_CHARS_MAX) chars -= kept.pop()!.length + 1
  return kept.join(',')
}

/** Null: it is malformed. */
function membersOf(text: string): string[] | null {
  const members: string[] = []
  const keys: string[] = []
  let start = 0
  while (start <= text.length) {
    const comma = text.indexOf(',', start)
    const end = comma < 0 ? text.length : comma
    const member = trimmed(text, start, end)
    start = end + 1
    // Empty members are allowed, and mean nothing.
    if (member === '') continue
    const equals = member.indexOf('=')
    if (equals < 0 || members.length === MEMBERS_MAX) return null
    const key = member.substring(0, equals)
    if (keys.includes(key) || !isKey(key) || !isValue(member, equals + 1)) return null
    keys.push(key)
    members.push(member)
  }
  return members
}

/** Without spaces and tabs around it. */
function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.substring(start, end)
}

function isBlank(c: number): boolean {
  return c === 32 || c === 9
}

/** simple-key, or tenant-id "@" system-id (section 3.3.1.3.1). */
function isKey(key: string): boolean {
  const at = key.indexOf('@')
  if (at < 0) return key.length <= KEY_CHARS_MAX && isKeyPart(key, 0, key.length)
  const isLong = at > TENANT_CHARS_MAX || key.length - at - 1 > SYSTEM_CHARS_MAX
  return !isLong && isKeyPart(key, 0, at) && isKeyPart(key, at + 1, key.length)
}

function isKeyPart(key: string, start: number, end: number): boolean {
  if (start === end) return false
  for (let i = start; i < end; i++) {
    const c = key.charCodeAt(i)
    const isFirst = (c >= 97 && c <= 122) || (c >= 48 && c <= 57)
    // _ - * /
    if (!isFirst && (i === start || (c !== 95 && c !== 45 && c !== 42 && c !== 47))) return false
  }
  return true
}

/** 1 to 256 printable characters without "," and "="; blanks around it have been trimmed. */
function isValue(member: string, start: number): boolean {
  if (start === member.length || member.length - start > VALUE_CHARS_MAX) return false
  for (let i = start; i < member.length; i++) {
    const c = member.charCodeAt(i)
    if (c < 32 || c > 126 || c === 61) return false
  }
  return true
}
