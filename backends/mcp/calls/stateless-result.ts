/** What every result of the stateless era has (2026-07-28, basic/index, ResultType; server/utilities/caching). */

import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { META_SERVER_INFO, metaOf } from '#backends/mcp/protocol/stateless.ts'
import { OWN_INFO } from '#backends/mcp/session/initialize.ts'
/** A result of the gateway's own making: merged of several, for this caller, and not for long. */
export function completeResult(result: JsonObject): JsonObject {
  const _meta = { ...metaOf(result), [META_SERVER_INFO]: OWN_INFO }
  return { ...result, resultType: 'complete', ttlMs: 0, cacheScope: 'private', _meta }
}
