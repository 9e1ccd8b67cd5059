/** JSON-RPC 2.0 as MCP uses it: one message at a time, ids are text or whole numbers (base protocol; no batches). */

export type RpcId = string | number
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject
export interface JsonObject {
  readonly [key: string]: JsonValue
}

export interface RpcRequest {
  readonly jsonrpc: '2.0'
  readonly id: RpcId
  readonly method: string
  readonly params?: JsonObject
}

export interface RpcNotification {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params?: JsonObject
}

export interface RpcResult {
  readonly jsonrpc: '2.0'
  readonly id: RpcId
  readonly result: JsonObject
}

export interface RpcErrorResponse {
  readonly jsonrpc: '2.0'
  readonly id: RpcId | null
  readonly error: { readonly code: number; readonly message: string; readonly data?: JsonValue }
}

export type RpcResponse = RpcResult | RpcErrorResponse
export type RpcMessage = RpcRequest | RpcNotification | RpcResponse

export const PARSE_ERROR = -32700
export const INVALID_REQUEST = -32600
export const METHOD_NOT_FOUND = -32601
export const INVALID_PARAMS = -32602
export const INTERNAL_ERROR = -32603

export function errorResponse(id: RpcId, code: number, message: string): RpcErrorResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Longest id, and longest name of a method; characters. */
export const NAME_LENGTH_MAX = 256

export function isId(value: unknown): value is RpcId {
  return typeof value === 'string' ? value.length <= NAME_LENGTH_MAX : Number.isSafeInteger(value)
}
