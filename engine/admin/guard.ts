/**
 * Keeps web pages away from the admin port. It may have no login (who.ts) because only this machine reaches it, but
 * a browser on this machine can be made to reach it too: by DNS rebinding (a foreign name that resolves
 * to 127.0.0.1, told by its Host) and by a form or fetch of a foreign page (told by its Origin).
 */
import { isIP } from 'node:net'
import type { Address } from './address.ts'
import type { Reply, Request } from './server.ts'

/**
 * Null: the request may pass. `names`: in lower case, by which a proxy of the configuration's author passes people on;
 * no foreign page has one of them.
 */
export function refuse(request: Request, address: Address, names: readonly string[]): Reply | null {
  // A browser cannot be pointed at a unix socket, and what Host a client sends over one means nothing.
  if (address.kind === 'unix') return null
  const host = request.headers.host
  const isNamed = host !== undefined && names.includes(host.replace(/:\d{1,5}$/, '').toLowerCase())
  if (host === undefined || !(isNamed || hostAllowed(host, address))) {
    return {
      status: 403,
      body: 'this port answers to localhost, to its configured address, and to config.admin.hosts only\n'
    }
  }
  if (request.method !== 'GET' && request.method !== 'HEAD' && isForeign(request, host, isNamed)) {
    return { status: 403, body: 'requests from other origins are refused\n' }
  }
  return null
}

function hostAllowed(header: string, address: Address): boolean {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(header)
  if (match === null) return false
  const host = (match[1] ?? match[2]!).toLowerCase()
  const family = isIP(host)
  // IPv6 literals come in brackets and nothing else does.
  if ((match[1] !== undefined) !== (family === 6)) return false
  if (host === 'localhost' || host === '::1' || (family === 4 && host.startsWith('127.'))) return true
  if (address.kind !== 'tcp') return false
  // Bound to every address: any literal will do, because rebinding takes a name.
  return address.hosts.some((bound) => bound === host || (family !== 0 && (bound === '::' || bound === '0.0.0.0')))
}

/** `isNamed`: a proxy may speak TLS with the browser. */
function isForeign(request: Request, host: string, isNamed: boolean): boolean {
  const origin = request.headers.origin?.toLowerCase()
  const own = isNamed ? ['http', 'https'] : ['http']
  if (origin !== undefined && !own.some((scheme) => origin === `${scheme}://${host.toLowerCase()}`)) return true
  const site = request.headers['sec-fetch-site']
  return site !== undefined && site !== 'same-origin' && site !== 'none'
}
