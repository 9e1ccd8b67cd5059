/** What a message names, for spans about it. */
import type { RpcNotification, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'

/** By method, and in which parameter. */
const ITEMS: Readonly<Record<string, readonly [kind: McpItem['kind'], parameter: string] | undefined>> = {
  'tools/call': ['tool', 'name'],
  'prompts/get': ['prompt', 'name'],
  'resources/read': ['resource', 'uri'],
  'resources/subscribe': ['resource', 'uri'],
  'resources/unsubscribe': ['resource', 'uri'],
  'notifications/resources/updated': ['resource', 'uri']
}

/** Null: it names nothing. */
export function itemOf({ method, params }: RpcRequest | RpcNotification): Pick<McpItem, 'kind' | 'name'> | null {
  const named = Object.hasOwn(ITEMS, method) ? ITEMS[method] : undefined
  const name = named === undefined ? undefined : params?.[named[1]]
  return named === undefined || typeof name !== 'string' ? null : { kind: named[0], name }
}
