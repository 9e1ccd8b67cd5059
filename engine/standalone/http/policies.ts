/** The backend policy `http`: how servers are spoken to (docs/specification.md#backend-connections). */
import type { BackendHttp } from '#engine/ir/backend-http.ts'
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

/** By the names that a file may use. */
export function httpPolicies() {
  return { http: HTTP.optional().describe('HTTP version and timeout of requests to backends that are plain servers.') }
}

interface HttpPolicies {
  readonly http?: z.output<typeof HTTP> | undefined
}

type Sets = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[] | undefined

/** What the last of `levels` says that says anything: they come least precise first. Null: nothing is said. */
export function mergedHttp(levels: readonly Sets[]): BackendHttp | null {
  const said = (levels.flat() as (HttpPolicies | undefined)[]).findLast((set) => set?.http !== undefined)?.http
  if (said === undefined) return null
  return { version: said.version ?? null, requestTimeoutMs: said.requestTimeout ?? 0 }
}
