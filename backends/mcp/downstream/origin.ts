/**
 * Origin against DNS rebinding (2025-11-25, transports, Security Warning): a page whose name suddenly means an address
 * of this machine may not speak to what listens here (docs/design/019-mcp-sessions.md).
 */

import { CORS_DECISION } from '#engine/contract/cors-decision.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

const LOCAL_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i
const LOCAL_ADDRESS = /^(?:::ffff:)?127\.|^::1$/

/** Whether the request may be answered. No browser, no Origin: those pass. */
export function isOriginAllowed(ex: Exchange): boolean {
  const { client, request } = ex
  if (CORS_DECISION.get(ex)?.isAllowed === true || !request.has('origin')) return true
  const origin = request.getAll('origin')!
  const host = /^https?:\/\/([^/]+)$/i.exec(origin)?.[1]?.toLowerCase()
  if (host === undefined) return false
  // On a connection from this very machine the names of page and gateway are the same in an attack too: the page's
  // name has been turned into this address. Only names that no one else can turn count there.
  const isLocal = LOCAL_ADDRESS.test(client.remoteAddress)
  return isLocal ? LOCAL_NAME.test(host) : host === ex.authority
}
