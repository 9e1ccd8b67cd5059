/** Where an MCP server is: one URL, or host, port and path beside each other. */
import { hostnameOf, parseAuthority } from '#engine/http/authority.ts'
import { path } from '#engine/schema/http.ts'
import { port } from '#engine/schema/net.ts'
import { says, z } from '#engine/schema/schema.ts'
import { together } from '#engine/schema/together.ts'

const EXPECTED = 'must be a URL such as "https://host/mcp", or a host: "host", "host:port"'
const URL_CHARS_MAX = 2048

export interface Address {
  readonly host: string
  /** Null: that of the scheme. */
  readonly port: number | null
  /** With its query; null: none is written. */
  readonly path: string | null
  readonly hasTls: boolean
}

export function readAddress(text: string): Address | null {
  if (!/^https?:\/\//i.test(text)) {
    const authority = parseAuthority(text)
    return authority === null ? null : { ...authority, host: authority.host.toLowerCase(), path: null, hasTls: false }
  }
  const url = URL.parse(text)
  if (url === null || url.username + url.password !== '' || text.includes('#') || !/^[!-~]+$/.test(text)) return null
  // A URL without a path sets none; "/" is a path.
  const hasPath = /^https?:\/\/[^/?]*[/?]/i.test(text)
  const host = hostnameOf(url)
  if (parseAuthority(url.host) === null) return null
  const portOf = url.port === '' ? null : Number(url.port)
  return { host, port: portOf, path: hasPath ? url.pathname + url.search : null, hasTls: url.protocol === 'https:' }
}

export const addressFields = () => ({
  host: z
    .string({ error: says(EXPECTED) })
    .min(1)
    .max(URL_CHARS_MAX)
    .refine((text) => readAddress(text) !== null, EXPECTED)
    .describe('URL, or host without a scheme.'),
  port: port().optional().describe('Default: that of the URL, else 443 with TLS and 80 without.'),
  path: path().optional()
})

interface AddressConfig {
  readonly host: string
  readonly port?: number | undefined
  readonly path?: string | undefined
}

/** Refuses a port or path that `host` has already. */
export const declaredOnce = () =>
  together<AddressConfig>(['host'], ({ value, issues }) => {
    const address = typeof value.host === 'string' ? readAddress(value.host) : null
    for (const key of ['port', 'path'] as const) {
      if (value[key] === undefined || address === null || address[key] === null) continue
      issues.push({ code: 'custom', path: [key], message: `says again what host says: ${address[key]}`, input: value })
    }
  })

/** `hasTls`: a policy says so, whatever the scheme. */
export function addressOf(config: AddressConfig, hasTls: boolean) {
  const address = readAddress(config.host)!
  const secured = hasTls || address.hasTls
  return {
    host: address.host,
    port: config.port ?? address.port ?? (secured ? 443 : 80),
    path: config.path ?? address.path,
    hasTls: secured
  }
}
