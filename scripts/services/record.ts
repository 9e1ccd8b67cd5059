/** What servers and clients have seen, as plain data that can be compared: without what no two runs have in common. */
import { createHash } from 'node:crypto'
import type { Seen } from '#engine/testing/origin.ts'
import type { ClientSaw } from './client.ts'
import type { CheckRequest, LimitRequest, ProcessingRequest } from './servers.ts'

export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain }

/** Longer ones are compared by length and hash. */
const SHOWN_BYTES_MAX = 120
/** Of a connection, or of the moment; and what Envoy says of itself. */
const NOT_COMPARED = new Set([
  ...['connection', 'keep-alive', 'te', 'transfer-encoding', 'date', 'server', 'x-request-id'],
  ...['x-forwarded-proto', 'x-envoy-internal', 'x-envoy-upstream-service-time', 'x-envoy-expected-rq-timeout-ms']
])

export function shown(octets: Uint8Array): string {
  const text = Buffer.from(octets)
  if (text.length <= SHOWN_BYTES_MAX) return text.toString('latin1')
  return `${text.length} octets, SHA-256 ${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}

/** Flat fields by name in lower case, in order. */
function byName(flat: readonly string[]): { [name: string]: Plain } {
  const fields: { [name: string]: string[] } = {}
  for (let i = 0; i < flat.length; i += 2) {
    const name = flat[i]!.toLowerCase()
    if (NOT_COMPARED.has(name) || name === ':status') continue
    fields[name] = [...(fields[name] ?? []), shown(Buffer.from(flat[i + 1]!, 'latin1'))]
  }
  return fields
}

/** How a body is framed is not compared: its octets are, and whether it came to its end. */
function unframed(flat: readonly string[]): { [name: string]: Plain } {
  const { 'content-length': _, ...fields } = byName(flat)
  return fields
}

export function recordRequest({ method, url, headers, body, trailers }: Seen): Plain {
  return {
    line: `${method} ${url.length > SHOWN_BYTES_MAX ? shown(Buffer.from(url, 'latin1')) : url}`,
    headers: unframed(headers),
    body: shown(Buffer.from(body, 'latin1')),
    trailers: byName(trailers)
  }
}

/** Of a refusal that the gateway words itself, the status. */
export function recordClient(saw: ClientSaw, isOwnWords: boolean): Plain {
  if (isOwnWords) return { status: saw.status }
  return {
    status: saw.status,
    headers: unframed(saw.headers),
    body: shown(saw.body),
    trailers: byName(saw.trailers),
    isWhole: saw.isWhole
  }
}

// --- messages ---

/** A message without what is not set, with octets and large numbers as texts. */
function plain(value: unknown): Plain | undefined {
  if (value === undefined || value === null || value === '' || value === false) return undefined
  if (typeof value === 'bigint') return value === 0n ? undefined : String(value)
  if (value instanceof Uint8Array) return value.length === 0 ? undefined : shown(value)
  if (Array.isArray(value)) return value.map((one) => plain(one) ?? null)
  if (typeof value !== 'object') return value as Plain
  const found: { [key: string]: Plain } = {}
  for (const key of Object.keys(value).sort()) {
    const own = plain((value as Readonly<Record<string, unknown>>)[key])
    if (own !== undefined) found[key] = own
  }
  return Object.keys(found).length === 0 ? undefined : found
}

const without = (fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !NOT_COMPARED.has(name)))

/** Ports and times are other ones each time: whether they are there is what is told. */
export function recordCheck({ attributes }: CheckRequest): Plain {
  const { source, destination, request, ...others } = attributes!
  const { id: _, headers, ...http } = request!.http!
  const peer = (end: typeof source): object => {
    const { address, ...more } = end!
    const socket = address?.address?.$case === 'socketAddress' ? address.address.value : null
    const port = socket?.portSpecifier?.$case === 'portValue' && socket.portSpecifier.value > 0
    return { address: socket?.address, port, ...more }
  }
  const check = {
    source: peer(source),
    destination: peer(destination),
    time: request!.time !== undefined,
    http: { ...http, headers: without(headers) },
    ...others
  }
  return plain(check) ?? null
}

/** A body that is streamed has as many pieces as reads of a socket: what comes in a row is one. */
export function joinPieces(messages: readonly ProcessingRequest[]): ProcessingRequest[] {
  const joined: ProcessingRequest[] = []
  for (const message of messages) {
    const before = joined.at(-1)?.request
    const { request } = message
    const isBody = request?.$case === 'requestBody' || request?.$case === 'responseBody'
    if (isBody && before?.$case === request.$case && 'body' in before.value) {
      const body = Buffer.concat([before.value.body, request.value.body])
      const value = { ...request.value, body }
      const { $case } = request
      joined[joined.length - 1] = { ...joined.at(-1)!, request: { $case, value } }
    } else joined.push(message)
  }
  return joined
}

export function recordProcessed({ request, attributes, ...others }: ProcessingRequest): Plain {
  const { $case, value } = request!
  const part =
    'headers' in value
      ? { headers: value.headers?.headers, endOfStream: value.endOfStream }
      : 'trailers' in value
        ? { headers: value.trailers?.headers }
        : value
  const fields = 'headers' in part ? { ...part, headers: byName((part.headers ?? []).flatMap(flatOf)) } : part
  return { [$case]: plain(fields) ?? null, ...(plain({ attributes, ...others }) as object | undefined) }
}

type Field = { readonly key: string; readonly value: string; readonly rawValue: Uint8Array }

const flatOf = ({ key, value, rawValue }: Field): string[] => [
  key,
  value === '' ? Buffer.from(rawValue).toString('latin1') : value
]

/** 0 hits are 1 (rls.proto). */
export const recordLimit = ({ hitsAddend, ...request }: LimitRequest): Plain =>
  plain({ ...request, hitsAddend: Math.max(1, hitsAddend) }) ?? null
