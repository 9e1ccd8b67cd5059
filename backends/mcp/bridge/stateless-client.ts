/** Translations between a stateless client and a stateful server; pure functions. */

import type { ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import {
  INVALID_PARAMS,
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorResponse,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { NEWEST_STATEFUL, SUPPORTED_VERSIONS } from '#backends/mcp/protocol/revisions.ts'
import { RESOURCE_NOT_FOUND, URL_ELICITATION_REQUIRED } from '#backends/mcp/protocol/stateful.ts'
import {
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_SERVER_INFO,
  META_SUBSCRIPTION,
  META_VERSION,
  MISSING_CLIENT_CAPABILITY,
  metaOf,
  STATELESS_METHODS
} from '#backends/mcp/protocol/stateless.ts'
import { INPUTS_MAX, inputRequest, takesInput } from './input-requests.ts'
/** Each era has other methods of this extension: neither side may take the other to have it. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks'

/** What `_meta` of a stateless request says of its client. */
export interface ClientMeta {
  /** Null: not said. */
  readonly clientInfo: JsonObject | null
  readonly capabilities: JsonObject
  /** Least severity of log messages; null: no log messages. */
  readonly logLevel: string | null
}

export function clientMetaOf(message: RpcRequest): ClientMeta {
  const meta = metaOf(message.params)
  const info = meta[META_CLIENT_INFO]
  const capabilities = meta[META_CLIENT_CAPABILITIES]
  const level = meta[META_LOG_LEVEL]
  return {
    clientInfo: isObject(info) ? info : null,
    capabilities: isObject(capabilities) ? capabilities : {},
    logLevel: typeof level === 'string' ? level : null
  }
}

/** `initialize` in the name of the client. */
export function initializeFor(client: ClientMeta, id: number): RpcRequest {
  const { experimental, roots, sampling, elicitation } = client.capabilities
  const capabilities: Record<string, JsonValue> = {}
  if (experimental !== undefined) capabilities.experimental = experimental
  // Stateless clients cannot announce that their roots have changed.
  if (isObject(roots)) capabilities.roots = {}
  if (sampling !== undefined) capabilities.sampling = sampling
  if (elicitation !== undefined) capabilities.elicitation = elicitation
  const extensions = withoutTasks(client.capabilities.extensions)
  if (extensions !== null) capabilities.extensions = extensions
  const clientInfo = client.clientInfo ?? { name: 'weir', version: '0' }
  const params = { protocolVersion: NEWEST_STATEFUL, capabilities, clientInfo }
  return { jsonrpc: '2.0', id, method: 'initialize', params }
}

/** The request with an id of the upstream session, which is also its progress token there. */
export function statefulRequest(message: RpcRequest, id: number): RpcRequest {
  const { _meta, inputResponses, requestState, ...params } = message.params ?? {}
  const meta: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(metaOf(message.params))) if (!CLIENT_META_KEYS.has(key)) meta[key] = value
  if (meta.progressToken !== undefined) meta.progressToken = id
  const rest = Object.keys(meta).length === 0 ? params : { ...params, _meta: meta }
  return { jsonrpc: '2.0', id, method: message.method, params: rest }
}

const CLIENT_META_KEYS: ReadonlySet<string> = new Set([
  META_VERSION,
  META_CLIENT_INFO,
  META_CLIENT_CAPABILITIES,
  META_LOG_LEVEL
])

/** The result with the members that the stateless era requires. */
export function statelessResult(method: string, result: JsonObject, facts: ServerFacts): JsonObject {
  const meta = metaOf(result)
  const named = META_SERVER_INFO in meta ? meta : { ...meta, [META_SERVER_INFO]: facts.serverInfo }
  const whole: Record<string, JsonValue> = { ...result, resultType: 'complete', _meta: named }
  if (STATELESS_METHODS.get(method)?.cacheable === true) {
    // Without hints, a result may be neither cached nor shared.
    whole.ttlMs = freshness(result.ttlMs)
    whole.cacheScope = result.cacheScope === 'public' ? 'public' : 'private'
  }
  return whole
}

function freshness(ttlMs: JsonValue | undefined): number {
  return typeof ttlMs === 'number' && Number.isSafeInteger(ttlMs) && ttlMs > 0 ? ttlMs : 0
}

/** The DiscoverResult of a stateful server. */
export function discovery(facts: ServerFacts): JsonObject {
  const { tasks, ...rest } = facts.capabilities
  const extensions = withoutTasks(rest.extensions)
  const { extensions: _, ...plain } = rest
  const result: JsonObject = {
    supportedVersions: SUPPORTED_VERSIONS,
    capabilities: extensions === null ? plain : { ...plain, extensions }
  }
  return statelessResult(
    'server/discover',
    facts.instructions === null ? result : { ...result, instructions: facts.instructions },
    facts
  )
}

/** The error, without codes that the stateless era forbids (basic/index, Error Codes). */
export function statelessError(error: RpcErrorResponse['error']): RpcErrorResponse['error'] {
  if (error.code === RESOURCE_NOT_FOUND) return { ...error, code: INVALID_PARAMS }
  if (error.code !== URL_ELICITATION_REQUIRED) return error
  return {
    code: MISSING_CLIENT_CAPABILITY,
    message: error.message,
    data: { requiredCapabilities: { elicitation: { url: {} } } }
  }
}

/**
 * Error -32042 of 2025-11-25 (a URL must be visited first) -> the requests of an interim result; null: it is another
 * error, or this client visits no URLs.
 */
export function urlInputs(error: RpcErrorResponse['error'], capabilities: JsonObject): JsonObject | null {
  const listed = error.code === URL_ELICITATION_REQUIRED && isObject(error.data) ? error.data.elicitations : undefined
  if (!Array.isArray(listed) || listed.length === 0 || listed.length > INPUTS_MAX) return null
  const inputs: Record<string, JsonValue> = {}
  for (const [i, params] of listed.entries()) {
    if (!isObject(params)) return null
    const request: RpcRequest = {
      jsonrpc: '2.0',
      id: i,
      method: 'elicitation/create',
      params: { ...params, mode: 'url' }
    }
    if (!takesInput(capabilities, request)) return null
    inputs[`url${i}`] = inputRequest(request)
  }
  return inputs
}

export function interimResult(inputs: JsonObject, requestState: string): JsonObject {
  return { resultType: 'input_required', inputRequests: inputs, requestState }
}

/** The part of a subscription's filter that the server supports (basic/patterns/subscriptions, Acknowledgment). */
export function honouredFilter(filter: JsonObject, capabilities: JsonObject): JsonObject {
  const honoured: Record<string, JsonValue> = {}
  for (const [key, kind] of LIST_FILTERS) {
    const declared = capabilities[kind]
    if (filter[key] === true && isObject(declared) && declared.listChanged === true) honoured[key] = true
  }
  const uris = filter.resourceSubscriptions
  if (Array.isArray(uris) && isObject(capabilities.resources) && capabilities.resources.subscribe === true)
    honoured.resourceSubscriptions = uris.filter((uri) => typeof uri === 'string')
  return honoured
}

export const LIST_FILTERS: readonly (readonly [filter: string, kind: string])[] = [
  ['toolsListChanged', 'tools'],
  ['promptsListChanged', 'prompts'],
  ['resourcesListChanged', 'resources']
]

/** Whether the filter asks for the notification. */
export function passesFilter(notification: RpcNotification, filter: JsonObject): boolean {
  for (const [key, kind] of LIST_FILTERS) {
    if (notification.method === `notifications/${kind}/list_changed`) return filter[key] === true
  }
  if (notification.method !== 'notifications/resources/updated') return false
  const uris = filter.resourceSubscriptions
  return Array.isArray(uris) && uris.includes(notification.params?.uri ?? null)
}

/** The notification as one of the subscription that began with request `id`. */
export function ofSubscription(notification: RpcNotification, id: string | number): RpcNotification {
  const _meta = { ...metaOf(notification.params), [META_SUBSCRIPTION]: id }
  return { ...notification, params: { ...notification.params, _meta } }
}

/** Extensions without that of tasks; null: none are left. */
export function withoutTasks(extensions: JsonValue | undefined): JsonObject | null {
  if (!isObject(extensions)) return null
  const { [TASKS_EXTENSION]: _, ...rest } = extensions
  return Object.keys(rest).length === 0 ? null : rest
}
