/** The addresses of the admin side: "host:port", "localhost:port", "unix:/path" or "off". */
import { isIP } from 'node:net'

export type Address =
  | { readonly kind: 'tcp'; readonly hosts: readonly string[]; readonly port: number }
  | { readonly kind: 'unix'; readonly path: string }
  | { readonly kind: 'off' }

/** sun_path of Linux, without its final NUL. */
const UNIX_PATH_BYTES_MAX = 107

/**
 * Throws an Error that names `setting` (for example "adminAddr"). "localhost" means both loopback
 * families. Any other name is refused: what it resolves to decides who can reach the port, and that
 * belongs into the configuration and not into the DNS.
 */
export function parseAddress(text: string, setting: string): Address {
  if (text === 'off') return { kind: 'off' }
  if (text.startsWith('unix:')) {
    const path = text.slice('unix:'.length)
    if (!path.startsWith('/') || path.includes('\0') || Buffer.byteLength(path) > UNIX_PATH_BYTES_MAX) {
      throw new Error(`${setting}: "${text}" needs an absolute path of at most ${UNIX_PATH_BYTES_MAX} bytes`)
    }
    return { kind: 'unix', path }
  }
  const match = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2] ?? ''
  const family = isIP(host)
  const wellFormed = match !== null && port <= 65535 && (match[1] === undefined ? family !== 6 : family === 6)
  if (!wellFormed || (family === 0 && host !== 'localhost')) {
    throw new Error(
      `${setting}: "${text}" is not an address; allowed: "127.0.0.1:15000", "[::]:15000", "localhost:15000", "unix:/path", "off"`
    )
  }
  return { kind: 'tcp', hosts: host === 'localhost' ? ['127.0.0.1', '::1'] : [host], port }
}
