/** Ports, host names, addresses: where to listen and where to connect. */
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { HOST_LENGTH_MAX, parseAuthority } from '#engine/http/authority.ts'
import { cel } from './rule.ts'
import { says, whole, z } from './schema.ts'

/** docs/specification.md#leaf-types. */
export const port = () => whole(1, 65535)

const LABEL = '[A-Za-z0-9_](?:[A-Za-z0-9_-]*[A-Za-z0-9_])?'
const HOSTNAME = new RegExp(`^(?:\\*|(?:\\*\\.)?${LABEL}(?:\\.${LABEL})*|\\[[0-9A-Fa-f:.]+\\])$`)
const HOSTNAME_EXPECTED = 'must be a host name without a port: "example.com", "*.example.com" or "*"'

/** The host that a listener or route serves: exact, "*.example.com" for any name below, "*" for all -> lower case. */
export const hostname = () =>
  z
    .string({ error: says(HOSTNAME_EXPECTED) })
    .max(HOST_LENGTH_MAX + 2)
    .regex(HOSTNAME, HOSTNAME_EXPECTED)
    .refine((text) => !text.startsWith('[') || isIPv6(text.slice(1, -1)), 'is not an IPv6 address')
    .transform((text) => text.toLowerCase())

/** Linux: sun_path has 108 bytes with the final NUL. */
const UNIX_PATH_BYTES_MAX = 107
const UNIX = /^unix:(\/[^\0]*)$/

function unixPathOf(text: string): string | null {
  const path = UNIX.exec(text)?.[1]
  return path !== undefined && Buffer.byteLength(path) <= UNIX_PATH_BYTES_MAX ? path : null
}

const ADDRESS = /^(\[[^\]]+\]|[^:]+):([0-9]{1,5})$/
const ADDRESS_EXPECTED = 'must be "host:port", "[::]:port", "unix:/path" or "off"'

/** Where one of the process's own servers listens; port 0 lets the kernel choose. The text is kept. */
export const address = () =>
  z.string({ error: says(ADDRESS_EXPECTED) }).refine((text) => isAddress(text), ADDRESS_EXPECTED)

function isAddress(text: string): boolean {
  if (text === 'off' || unixPathOf(text) !== null) return true
  const [, host, digits] = ADDRESS.exec(text) ?? []
  return host !== undefined && parseAuthority(host) !== null && Number(digits) <= 65535
}

/** The port of an address, or null when it has none ("off", a unix socket) or the kernel chooses it. */
export function portOf(text: string): number | null {
  const digits = text.startsWith('unix:') ? undefined : ADDRESS.exec(text)?.[2]
  return digits === undefined || Number(digits) === 0 ? null : Number(digits)
}

/** One upstream destination; the same fields as engine/contract's Destination. */
export interface Target {
  readonly host: string
  readonly port: number
  readonly unixPath: string | null
}

const TARGET_EXPECTED = 'must be "host:port", "[address]:port" or "unix:/path"'

/** "host:port", "10.0.0.1:80", "[::1]:80" or "unix:/path" -> what to connect to. */
export const target = () =>
  z.string({ error: says(TARGET_EXPECTED) }).transform((text, context): Target => {
    const unixPath = unixPathOf(text)
    if (unixPath !== null) return { host: '', port: 0, unixPath }
    const authority = parseAuthority(text)
    if (authority !== null && authority.port !== null) {
      return { host: authority.host.toLowerCase(), port: authority.port, unixPath: null }
    }
    const message = text.includes('://')
      ? `${TARGET_EXPECTED}, without a scheme`
      : authority === null
        ? `${TARGET_EXPECTED}${/^[^/]+:\d+\//.test(text) ? ', without a path' : ''}`
        : `${TARGET_EXPECTED}: the port is missing`
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  })

const HOST_EXPECTED = 'must be a host name or an address, without scheme and port'

/** A name, an IPv4 address, or an IPv6 address with or without brackets -> without brackets, lower case. */
export const host = () =>
  z
    .string({ error: says(HOST_EXPECTED) })
    .min(1)
    .max(256)
    .transform((text, context): string => {
      const authority = isIPv6(text) ? parseAuthority(`[${text}]`) : parseAuthority(text)
      if (authority !== null && authority.port === null) return authority.host.toLowerCase()
      context.addIssue({ code: 'custom', message: HOST_EXPECTED })
      return z.NEVER
    })

/** Of an IPv6 address in its longest form, with a length. */
const CIDR_CHARS_MAX = 64
const CIDR_EXPECTED = 'must be an address or a range such as "10.0.0.0/8" or "fd00::/8"'

/** A range of addresses; one address alone is allowed too. */
export const cidr = () =>
  z
    .string({ error: says(CIDR_EXPECTED) })
    .max(CIDR_CHARS_MAX, CIDR_EXPECTED)
    .refine(isCidr, { error: CIDR_EXPECTED, params: cel('isIP(self) || isCIDR(self)') })

function isCidr(text: string): boolean {
  const [ip = '', bits, ...rest] = text.split('/')
  if (isIP(ip) === 0 || ip.includes('%') || rest.length > 0) return false
  return bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= (isIPv4(ip) ? 32 : 128))
}
