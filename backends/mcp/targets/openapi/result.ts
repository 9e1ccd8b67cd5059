/** Turns the response of the API into the result of a tool call (MCP 2025-11-25, server/tools, "Tool Result"). */

import { isObject, type JsonObject, type JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isJson } from './media.ts'

/** Characters of an error's body that are passed to the model. */
const ERROR_CHARS_MAX = 8192
/** Deeper JSON is passed as text only: serializing it again would need too much stack. */
const DEPTH_MAX = 128

export interface Answered {
  readonly status: number
  /** Content-Type; '' if there is none. */
  readonly type: string
  readonly bytes: Buffer
  /** URI of the request without secrets: identifies binary content. */
  readonly uri: string
}

export function toolError(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}

/** 2xx are results, everything else is a tool error with the API's own text, so that the model can correct its call. */
export function toolResult({ status, type, bytes, uri }: Answered): JsonObject {
  const essence = (type.split(';', 1)[0] ?? '').trim().toLowerCase()
  if (status < 200 || status >= 300) {
    const text = isText(essence) ? textOf(bytes).slice(0, ERROR_CHARS_MAX).toWellFormed() : ''
    return toolError(text === '' ? `HTTP ${status}` : `HTTP ${status}\n${text}`)
  }
  if (bytes.length === 0) return { content: [{ type: 'text', text: `HTTP ${status}` }] }
  if (isText(essence)) {
    const text = textOf(bytes)
    const object = isJson(essence) ? objectOf(text) : null
    const content = [{ type: 'text', text }]
    return object === null ? { content } : { content, structuredContent: object }
  }
  const data = bytes.toString('base64')
  if (/^image\/[\w.+-]+$/.test(essence)) return { content: [{ type: 'image', data, mimeType: essence }] }
  if (/^audio\/[\w.+-]+$/.test(essence)) return { content: [{ type: 'audio', data, mimeType: essence }] }
  const mimeType = /^[\w.+-]+\/[\w.+-]+$/.test(essence) ? essence : 'application/octet-stream'
  return { content: [{ type: 'resource', resource: { uri, mimeType, blob: data } }] }
}

function isText(essence: string): boolean {
  if (essence === '' || essence.startsWith('text/') || isJson(essence)) return true
  return /^application\/(?:[\w.-]+\+)?(?:xml|yaml|x-yaml|x-ndjson|jsonl|javascript|graphql|x-www-form-urlencoded)$/.test(
    essence
  )
}

/** UTF-8 without a byte order mark; invalid bytes become U+FFFD. */
function textOf(bytes: Buffer): string {
  return new TextDecoder().decode(bytes)
}

/** Null: no object, or no JSON. */
function objectOf(text: string): JsonObject | null {
  const value = parseJson(text)
  // Content that claims to be JSON and is not is passed as text.
  return isObject(value) && !isDeep(value, 0) ? value : null
}

function isDeep(value: JsonValue, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth > DEPTH_MAX || Object.values(value).some((item) => isDeep(item as JsonValue, depth + 1))
}
