/**
 * JSON-RPC messages, of clients and of servers: bytes end as a message of one known shape or as one of two errors, and
 * what is a message can be written again. What the reader lets through is safe for the next reader.
 */
import assert from 'node:assert/strict'
import { DEPTH_MAX, isTooDeep } from '#backends/mcp/protocol/json-bytes.ts'
import { INVALID_REQUEST, PARSE_ERROR, type RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, parseMessage, validateMessage } from '#backends/mcp/protocol/parse-message.ts'

export const name = 'json-rpc'

export const dictionary = [
  ...[
    '"jsonrpc":"2.0"',
    '"id":',
    '"method":',
    '"params":{',
    '"result":{',
    '"error":{',
    '"code":-32600',
    '"message":""'
  ],
  ...['"tools/call"', '"initialize"', '"notifications/cancelled"', '"_meta":{', '"progressToken":', 'null', '1e999'],
  ...[
    '9007199254740993',
    '1.5',
    '-0',
    '[[[[[[[[',
    '{"a":{"a":',
    '"__proto__":',
    '\\ud800',
    '\\"',
    '\\\\',
    '[{',
    '\ufeff'
  ]
]

export function run(data: Buffer): void {
  const copy = Buffer.from(data)
  const message = parseMessage(data)
  assert.deepEqual(data, copy, 'the bytes are the caller’s')
  const value = parsed(data)
  if (isInvalid(message)) {
    assert.equal(message.code === PARSE_ERROR || message.code === INVALID_REQUEST, true)
    assert.ok(message.message.length > 0 && message.message.length < 200, 'says what is wrong, echoes nothing')
    assert.ok(message.id === null || isId(message.id))
    if (message.code === PARSE_ERROR) assert.equal(value, undefined, 'JSON is not refused as none')
    return
  }
  // What is read is what JSON says, nothing is put in or left out.
  assert.deepEqual(message, value)
  checkShape(message)
  assert.ok(depthOf(value) <= DEPTH_MAX)
  // Once written it says the same for ever; a number that JavaScript has not (1e999, -0) has changed by then.
  const text = JSON.stringify(message)
  assert.equal(JSON.stringify(parseMessage(Buffer.from(text))), text)
  assert.deepEqual(validateMessage(value), message)
}

/** Undefined: it is no JSON, or deeper than the reader looks. */
function parsed(data: Buffer): unknown {
  if (isTooDeep(data)) return undefined
  try {
    return JSON.parse(data.toString())
  } catch {
    // Said by the reader as well.
    return undefined
  }
}

function checkShape(message: RpcMessage): void {
  assert.equal(message.jsonrpc, '2.0')
  const kinds = ['method', 'result', 'error'].filter((field) => field in message)
  assert.equal(kinds.length, 1, `one of method, result and error: ${kinds}`)
  if ('method' in message) {
    assert.ok(typeof message.method === 'string' && message.method !== '')
    assert.ok(message.params === undefined || isObject(message.params))
    if ('id' in message) assert.ok(isId(message.id))
  } else if ('result' in message) {
    assert.ok(isId(message.id) && isObject(message.result))
  } else {
    assert.ok(message.id === null || isId(message.id))
    assert.ok(Number.isInteger(message.error.code) && typeof message.error.message === 'string')
  }
}

const isId = (id: unknown): boolean => typeof id === 'string' || Number.isSafeInteger(id)
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}
