/** A stateful client before a stateless server: what each says in the words of the other. Nothing is kept here. */

import type { JsonObject, JsonValue, RpcFault, RpcNotification, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { INTERNAL_ERROR } from '#backends/mcp/protocol/json-rpc.ts'
import { mirroredParameters } from '#backends/mcp/protocol/parameters.ts'
import { agreedVersion, STATELESS } from '#backends/mcp/protocol/revisions.ts'
import {
  HEADER_MISMATCH,
  isObject,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  META_LOG_LEVEL,
  META_SERVER_INFO,
  META_SUBSCRIPTION,
  META_VERSION,
  metaOf,
  UNSUPPORTED_VERSION
} from '#backends/mcp/protocol/stateless.ts'
import type { ServerFacts } from '#backends/mcp/targets/target.ts'
import { LIST_FILTERS, withoutTasks } from './stateless-client.ts'

/** What `initialize` told of the client: all that a stateless server has to know with every request. */
export interface Introduction {
  readonly clientInfo: JsonObject
  readonly capabilities: JsonObject
}

export function introductionOf(initialize: RpcRequest): Introduction {
  const { clientInfo, capabilities } = initialize.params ?? {}
  const { tasks, roots, extensions, ...rest } = isObject(capabilities) ? capabilities : {}
  const kept: Record<string, JsonValue> = { ...rest }
  if (isObject(roots)) kept.roots = {}
  const others = withoutTasks(extensions)
  if (others !== null) kept.extensions = others
  return { clientInfo: isObject(clientInfo) ? clientInfo : { name: 'unknown', version: '0' }, capabilities: kept }
}

/** The request as the server must see it. `logLevel`: what logging/setLevel asked for, null: no log messages. */
export function statelessRequest(message: RpcRequest, who: Introduction, logLevel: string | null): RpcRequest {
  const { task, ...params } = message.params ?? {}
  const _meta: Record<string, JsonValue> = { ...metaOf(message.params), ...claimMeta(who) }
  if (logLevel !== null) _meta[META_LOG_LEVEL] = logLevel
  return { jsonrpc: '2.0', id: message.id, method: message.method, params: { ...params, _meta } }
}

export function discoverFor(who: Introduction, id: number | string): RpcRequest {
  return { jsonrpc: '2.0', id, method: 'server/discover', params: { _meta: claimMeta(who) } }
}

function claimMeta(who: Introduction): JsonObject {
  return {
    [META_VERSION]: STATELESS,
    [META_CLIENT_INFO]: who.clientInfo,
    [META_CLIENT_CAPABILITIES]: who.capabilities
  }
}

/** What discovery said; null: it is no result of discovery, or of revisions that the gateway does not speak. */
export function factsOf(discovered: JsonObject, fallbackName: string): ServerFacts | null {
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
  const said: JsonObject = {
    protocolVersion: agreedVersion(initialize.params?.protocolVersion),
    capabilities: others === null ? rest : { ...rest, extensions: others },
    serverInfo: facts.serverInfo
  }
  return facts.instructions === null ? said : { ...said, instructions: facts.instructions }
}

/** A complete result for a client that knows neither types of results nor hints for caches; null: it cannot be said. */
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

/** Structured content that is no object has no place in the old era: its text, which servers send too, stays. */
function objectContent(result: JsonObject): JsonObject {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  if (Array.isArray(rest.content) && rest.content.length > 0) return rest
  return { ...rest, content: [{ type: 'text', text: JSON.stringify(structuredContent) }] }
}

/** The error, without codes that mean nothing in the old era: faults of the gateway's fields are not the client's. */
export function statefulError(error: RpcFault['error']): RpcFault['error'] {
  if (error.code === HEADER_MISMATCH) return { code: INTERNAL_ERROR, message: `The server refused: ${error.message}` }
  if (error.code === UNSUPPORTED_VERSION)
    return { code: INTERNAL_ERROR, message: `The server speaks no revision that the gateway speaks: ${error.message}` }
  return error
}

/** What to listen for on behalf of a session: every list that may change, and the resources it subscribed to. */
export function listenFor(capabilities: JsonObject, uris: readonly string[]): JsonObject {
  const notifications: Record<string, JsonValue> = {}
  for (const [key, kind] of LIST_FILTERS) {
    const declared = capabilities[kind]
    if (isObject(declared) && declared.listChanged === true) notifications[key] = true
  }
  if (uris.length > 0) notifications.resourceSubscriptions = uris
  return notifications
}

/** A notification without the mark of the subscription it came by. */
export function unmarked(notification: RpcNotification): RpcNotification {
  const meta = metaOf(notification.params)
  if (!(META_SUBSCRIPTION in meta)) return notification
  const { [META_SUBSCRIPTION]: _, ...others } = meta
  const { _meta, ...params } = notification.params ?? {}
  const rest = Object.keys(others).length === 0 ? params : { ...params, _meta: others }
  return { ...notification, params: rest }
}
