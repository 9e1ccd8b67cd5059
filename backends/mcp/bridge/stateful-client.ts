/** Translations between a stateful client and a stateless server; pure functions. */

import type { ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import {
  INTERNAL_ERROR,
  isObject,
  type JsonObject,
  type JsonValue,
  type RpcErrorResponse,
  type RpcNotification,
  type RpcRequest
} from '#backends/mcp/protocol/json-rpc.ts'
import { mirroredParameters } from '#backends/mcp/protocol/parameters.ts'
import { agreedVersion, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import {
  HEADER_MISMATCH,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_SERVER_INFO,
  META_SUBSCRIPTION,
  META_VERSION,
  metaOf,
  UNSUPPORTED_VERSION
} from '#backends/mcp/protocol/stateless.ts'
import { LIST_FILTERS, withoutTasks } from './stateless-client.ts'
/** From the client's `initialize`: what a stateless server gets with every request. */
export interface ClientIdentity {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
}

export function clientIdentityOf(initialize: RpcRequest): ClientIdentity {
  const { clientInfo, capabilities } = initialize.params ?? {}
  const { tasks, roots, extensions, ...rest } = isObject(capabilities) ? capabilities : {}
  const kept: Record<string, JsonValue> = { ...rest }
  if (isObject(roots)) kept.roots = {}
  const others = withoutTasks(extensions)
  if (others !== null) kept.extensions = others
  return { clientInfo: isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' }, capabilities: kept }
}

/** The client's request for the server. `logLevel`: of logging/setLevel; null: no log messages. */
export function statelessRequest(message: RpcRequest, client: ClientIdentity, logLevel: string | null): RpcRequest {
  const { task, ...params } = message.params ?? {}
  const _meta: Record<string, JsonValue> = { ...metaOf(message.params), ...claimMeta(client) }
  if (logLevel !== null) _meta[META_LOG_LEVEL] = logLevel
  return { jsonrpc: '2.0', id: message.id, method: message.method, params: { ...params, _meta } }
}

export function discoverFor(client: ClientIdentity, id: number | string): RpcRequest {
  return { jsonrpc: '2.0', id, method: 'server/discover', params: { _meta: claimMeta(client) } }
}

function claimMeta(client: ClientIdentity): JsonObject {
  return {
    [META_VERSION]: STATELESS,
    [META_CLIENT_INFO]: client.clientInfo,
    [META_CLIENT_CAPABILITIES]: client.capabilities
  }
}

/** Null: it is no DiscoverResult, or of revisions that the gateway does not speak. */
export function readDiscoverResult(discovered: JsonObject, fallbackName: string): ServerFacts | null {
  const { supportedVersions, capabilities, instructions } = discovered
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(STATELESS) || !isObject(capabilities))
    return null
  const info = metaOf(discovered)[META_SERVER_INFO]
  return {
    protocolVersion: STATELESS,
    capabilities,
    serverInfo: isObject(info) && typeof info.name === 'string' ? info : { name: fallbackName, version: '0' },
    instructions: typeof instructions === 'string' ? instructions : null
  }
}

/** The answer to `initialize`. */
export function initializeResult(initialize: RpcRequest, facts: ServerFacts): JsonObject {
  const { extensions, ...rest } = facts.capabilities
  const others = withoutTasks(extensions)
  const result: JsonObject = {
    protocolVersion: agreedVersion(initialize.params?.protocolVersion),
    capabilities: others === null ? rest : { ...rest, extensions: others },
    serverInfo: facts.serverInfo
  }
  return facts.instructions === null ? result : { ...result, instructions: facts.instructions }
}

/** A result for a client that knows neither result types nor cache hints; null: it is not complete. */
export function statefulResult(method: string, result: JsonObject): JsonObject | null {
  const { resultType, ttlMs, cacheScope, ...rest } = result
  if (resultType !== undefined && resultType !== 'complete') return null
  const { [META_SERVER_INFO]: _, ...meta } = metaOf(result)
  const { _meta: __, ...bare } = rest
  const plain = Object.keys(meta).length === 0 ? bare : { ...bare, _meta: meta }
  if (method === 'tools/list') return listedTools(plain)
  return method === 'tools/call' ? objectContent(plain) : plain
}

/**
 * Tools that break the rules of mirrored parameters are left out, as every client must. An output schema of another
 * type than object is of the new era alone (SEP-2106), and official clients of the old one would refuse the whole list.
 */
function listedTools(result: JsonObject): JsonObject {
  if (!Array.isArray(result.tools)) return result
  const tools: JsonValue[] = []
  for (const tool of result.tools) {
    if (!isObject(tool) || mirroredParameters(tool.inputSchema) === null) continue
    const { outputSchema, ...rest } = tool
    tools.push(outputSchema === undefined || (isObject(outputSchema) && outputSchema.type === 'object') ? tool : rest)
  }
  return { ...result, tools }
}

/** The old era has only objects as structured content. Its text form, which servers send too, stays. */
function objectContent(result: JsonObject): JsonObject {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  if (Array.isArray(rest.content) && rest.content.length > 0) return rest
  return { ...rest, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] }
}

/** The error without codes that the old era lacks: mismatched headers are the gateway's fault, not the client's. */
export function statefulError(error: RpcErrorResponse['error']): RpcErrorResponse['error'] {
  if (error.code === HEADER_MISMATCH) return { code: INTERNAL_ERROR, message: `The server refused: ${error.message}` }
  if (error.code === UNSUPPORTED_VERSION)
    return { code: INTERNAL_ERROR, message: `The server speaks no revision that the gateway speaks: ${error.message}` }
  return error
}

/** The subscription filter of a session: every list that may change, and its resource subscriptions. */
export function listenFor(capabilities: JsonObject, uris: readonly string[]): JsonObject {
  const notifications: Record<string, JsonValue> = {}
  for (const [key, kind] of LIST_FILTERS) {
    const declared = capabilities[kind]
    if (isObject(declared) && declared.listChanged === true) notifications[key] = true
  }
  if (uris.length > 0) notifications.resourceSubscriptions = uris
  return notifications
}

/** The notification without the id of its subscription. */
export function withoutSubscriptionId(notification: RpcNotification): RpcNotification {
  const meta = metaOf(notification.params)
  if (!(META_SUBSCRIPTION in meta)) return notification
  const { [META_SUBSCRIPTION]: _, ...others } = meta
  const { _meta, ...params } = notification.params ?? {}
  const rest = Object.keys(others).length === 0 ? params : { ...params, _meta: others }
  return { ...notification, params: rest }
}
