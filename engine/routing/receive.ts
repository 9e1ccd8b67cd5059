/** What a listener makes of a request before anything else: the form that policies and routes judge. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { isPlainPath, normalPath, readingsOf } from '#engine/http/path.ts'
import { hasUnderscores, type RequestRules } from '#engine/http/request-rules.ts'

/** Null, or why the request has no such form. A path that is in it already costs one comparison. */
export function receiveRequest(
  ex: Exchange,
  { paths, headersWithUnderscores: action }: RequestRules
): ErrorCode | null {
  if (action !== 'keep' && hasUnderscores(ex.request, action === 'drop') && action === 'reject') {
    return 'HEADER_UNDERSCORE'
  }
  if (action === 'keep') ex.keepsUnderscores = true
  if (isPlainPath(ex.path)) return null
  const normal = normalPath(ex.path, paths)
  const readings = normal === null ? null : readingsOf(normal.path)
  if (normal === null || readings === null) return 'BAD_PATH'
  ex.path = normal.path
  ex.originalPath = normal.path
  if (readings.length > 1) ex.readings = readings
  if (!normal.isElsewhere) return null
  // "//name" would lead to another host (RFC 3986 section 4.2).
  ex.refusalHeaders = ['location', normal.path.replace(/^\/+/, '/') + ex.query]
  return 'PATH_REDIRECT'
}
