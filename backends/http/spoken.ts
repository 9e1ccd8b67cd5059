/** How servers are spoken to: what the policy `http` says of a backend, and what holds without it. */
import { SPOKEN_DEFAULT, type SpokenHttp } from '#engine/contract/backend.ts'
import type { BackendHttp } from '#engine/ir/backend-http.ts'

export function spokenHttp(http: BackendHttp | undefined): SpokenHttp {
  if (http === undefined) return SPOKEN_DEFAULT
  return { version: http.version ?? 'auto', requestTimeoutMs: http.requestTimeoutMs }
}
