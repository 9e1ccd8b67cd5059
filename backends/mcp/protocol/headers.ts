/**
 * The fields that mirror a stateless request, and whether they say what its body says (2026-07-28,
 * basic/transports/streamable-http, Request Metadata and Server Validation; basic/index, Per-request protocol fields).
 */

import type { HeaderBlock } from '#engine/http/headers.ts'
import { decodeFieldValue, encodeFieldValue } from './field-values.ts'
import { INVALID_PARAMS, isObject, METHOD_NOT_FOUND, type RpcErrorResponse, type RpcRequest } from './json-rpc.ts'
import { eraOf, isStatelessDate, SUPPORTED_VERSIONS } from './revisions.ts'
import { STATEFUL_METHODS } from './stateful.ts'
import {
  HEADER_MISMATCH,
  LOG_LEVELS,
  META_CLIENT_CAPABILITIES,
  META_LOG_LEVEL,
  META_VERSION,
  metaOf,
  STATELESS_METHODS,
  UNSUPPORTED_VERSION
} from './stateless.ts'

/** Bytes of a client's values that errors repeat. */
const QUOTED_MAX = 120

export interface Refusal {
  /** HTTP status. */
  readonly status: number
  readonly error: RpcErrorResponse['error']
}

/**
 * Whether a request is of the stateless era: it says so in `_meta`, or the field names such a revision. `initialize`
 * without a claim in `_meta` is a handshake of the other era whatever the field says.
 */
export function isStateless(headers: HeaderBlock, message: { readonly method: string } & Pick<RpcRequest, 'params'>) {
  if (META_VERSION in metaOf(message.params)) return true
  const version = headers.get('mcp-protocol-version')
  return version !== undefined && message.method !== 'initialize' && isStatelessDate(version)
}

/** Why a stateless request cannot be served; null: it can. The first reason wins, in the order of the page. */
export function refusalOf(headers: HeaderBlock, message: RpcRequest): Refusal | null {
  return versionRefusal(headers, message) ?? metaRefusal(message) ?? mirrorRefusal(headers, message)
}

function versionRefusal(headers: HeaderBlock, message: RpcRequest): Refusal | null {
  const header = headers.get('mcp-protocol-version')
  const claimed = metaOf(message.params)[META_VERSION]
  if (header === undefined) return mismatch('the MCP-Protocol-Version header is missing')
  if (claimed !== undefined && claimed !== header)
    return mismatch(`MCP-Protocol-Version header value ${quote(header)} does not match body value ${quote(claimed)}`)
  if (eraOf(header) === 'stateless') return null
  return {
    status: 400,
    error: {
      code: UNSUPPORTED_VERSION,
      message: 'Unsupported protocol version',
      data: { supported: SUPPORTED_VERSIONS, requested: header.slice(0, QUOTED_MAX) }
    }
  }
}

function metaRefusal(message: RpcRequest): Refusal | null {
  const meta = metaOf(message.params)
  if (typeof meta[META_VERSION] !== 'string') return invalid(`_meta lacks ${META_VERSION}`)
  if (!isObject(meta[META_CLIENT_CAPABILITIES])) return invalid(`_meta lacks ${META_CLIENT_CAPABILITIES}`)
  const level = meta[META_LOG_LEVEL]
  if (level !== undefined && !(typeof level === 'string' && LOG_LEVELS.includes(level)))
    return invalid(`_meta has an unknown ${META_LOG_LEVEL}`)
  return null
}

function mirrorRefusal(headers: HeaderBlock, message: RpcRequest): Refusal | null {
  const method = headers.get('mcp-method')
  if (method === undefined) return mismatch('the Mcp-Method header is missing')
  if (method !== message.method)
    return mismatch(`Mcp-Method header value ${quote(method)} does not match body value ${quote(message.method)}`)
  const known = STATELESS_METHODS.get(message.method)
  // Not of this era: 404 with a JSON-RPC body, so that clients do not take it for a server of the other one.
  if (known === undefined ? STATEFUL_METHODS.has(message.method) : known.owner === 'client')
    return { status: 404, error: { code: METHOD_NOT_FOUND, message: `Method not found: ${plain(message.method)}` } }
  // A method of an extension: what its name mirrors, if it has one, only its server knows.
  if (known === undefined || known.named === null) return null
  const field = headers.get('mcp-name')
  const value = message.params?.[known.named]
  // The base protocol asks for it of three methods; that of tasks is asked for by an extension, of clients alone.
  if (field === undefined) return known.named === 'taskId' ? null : mismatch('the Mcp-Name header is missing')
  const name = decodeFieldValue(field)
  if (name === null) return mismatch('the Mcp-Name header has characters that it must not have')
  if (name !== value) return mismatch(`Mcp-Name header value ${quote(name)} does not match body value ${quote(value)}`)
  return null
}

/** Fields that a stateless request is sent with, flat: name, value, name, value. */
export function mirroredFields(message: RpcRequest): string[] {
  const fields = ['mcp-method', encodeFieldValue(message.method)]
  const named = STATELESS_METHODS.get(message.method)?.named ?? null
  const value = named === null ? undefined : message.params?.[named]
  if (typeof value === 'string') fields.push('mcp-name', encodeFieldValue(value))
  return fields
}

function mismatch(why: string): Refusal {
  return { status: 400, error: { code: HEADER_MISMATCH, message: `Header mismatch: ${why}` } }
}

function invalid(why: string): Refusal {
  return { status: 400, error: { code: INVALID_PARAMS, message: `Invalid params: ${why}` } }
}

function quote(value: unknown): string {
  return typeof value === 'string' ? `'${plain(value)}'` : '(none)'
}

function plain(value: string): string {
  return value.slice(0, QUOTED_MAX)
}
