/**
 * One request for a text that a configuration refers to. Bounded in bytes and time; redirects are not followed, so that
 * the configuration alone decides which servers are asked; link-local and metadata addresses never are.
 */
import { lookup as resolveName } from 'node:dns'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction, SocketAddress } from 'node:net'
import { createBrotliDecompress, createGunzip } from 'node:zlib'
import { hostnameOf } from '#engine/http/authority.ts'
import { addressGuard } from '#engine/upstream/address-guard.ts'

/** What a server said of the text that is known, for asking whether it is still the same (RFC 9110 section 13.1). */
export interface RemoteState {
  etag: string | null
  modified: string | null
}

export type RemoteAnswer =
  | { readonly kind: 'text'; readonly text: string; readonly state: RemoteState }
  | { readonly kind: 'same' }
  | { readonly kind: 'failed'; readonly reason: string }

/** GitHub's document has 13 MB. */
export const REMOTE_BYTES_MAX = 32 * 1024 * 1024
const TIMEOUT_MS = 30_000

/** Services of one's own network are asked, but not what clouds answer at 169.254.169.254 and the like. */
const mayAsk = addressGuard([
  ...['10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '198.18.0.0/15'],
  ...['::1/128', 'fc00::/7']
])

/** Where clouds tell a machine its secrets, within ranges that are asked: AWS by IPv6, Alibaba, Azure, Oracle. */
const METADATA: ReadonlySet<string> = new Set(['fd00:ec2::254', '100.100.100.200', '168.63.129.16', '192.0.0.192'])

/** One address has many ways of writing by IPv6. */
function isAllowed(address: string): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  return mayAsk(address) && !METADATA.has(new SocketAddress({ address, family }).address)
}

const lookup: LookupFunction = (host, options, callback) => {
  resolveName(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) callback(error, '', 0)
    else if (addresses.every(({ address }) => isAllowed(address))) callback(null, addresses)
    else callback(new Refused('its address is link-local, or reserved, and not asked'), '', 0)
  })
}

/** Our own reason, as opposed to one of the system. */
class Refused extends Error {}

export interface RemoteBounds {
  readonly bytesMax: number
  readonly timeoutMs: number
}

/** Never rejects. `url`: http or https, without a user. */
export async function fetchRemote(
  url: string,
  { etag, modified }: RemoteState,
  { bytesMax, timeoutMs }: RemoteBounds = { bytesMax: REMOTE_BYTES_MAX, timeoutMs: TIMEOUT_MS }
): Promise<RemoteAnswer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const headers = {
    accept: 'application/json, application/yaml;q=0.9, */*;q=0.8',
    'accept-encoding': 'gzip, br',
    ...(etag === null ? {} : { 'if-none-match': etag }),
    ...(modified === null || etag !== null ? {} : { 'if-modified-since': modified })
  }
  try {
    const response = await responseTo(url, headers, signal)
    const { statusCode: status = 0 } = response
    if (status !== 200) response.destroy()
    if (status === 304) return { kind: 'same' }
    if (status >= 300 && status < 400) throw new Refused(`the answer is a redirect (${status}): say where it leads to`)
    if (status !== 200) throw new Refused(`the answer has status ${status}`)
    const text = await textOf(response, bytesMax)
    const state = { etag: response.headers.etag ?? null, modified: response.headers['last-modified'] ?? null }
    return { kind: 'text', text, state }
  } catch (error) {
    return { kind: 'failed', reason: explained(error as Error, signal, timeoutMs) }
  }
}

function responseTo(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal
): Promise<IncomingMessage> {
  const parsed = new URL(url)
  const literal = hostnameOf(parsed)
  // A literal address is not looked up.
  if (isIP(literal) !== 0 && !isAllowed(literal))
    throw new Refused('its address is link-local, or reserved, and not asked')
  const send = parsed.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    send(url, { headers, signal, lookup, agent: false }, resolve).on('error', reject).end()
  })
}

async function textOf(response: IncomingMessage, bytesMax: number): Promise<string> {
  const coding = (response.headers['content-encoding'] ?? 'identity').toLowerCase()
  const decoder = coding === 'gzip' ? createGunzip() : coding === 'br' ? createBrotliDecompress() : null
  if (decoder === null && coding !== 'identity') throw new Refused(`the answer has the coding ${coding.slice(0, 32)}`)
  if (decoder !== null) response.on('error', (error) => decoder.destroy(error)).pipe(decoder)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of (decoder ?? response) as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Refused(`the answer is longer than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  const text = Buffer.concat(pieces).toString('utf8')
  if (text.includes('\uFFFD')) throw new Refused('the answer is not UTF-8 text')
  return text
}

function explained(error: Error, signal: AbortSignal, timeoutMs: number): string {
  if (error instanceof Refused) return error.message
  if (signal.aborted) return `no complete answer within ${timeoutMs} ms`
  return (error as NodeJS.ErrnoException).code ?? error.message
}
