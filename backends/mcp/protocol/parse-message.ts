/**
 * Bytes -> JSON-RPC messages, of clients and of servers, both of them hostile until read. JSON-RPC 2.0 section 4 and 5;
 * MCP base protocol: ids are text or whole numbers, never null, and one body is one message (2025-06-18 changelog).
 */

import { blanks, DEPTH_MAX, Elements, isTooDeep, isWritten, NOWHERE, OBJECT, skipValue } from './json-bytes.ts'
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

/**
 * Whether the bytes are, as far as can be seen without parsing them, an object that answers `id` and nothing else:
 * forwarding them would let one server answer for another. False: read it.
 */
export function isPlainAnswer(bytes: Buffer, id: RpcId): boolean {
  const wanted = Buffer.from(JSON.stringify(id))
  const members = new Elements(bytes, OBJECT)
  let [ids, outcomes] = [0, 0]
  let more = members.first(blanks(bytes, 0))
  while (more) {
    const end = skipValue(bytes, members.value)
    const key = bytes.latin1Slice(members.key, members.keyEnd)
    if (key === 'method') return false
    if (key === 'id' && (++ids > 1 || !isWritten(bytes, members.value, end, wanted))) return false
    if (key === 'result' || key === 'error') outcomes++
    more = members.next(end)
  }
  return members.end !== NOWHERE && blanks(bytes, members.end) === bytes.length && ids === 1 && outcomes === 1
}

function unreadable(code: InvalidMessage['code'], message: string, id: RpcId | null = null): InvalidMessage {
  return { code, message, id }
}
