/** `_meta.progressToken` of a request (base protocol, Progress). */

import { isId, isObject, type JsonObject, type RpcId, type RpcRequest } from './json-rpc.ts'
/** Null: no progress is asked for. */
export function progressTokenOf({ params }: RpcRequest): RpcId | null {
  const meta = params?._meta
  const token = isObject(meta) ? meta.progressToken : undefined
  return typeof token === 'string' || typeof token === 'number' ? token : null
}

/** The params with another token in place of theirs, if they have one. */
export function withProgressToken(params: JsonObject, change: (token: RpcId) => RpcId): JsonObject {
  const { _meta: meta } = params
  if (!isObject(meta) || !isId(meta.progressToken)) return params
  return { ...params, _meta: { ...meta, progressToken: change(meta.progressToken) } }
}
