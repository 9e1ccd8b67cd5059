/** What somebody wants to have explained: a request, read from what people and programs write. */
import { isIP } from 'node:net'
import { parseAuthority } from '#engine/http/authority.ts'
import { CERTIFICATES_MAX, certificatesOf } from './client-certificate.ts'

export interface DryRequest {
  readonly method: string
  readonly isTls: boolean
  /** Host and port as the URL has them: what a client would send as Host. */
  readonly authority: string
  /** Where it would connect to. */
  readonly port: number
  /** Path and query, byte for byte as they were written. */
  readonly target: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Buffer | null
  /** Ip of the client. */
  readonly from: string
  readonly httpVersion: HttpVersion
  /** PEM: the certificate that the client shows, and its chain; null: none. */
  readonly cert: string | null
}

/** 2: offered with 1.1 by ALPN. 2-prior-knowledge: nothing else, and on clear text without asking. As curl has them. */
export const HTTP_VERSIONS = ['1.1', '2', '2-prior-knowledge'] as const
export type HttpVersion = (typeof HTTP_VERSIONS)[number]

/** What is not a request; its message says how to write one. */
export class RequestError extends Error {}

/** As JSON has it (POST /explain). */
export interface RequestInput {
  readonly method?: unknown
  readonly url?: unknown
  readonly headers?: unknown
  readonly body?: unknown
  readonly from?: unknown
  readonly httpVersion?: unknown
  readonly cert?: unknown
}

const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
/** What would end a line, or a message. */
const BREAKS = /[\r\n\0]/
const URL_PARTS = /^(https?):\/\/([^/?#]*)([^#]*)(#.*)?$/is
const KNOWN_INPUT = ['method', 'url', 'headers', 'body', 'from', 'httpVersion', 'cert']
/** Far more than any listener takes: what is between gets the listener's own answer. */
const TEXT_CHARS_MAX = 1024 * 1024
const HEADERS_MAX = 10_000

/** Throws RequestError. */
export function readDryRequest(input: RequestInput): DryRequest {
  const unknown = Object.keys(input).find((key) => !KNOWN_INPUT.includes(key))
  if (unknown !== undefined) throw new RequestError(`"${unknown}" is not one of ${KNOWN_INPUT.join(', ')}`)
  const { method = 'GET', url, body = null, from = '127.0.0.1' } = input
  if (typeof method !== 'string' || !TOKEN.test(method)) throw new RequestError('the method must be a word like GET')
  if (typeof url !== 'string') throw new RequestError('url must be a URL like http://host:8080/path')
  if (typeof from !== 'string' || isIP(from) === 0) throw new RequestError('from must be an IP address')
  if (body !== null && typeof body !== 'string') throw new RequestError('body must be text')
  const parts = urlOf(url)
  const headers = headersOf(input.headers)
  const spoken = { httpVersion: versionOf(input.httpVersion, parts.isTls), cert: certOf(input.cert, parts.isTls) }
  return { method, ...parts, headers, body: body === null ? null : Buffer.from(body), from, ...spoken }
}

/** By default as clients do: over TLS they offer both. */
function versionOf(input: unknown, isTls: boolean): HttpVersion {
  if (input === undefined) return isTls ? '2' : '1.1'
  const version = HTTP_VERSIONS.find((one) => one === input)
  if (version === undefined) throw new RequestError(`httpVersion must be one of ${HTTP_VERSIONS.join(', ')}`)
  if (version === '2' && !isTls) {
    throw new RequestError('on clear text nothing offers HTTP/2: write 2-prior-knowledge (--http2-prior-knowledge)')
  }
  return version
}

function certOf(input: unknown, isTls: boolean): string | null {
  if (input === undefined || input === null) return null
  if (typeof input !== 'string' || certificatesOf(input) === null) {
    throw new RequestError(`cert must be 1 to ${CERTIFICATES_MAX} certificates, in PEM`)
  }
  if (!isTls) throw new RequestError('a client certificate is shown over https:// only')
  return input
}

function urlOf(url: string): Pick<DryRequest, 'isTls' | 'authority' | 'port' | 'target'> {
  const parts = URL_PARTS.exec(url)
  if (parts === null) throw new RequestError('the URL must begin with http:// or https://')
  if (BREAKS.test(url)) throw new RequestError('the URL has a line break')
  if (url.length > TEXT_CHARS_MAX) throw new RequestError(`the URL has more than ${TEXT_CHARS_MAX} characters`)
  const [, scheme = '', authority = '', target = ''] = parts
  if (authority.includes('@')) throw new RequestError('the URL must have no user: write -H "Authorization: ..."')
  const isTls = scheme.toLowerCase() === 'https'
  const parsed = parseAuthority(authority)
  if (parsed === null)
    throw new RequestError('the host of the URL must be a name or an address, and its port 1 to 65535')
  return {
    isTls,
    authority,
    port: parsed.port ?? (isTls ? 443 : 80),
    target: target.startsWith('/') ? target : `/${target}`
  }
}

function headersOf(input: unknown): DryRequest['headers'] {
  if (input === undefined) return []
  const isPlain = typeof input === 'object' && input !== null
  const entries: readonly unknown[] | null = Array.isArray(input) ? input : isPlain ? Object.entries(input) : null
  if (entries === null || entries.length > HEADERS_MAX) {
    throw new RequestError(`headers must be an object, or a list of [name, value], with at most ${HEADERS_MAX} entries`)
  }
  return entries.map((entry) => {
    const [name, value] = Array.isArray(entry) ? (entry as readonly unknown[]) : []
    if (typeof name !== 'string' || typeof value !== 'string' || !TOKEN.test(name)) {
      throw new RequestError('a header must have a name, which is a word, and a value, which is text')
    }
    if (BREAKS.test(value)) throw new RequestError(`the value of the header ${name} has a line break`)
    if (value.length > TEXT_CHARS_MAX) throw new RequestError(`the value of the header ${name} is too long`)
    return [name, value]
  })
}

/** The bytes that a client would send. */
export function bytesOf({ method, target, authority, headers, body }: DryRequest): Buffer {
  const has = (name: string) => headers.some(([own]) => own.toLowerCase() === name)
  const lines = [`${method} ${target} HTTP/1.1`]
  if (!has('host')) lines.push(`Host: ${authority}`)
  for (const [name, value] of headers) lines.push(`${name}: ${value}`)
  const isFramed = has('content-length') || has('transfer-encoding')
  if (body !== null && !isFramed) lines.push(`Content-Length: ${body.length}`)
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`)
  return body === null ? head : Buffer.concat([head, body])
}
