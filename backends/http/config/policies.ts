/** The backend policy `http`: how servers are spoken to (docs/specification.md#backend-connections). */

import type { BackendHttp } from '#backends/http/config/snapshot.ts'
import { type BackendPolicies, mergedFields, type PolicySets, plainOnly } from '#engine/contract/backend-config.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { duration } from '#engine/schema/duration.ts'
import { z } from '#engine/schema/schema.ts'

const HTTP = atLeastOne({
  version: z
    .enum(['HTTP1', 'HTTP2'])
    .optional()
    .describe(
      'Default: HTTP2 for gRPC, and for what came over clear-text HTTP/2; else HTTP1. HTTP2 without TLS needs a backend with prior knowledge.'
    ),
  requestTimeout: duration()
    .optional()
    .describe('For one attempt: from sending the request to the end of its answer. "0s" is no limit.')
}).meta({ id: 'BackendHttp' })

/** Acts on plain servers; the last level that says it holds. */
export const httpPolicies: BackendPolicies = {
  keys: { http: 'http' },
  schemas: {
    http: HTTP.optional().describe('HTTP version and timeout of requests to backends that are plain servers.')
  },
  words: {
    repeated: () => 'is in another set of this place already: keep one of them',
    misplaced: (plain) => `${plainOnly(plain)}, and this one is none`,
    unreached: (plain) => `${plainOnly(plain)}, and there is none below`
  }
}

/** What `levels` say, least precise first; null: nothing. */
export function mergedHttp(levels: readonly PolicySets[]): BackendHttp | null {
  const { http } = mergedFields(httpPolicies, levels) as { readonly http?: z.output<typeof HTTP> }
  return http === undefined ? null : { version: http.version ?? null, requestTimeoutMs: http.requestTimeout ?? 0 }
}
