/** Methods, names of `_meta` and error codes of revision 2026-07-28 (schema/2026-07-28/schema.ts). */

import { isObject, type JsonObject, type JsonValue } from './json-rpc.ts'
import { type MethodTable, method } from './method.ts'
export const STATELESS_METHODS: MethodTable = new Map([
  ['server/discover', method('gateway', { cacheable: true })],
  ['tools/list', method('all', { cacheable: true })],
  ['tools/call', method('tool', { named: 'name', asksBack: true })],
  ['prompts/list', method('all', { cacheable: true })],
  ['prompts/get', method('prompt', { named: 'name', asksBack: true })],
  ['resources/list', method('all', { cacheable: true })],
  ['resources/templates/list', method('all', { cacheable: true })],
  ['resources/read', method('resource', { named: 'uri', asksBack: true, cacheable: true })],
  ['completion/complete', method('reference')],
  ['subscriptions/listen', method('all')],
  // The extension io.modelcontextprotocol/tasks; SEP-2663, Streamable HTTP: Routing Headers.
  ['tasks/get', method('task', { named: 'taskId' })],
  ['tasks/update', method('task', { named: 'taskId' })],
  ['tasks/cancel', method('task', { named: 'taskId' })],
  // Requests within a result, never by themselves.
  ['sampling/createMessage', method('client')],
  ['elicitation/create', method('client')],
  ['roots/list', method('client')]
])

export const HEADER_MISMATCH = -32020
export const MISSING_CLIENT_CAPABILITY = -32021
export const UNSUPPORTED_VERSION = -32022

/** Keys of `_meta` (basic/index, Reserved keys). */
export const META_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const META_CLIENT_INFO = 'io.modelcontextprotocol/clientInfo'
export const META_CLIENT_CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
export const META_LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
export const META_SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
export const META_SERVER_INFO = 'io.modelcontextprotocol/serverInfo'

/** Least severe first (server/utilities/logging). */
export const LOG_LEVELS: readonly string[] = [
  ...['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency']
]

/** Whether a message of `level` goes to a client that asked for `wanted`. Unknown levels do. */
export function isAtLeast(level: JsonValue | undefined, wanted: string): boolean {
  const at = typeof level === 'string' ? LOG_LEVELS.indexOf(level) : -1
  return at < 0 || at >= LOG_LEVELS.indexOf(wanted)
}

/** `_meta` of params or of a result; an empty object where there is none. */
export function metaOf(container: JsonObject | undefined): JsonObject {
  const meta = container?._meta
  return isObject(meta) ? meta : {}
}
