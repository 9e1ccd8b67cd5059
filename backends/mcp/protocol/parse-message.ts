/**
 * Bytes -> JSON-RPC messages, of clients and of servers, both of them hostile until read. JSON-RPC 2.0 section 4 and 5;
 * MCP base protocol: ids are text or whole numbers, never null, and one body is one message (2025-06-18 changelog).
 */

import {
  INVALID_REQUEST,
  isId,
  isObject,
  type JsonObject,
  NAME_LENGTH_MAX,
  PARSE_ERROR,
  type RpcId,
  type RpcMessage
} from './json-rpc.ts'
/** What is wrong with the bytes. */
export interface InvalidMessage {
  readonly code: typeof PARSE_ERROR | typeof INVALID_REQUEST
  readonly message: string
  /** Of the message, where that much could be read. */
  readonly id: RpcId | null
}

/** Arguments of tools are a few levels deep; JSON.stringify of a value overflows the stack at some thousands. */
export const DEPTH_MAX = 64

const QUOTE = 34
/** Bytes of a text that are looked at one by one. */
const NEAR = 64
const BACKSLASH = 92

/** The message, or why there is none. Never throws. */
export function parseMessage(bytes: Buffer): RpcMessage | InvalidMessage {
  if (isTooDeep(bytes)) return unreadable(INVALID_REQUEST, `nested more than ${DEPTH_MAX} levels deep`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString())
  } catch {
    return unreadable(PARSE_ERROR, 'Parse error: the body is not JSON')
  }
  return validateMessage(value)
}

export function isInvalid(message: RpcMessage | InvalidMessage): message is InvalidMessage {
  return !('jsonrpc' in message)
}

/** The same for what is JSON already, and not too deep. */
export function validateMessage(value: unknown): RpcMessage | InvalidMessage {
  if (Array.isArray(value)) return unreadable(INVALID_REQUEST, 'Invalid Request: batches are not supported')
  if (!isObject(value)) return unreadable(INVALID_REQUEST, 'Invalid Request: not an object')
  const { id } = value
  const known = isId(id) ? id : null
  if (value.jsonrpc !== '2.0') return unreadable(INVALID_REQUEST, 'Invalid Request: jsonrpc must be "2.0"', known)
  if ('method' in value) return checkCall(value, known)
  if (known === null && id !== null) return unreadable(INVALID_REQUEST, 'Invalid Request: id must be text or a number')
  if ('result' in value) {
    if ('error' in value) return unreadable(INVALID_REQUEST, 'Invalid Request: both result and error', known)
    if (known === null) return unreadable(INVALID_REQUEST, 'Invalid Request: id must be text or a number')
    if (!isObject(value.result)) return unreadable(INVALID_REQUEST, 'Invalid Request: result must be an object', known)
    return value as unknown as RpcMessage
  }
  const { error } = value
  if (!isObject(error)) return unreadable(INVALID_REQUEST, 'Invalid Request: neither method, result nor error', known)
  if (!Number.isInteger(error.code) || typeof error.message !== 'string')
    return unreadable(INVALID_REQUEST, 'Invalid Request: error needs a code and a message', known)
  return value as unknown as RpcMessage
}

function checkCall(value: JsonObject, known: RpcId | null): RpcMessage | InvalidMessage {
  const { method, params } = value
  if (typeof method !== 'string' || method.length === 0 || method.length > NAME_LENGTH_MAX)
    return unreadable(INVALID_REQUEST, 'Invalid Request: method must be text', known)
  if (params !== undefined && !isObject(params))
    return unreadable(INVALID_REQUEST, 'Invalid Request: params must be an object', known)
  if ('id' in value && known === null)
    return unreadable(INVALID_REQUEST, 'Invalid Request: id must be text or a whole number')
  if ('result' in value || 'error' in value)
    return unreadable(INVALID_REQUEST, 'Invalid Request: a request has no result and no error', known)
  return value as unknown as RpcMessage
}

/** Whether brackets nest deeper than DEPTH_MAX: looked at before anything recursive sees the value. */
export function isTooDeep(bytes: Buffer): boolean {
  if (bytes.length <= DEPTH_MAX) return false
  let depth = 0
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i]!
    if (c === QUOTE) {
      i = endOfText(bytes, i + 1)
    } else if (c === 123 || c === 91) {
      if (++depth > DEPTH_MAX) return true
    } else if (c === 125 || c === 93) depth--
  }
  return false
}

/** Place of the quote that ends the text which begins at `from`. */
function endOfText(bytes: Buffer, from: number): number {
  const { length } = bytes
  const near = Math.min(length, from + NEAR)
  let i = from
  while (i < near) {
    const c = bytes[i]!
    if (c === QUOTE) return i
    i += c === BACKSLASH ? 2 : 1
  }
  if (i >= length) return i
  // A long text without escapes, as most are, is found by the machine; any other is read to its end, once.
  const quote = bytes.indexOf(QUOTE, i)
  if (quote < 0) return length
  if (!bytes.subarray(i, quote).includes(BACKSLASH)) return quote
  while (i < length && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
  return i
}

/**
 * Whether the bytes are, as far as can be told without reading them, an object that answers `id` and nothing else:
 * forwarding them would let one server answer for another. False: read it.
 */
export function isPlainAnswer(bytes: Buffer, id: RpcId): boolean {
  const wanted = Buffer.from(JSON.stringify(id))
  let [depth, ids, outcomes] = [0, 0, 0]
  let isKey = false
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i]!
    if (c === QUOTE) {
      const end = endOfText(bytes, i + 1)
      if (isKey && depth === 1) {
        const key = bytes.latin1Slice(i + 1, end)
        // Spelled with escapes, it may be any of them.
        if (key === 'method' || key.includes('\\')) return false
        if (key === 'id' && (++ids > 1 || !isValue(bytes, end + 1, wanted))) return false
        if (key === 'result' || key === 'error') outcomes++
        isKey = false
      }
      i = end
    } else if (c === 123 || c === 91) {
      if (depth === 0) isKey = ++depth === 1
      else i = endOfNested(bytes, i + 1)
    } else if (c === 44) isKey = depth === 1
    else if ((c === 125 || c === 93) && --depth === 0)
      return ids === 1 && outcomes === 1 && /^\s*$/.test(bytes.latin1Slice(i + 1))
  }
  return false
}

/** Place of the bracket that closes what has been opened before `from`; the length where none does. */
function endOfNested(bytes: Buffer, from: number): number {
  const { length } = bytes
  let depth = 1
  for (let i = from; i < length; i++) {
    const c = bytes[i]!
    if (c === QUOTE) i = endOfText(bytes, i + 1)
    else if (c === 123 || c === 91) depth++
    else if ((c === 125 || c === 93) && --depth === 0) return i
  }
  return length
}

/** Whether the value behind the colon at `from` is written so. */
function isValue(bytes: Buffer, from: number, wanted: Buffer): boolean {
  let i = from
  while (i < bytes.length && (isBlank(bytes[i]!) || bytes[i] === 58)) i++
  const end = i + wanted.length
  if (end >= bytes.length || bytes.compare(wanted, 0, wanted.length, i, end) !== 0) return false
  const c = bytes[end]!
  return c === 44 || c === 125 || isBlank(c)
}

const isBlank = (c: number): boolean => c === 32 || c === 9 || c === 10 || c === 13

function unreadable(code: InvalidMessage['code'], message: string, id: RpcId | null = null): InvalidMessage {
  return { code, message, id }
}
