/**
 * gRPC as far as a gateway reads it: which requests are gRPC, how errors are reported, how long a client waits.
 * Source: doc/PROTOCOL-HTTP2.md and doc/http-grpc-status-mapping.md of the gRPC project.
 */
import type { HeaderBlock } from './headers.ts'

const CONTENT_TYPE = 'application/grpc'
const PLUS = 43
const SEMICOLON = 59
const SPACE = 32

/** Statuses of gRPC that the gateway itself gives. */
export const GRPC_UNKNOWN = 2
export const GRPC_DEADLINE_EXCEEDED = 4
const GRPC_PERMISSION_DENIED = 7
const GRPC_UNIMPLEMENTED = 12
const GRPC_INTERNAL = 13
export const GRPC_UNAVAILABLE = 14
const GRPC_UNAUTHENTICATED = 16
/** The highest that is defined. */
const STATUS_MAX = 16

/**
 * Whether the message is gRPC by its content type: application/grpc, application/grpc+proto, ... gRPC-Web
 * (application/grpc-web) is not: it is made to pass over HTTP/1.1, and its trailers are in its body.
 */
export function isGrpc(method: string, headers: HeaderBlock): boolean {
  // Every call is a POST, and most requests are not.
  if (method !== 'POST') return false
  const type = headers.get('content-type')
  return type !== undefined && isGrpcType(type)
}

export function isGrpcType(type: string): boolean {
  const { length } = CONTENT_TYPE
  if (type.length < length) return false
  if (type.substring(0, length).toLowerCase() !== CONTENT_TYPE) return false
  const next = type.charCodeAt(length)
  return type.length === length || next === PLUS || next === SEMICOLON || next === SPACE
}

/** What a status of HTTP means to a gRPC client that got no grpc-status. */
export function grpcStatusOf(httpStatus: number): number {
  switch (httpStatus) {
    case 400:
    case 431:
      return GRPC_INTERNAL
    case 401:
      return GRPC_UNAUTHENTICATED
    case 403:
      return GRPC_PERMISSION_DENIED
    case 404:
      return GRPC_UNIMPLEMENTED
    case 429:
    case 502:
    case 503:
    case 504:
      return GRPC_UNAVAILABLE
    default:
      return GRPC_UNKNOWN
  }
}

/** The value of grpc-message: UTF-8, everything but printable ASCII percent-encoded, and the percent sign itself. */
export function grpcMessage(text: string): string {
  // Nearly all are plain.
  if (/^[ -$&-~]*$/.test(text)) return text
  let out = ''
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    out += isPlain ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return out
}

/** The text that `grpcMessage` has encoded; as it is when it is encoded in no way that can be read. */
export function readGrpcMessage(value: string): string {
  if (!value.includes('%')) return value
  try {
    return decodeURIComponent(value)
  } catch {
    // PROTOCOL-HTTP2.md: an invalid escape is no reason to throw the message away.
    return value
  }
}

/** Milliseconds of each unit of grpc-timeout. */
const UNITS_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Milliseconds that the client gives the call (at least 1), or 0 when it sets no limit or none that can be read. */
export function grpcTimeoutMs(headers: HeaderBlock): number {
  const value = headers.get('grpc-timeout')
  if (value === undefined || !/^[0-9]{1,8}[HMSmun]$/.test(value)) return 0
  const ms = Number(value.slice(0, -1)) * UNITS_MS[value.at(-1)!]!
  return Math.max(1, Math.ceil(ms))
}

/** The code in a value of grpc-status; -1 when it is malformed. */
export function readGrpcStatus(value: string | undefined): number {
  if (value === undefined || !/^[0-9]{1,2}$/.test(value)) return -1
  const status = Number(value)
  return status > STATUS_MAX ? GRPC_UNKNOWN : status
}
