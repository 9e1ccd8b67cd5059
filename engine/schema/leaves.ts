/** Leaf types that several schemas share: each limit and each message is written here once. */
import { isIP } from 'node:net'
import { patternProblem } from '#engine/kit/pattern.ts'
import { z } from './schema.ts'

/** Spec section 8: 1..65535. */
export const port = () => z.int().min(1).max(65535)

const HOSTNAME = /^(?:\*|(?:\*\.)?[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)$/

/** A host name, "*.example.com" for every name below one, or "*" for any. Becomes lower case. */
export const hostname = () =>
  z
    .string()
    .min(1)
    .max(253)
    .transform((text) => text.toLowerCase())
    .refine((text) => HOSTNAME.test(text) || isIP(text) !== 0, 'expected a host name, "*.example.com" or "*"')

/** RE2 syntax, so that matching takes linear time whatever is matched. Stays a string. */
export const regexSource = () =>
  z
    .string()
    .min(1)
    .max(1024)
    .superRefine((source, context) => {
      const problem = patternProblem(source)
      if (problem !== null) context.addIssue({ code: 'custom', message: `is not a valid RE2 expression: ${problem}` })
    })

/** Spec 2.1 HeaderName, without pseudo headers. Becomes lower case. */
export const headerName = () =>
  z
    .string()
    .min(1)
    .max(256)
    .regex(/^[A-Za-z0-9!#$%&'*+\-.^_`|~]+$/, 'is not a header name')
    .transform((name) => name.toLowerCase())

/** "10.0.0.0/8", "fd00::/8" or a single address. */
export const addressRange = () =>
  z.string().refine(isRange, 'expected an address range such as "10.1.0.0/16" or "fd00::/8"')

function isRange(text: string): boolean {
  const [address = '', bits] = text.split('/')
  const family = isIP(address)
  if (family === 0) return false
  if (bits === undefined) return true
  return /^[0-9]{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128)
}

const LISTEN_ADDRESS = /^(?:off|unix:\/.+|(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):[0-9]{1,5})$/

/** Where an internal server listens: "host:port", "localhost:port" (both families), "unix:/path" or "off". */
export const listenAddress = () =>
  z
    .string()
    .refine(
      (text) => LISTEN_ADDRESS.test(text) && (!/:[0-9]+$/.test(text) || portOf(text) <= 65535),
      'expected "host:port", "[::]:port", "unix:/path" or "off"'
    )

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1))
}

/** One upstream: "name:port", "1.2.3.4:port", "[::1]:port" or "unix:/path". */
export const upstreamAddress = () =>
  z.string().superRefine((text, context) => {
    if (parseUpstream(text) !== null) return
    const message = /^https?:\/\//.test(text)
      ? 'expected "host:port" without a scheme'
      : 'expected "host:port", "[::1]:port" or "unix:/path"'
    context.addIssue({ code: 'custom', message })
  })

export interface UpstreamAddress {
  readonly host: string
  readonly port: number
  readonly unixPath: string | null
}

/** Takes an upstream address apart, or null. */
export function parseUpstream(text: string): UpstreamAddress | null {
  if (text.startsWith('unix:')) {
    const unixPath = text.slice('unix:'.length)
    return unixPath.startsWith('/') && unixPath.length <= 100 ? { host: '', port: 0, unixPath } : null
  }
  const parts = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)):([0-9]{1,5})$/.exec(text)
  if (parts === null) return null
  const port = Number(parts[3])
  const host = (parts[1] ?? parts[2] ?? '').toLowerCase()
  if (port < 1 || port > 65535 || (parts[1] !== undefined && isIP(host) !== 6)) return null
  return { host, port, unixPath: null }
}
