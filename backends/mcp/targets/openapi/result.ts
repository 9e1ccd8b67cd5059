/** An answer of the API as the result of a tool call (MCP 2025-11-25, server/tools, "Tool Result"). */

import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isJson } from './media.ts'

/** Characters of an error's body that the model is shown. */
const ERROR_CHARS_MAX = 8192
/** Deeper JSON is shown as text only: who writes it again would need as much of a stack. */
const DEPTH_MAX = 128

export interface Answered {
  readonly status: number
  /** Content-Type; '' without one. */
  readonly type: string
  readonly bytes: Buffer
  /** What was asked for, without anything secret: names what is no text. */
  readonly uri: string
}

export function toolError(text: string): JsonObject {
  return { content: [{ type: 'text', text }], isError: true }
}

/** 2xx are results, everything else is an error of the tool: the model sees what the API said, and can do better. */
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

/** UTF-8 without its mark; what is none becomes U+FFFD. */
function textOf(bytes: Buffer): string {
  return new TextDecoder().decode(bytes)
}

/** Null: it is no object, or no JSON at all. */
function objectOf(text: string): JsonObject | null {
  const value = parseJson(text) as JsonValue | undefined
  // An API that calls it JSON is shown as it is.
  if (value === undefined) return null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
  return isDeep(value, 0) ? null : (value as JsonObject)
}

function isDeep(value: JsonValue, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth > DEPTH_MAX || Object.values(value).some((item) => isDeep(item as JsonValue, depth + 1))
}
