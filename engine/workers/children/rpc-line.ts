/** As much of a JSON-RPC message as is needed to say whose it is (JSON-RPC 2.0 sections 4 and 5; MCP: no batches). */
import { parseJson } from '#engine/kit/json.ts'

export interface RpcLine {
  readonly kind: 'request' | 'notification' | 'response'
  readonly id: string | number | null
  /** '' for a response. */
  readonly method: string
  /** Of `notifications/progress`. */
  readonly progressToken: string | number | null
  /** MCP 2026-07-28: the id of the `subscriptions/listen` that the notification is for. */
  readonly subscription: string | number | null
}

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

/** Null: it is no message. */
export function readRpcLine(text: string): RpcLine | null {
  const value = parseJson(text)
  // Not JSON at all: a banner, a debug print.
  if (value === undefined) return null
  const message = objectOf(value)
  if (message === null || message.jsonrpc !== '2.0') return null
  const id = nameOf(message.id)
  if (message.method === undefined) return responseOf(message, id)
  if (typeof message.method !== 'string') return null
  if (message.params !== undefined && objectOf(message.params) === null) return null
  // An id that is neither text nor a number cannot be answered.
  if (message.id !== undefined && id === null) return null
  const params = objectOf(message.params)
  return {
    kind: message.id === undefined ? 'notification' : 'request',
    id,
    method: message.method,
    progressToken: message.method === 'notifications/progress' ? nameOf(params?.progressToken) : null,
    subscription: nameOf(objectOf(params?._meta)?.[SUBSCRIPTION])
  }
}

function responseOf(message: Record<string, unknown>, id: string | number | null): RpcLine | null {
  const hasResult = objectOf(message.result) !== null
  const error = objectOf(message.error)
  const hasError = error !== null && typeof error.code === 'number' && typeof error.message === 'string'
  if (hasResult === hasError) return null
  return { kind: 'response', id, method: '', progressToken: null, subscription: null }
}

function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null
}

function nameOf(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null
}

/** Deeper values overflow the stack when written as JSON again; MCP's own are a few levels deep. */
const DEPTH_MAX = 64
const QUOTE = 34
const BACKSLASH = 92

/** Whether brackets nest deeper than that, in what is JSON. */
export function isTooDeep(text: string): boolean {
  let depth = 0
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) if (text.charCodeAt(i) === BACKSLASH) i++
    } else if (c === 123 || c === 91) {
      if (++depth > DEPTH_MAX) return true
    } else if (c === 125 || c === 93) depth--
  }
  return false
}
