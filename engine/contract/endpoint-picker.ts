/**
 * What a service says that picks endpoints of model servers, and what it is sent (Gateway API Inference Extension,
 * proposal 004): metadata of the policy extProc. The header field of the same name says the same; clients may send it
 * as well, so it is not read.
 */
import { parseAuthority } from '#engine/http/authority.ts'

/** The namespace of all of it. */
export const PICKER = 'envoy.lb'
/** Those that are picked: "ip:port", one or several with commas. */
export const PICKED = 'x-gateway-destination-endpoint'
/** The one that has answered. */
export const SERVED = 'x-gateway-destination-endpoint-served'

/** Pickers name a few. */
const PICKS_MAX = 16
const CHARS_MAX = 4096

/**
 * "host:port" in the order in which they are to be tried, each once; what is none is passed over. `metadata`: by
 * namespace.
 */
export function pickedEndpoints(metadata: Readonly<Record<string, unknown>> | null): readonly string[] {
  const space = metadata?.[PICKER]
  if (typeof space !== 'object' || space === null || !Object.hasOwn(space, PICKED)) return []
  const value = (space as Readonly<Record<string, unknown>>)[PICKED]
  if (typeof value !== 'string' || value.length > CHARS_MAX) return []
  const labels = value.split(',', PICKS_MAX).flatMap((text) => {
    const parsed = parseAuthority(text.trim())
    return parsed === null || parsed.port === null ? [] : [`${parsed.host}:${parsed.port}`]
  })
  return [...new Set(labels)]
}
