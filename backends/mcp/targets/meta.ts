/** What `_meta` of a request says to whoever carries it (MCP, base protocol, `_meta`). */
import type { JsonObject, JsonValue, RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Under which token the progress of the request is told; null: it is not asked for. */
export function tokenOf({ params }: RpcRequest): string | number | null {
  const meta: JsonValue | undefined = params?._meta
  const token = isObject(meta) ? meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : null
}
