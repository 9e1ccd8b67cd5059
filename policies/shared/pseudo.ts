/** Parts of the start line under the names that HTTP/2 gives them (RFC 9113 section 8.3), as far as they can be set. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { BODY_NONE } from '#engine/contract/exchange.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import { normalPath, PATH_KEPT } from '#engine/http/path.ts'
import { hasNoContent } from '#engine/http/status.ts'
import { parseTarget } from '#engine/http/target.ts'

/** Sets one; false when the text cannot be one, and then nothing has changed. */
export type Pseudo = (ex: Exchange, text: string) => boolean

const METHOD = /^[A-Z][A-Z-]{0,31}$/

function setMethod(ex: Exchange, text: string): boolean {
  // Whether the response has a body depends on the method, and the client still waits for what it asked.
  if (!METHOD.test(text) || text === 'CONNECT' || (text === 'HEAD') !== (ex.method === 'HEAD')) return false
  ex.method = text
  return true
}

function setPath(ex: Exchange, text: string): boolean {
  const target = text.startsWith('/') && !/[\s\x7f-\xff]/.test(text) ? parseTarget(text, ex.method) : null
  const normal = target === null ? null : normalPath(target.path, PATH_KEPT)
  if (target === null || normal === null) return false
  ex.path = normal.path
  ex.query = target.query
  return true
}

function setAuthority(ex: Exchange, text: string): boolean {
  if (parseAuthority(text) === null) return false
  ex.upstreamHost = text
  return true
}

function setStatus(ex: Exchange, text: string): boolean {
  const status = Number(text)
  if (!/^[2-5]\d\d$/.test(text) || ex.status === 101 || ex.response === null) return false
  const hadNone = hasNoContent(ex.status, ex.method)
  ex.status = status
  const hasNone = hasNoContent(status, ex.method)
  if (hasNone && !hadNone) ex.response.remove('content-length')
  // A client that expects a body and gets no length waits for the end of the connection.
  if (hadNone && !hasNone && ex.responseBody === BODY_NONE) ex.response.set('Content-Length', '0')
  return true
}

export const REQUEST_PSEUDO: ReadonlyMap<string, Pseudo> = new Map([
  [':method', setMethod],
  [':path', setPath],
  [':authority', setAuthority]
])

export const RESPONSE_PSEUDO: ReadonlyMap<string, Pseudo> = new Map([[':status', setStatus]])
