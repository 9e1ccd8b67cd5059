/** Clients of HTTP/1.1 and HTTP/2: one request on a connection of its own, and all that came of it. */
import { request as httpRequest } from 'node:http'
import { constants, connect as http2Connect, type OutgoingHttpHeaders } from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { clientTls, type RequestTls } from './tls.ts'

export interface ClientRequest {
  readonly http: 1 | 2
  readonly method: string
  readonly path: string
  readonly host: string
  /** Names and values in turn; a name may come twice. Characters are octets. */
  readonly headers: readonly string[]
  /** Pieces of a body, each sent by itself; null: no body. With one piece over HTTP/1 its length is told. */
  readonly body: readonly Buffer[] | null
  readonly isChunked: boolean
  readonly trailers: Readonly<Record<string, string>>
  /** The client goes when a service has been asked. */
  readonly goes: boolean
  /** Null: clear text. */
  readonly tls: RequestTls | null
}

export interface ClientSaw {
  /** Null: none came. */
  readonly status: number | null
  readonly headers: readonly string[]
  readonly body: Buffer
  readonly trailers: readonly string[]
  /** Whether the answer came to its end. */
  readonly isWhole: boolean
}

export const REQUEST: ClientRequest = {
  http: 1,
  method: 'GET',
  path: '/p?a=1&b=2',
  host: 'a.test',
  headers: [],
  body: null,
  isChunked: false,
  trailers: {},
  goes: false,
  tls: null
}

/** `firstRequest` resolves when a service is asked. */
export const send = (port: number, request: ClientRequest, firstRequest: Promise<void>): Promise<ClientSaw> =>
  request.http === 1 ? sendHttp1(port, request, firstRequest) : sendHttp2(port, request, firstRequest)

interface Seen {
  status: number | null
  headers: readonly string[]
  trailers: readonly string[]
  readonly pieces: Buffer[]
}

const nothing = (): Seen => ({ status: null, headers: [], trailers: [], pieces: [] })
const asSeen = ({ status, headers, trailers, pieces }: Seen, isWhole: boolean): ClientSaw => ({
  status,
  headers,
  trailers,
  body: Buffer.concat(pieces),
  isWhole
})

function sendHttp1(port: number, request: ClientRequest, firstRequest: Promise<void>): Promise<ClientSaw> {
  const { method, path, host, headers, body, isChunked, trailers, goes, tls } = request
  const framing =
    body === null
      ? []
      : isChunked
        ? ['Transfer-Encoding', 'chunked']
        : ['Content-Length', String(Buffer.concat(body).length)]
  return new Promise((resolve) => {
    const seen = nothing()
    const lines = ['Host', host, ...headers, ...framing]
    const options = { host: '127.0.0.1', port, method, path, headers: lines, agent: false as const }
    const client = tls === null ? httpRequest(options) : httpsRequest({ ...options, ...clientTls(tls) })
    client.on('response', (response) => {
      seen.status = response.statusCode!
      seen.headers = response.rawHeaders
      response.on('data', (piece: Buffer) => seen.pieces.push(piece))
      response.on('close', () => {
        seen.trailers = response.rawTrailers
        resolve(asSeen(seen, response.complete))
      })
      response.on('error', () => resolve(asSeen(seen, false)))
    })
    client.on('error', () => resolve(asSeen(seen, false)))
    if (Object.keys(trailers).length > 0) client.addTrailers(trailers)
    for (const piece of body ?? []) client.write(piece)
    client.end()
    if (goes) void firstRequest.then(() => client.destroy())
  })
}

function sendHttp2(port: number, request: ClientRequest, firstRequest: Promise<void>): Promise<ClientSaw> {
  const { method, path, host, headers, body, trailers, goes, tls } = request
  return new Promise((resolve) => {
    const session =
      tls === null
        ? http2Connect(`http://127.0.0.1:${port}`)
        : http2Connect(`https://127.0.0.1:${port}`, clientTls(tls))
    const seen = nothing()
    const done = (isWhole: boolean): void => {
      session.destroy()
      resolve(asSeen(seen, isWhole))
    }
    session.on('error', () => done(false))
    const hasTrailers = Object.keys(trailers).length > 0
    const fields: OutgoingHttpHeaders = { ':method': method, ':path': path, ':authority': host, ...grouped(headers) }
    const stream = session.request(fields, { endStream: body === null, waitForTrailers: hasTrailers })
    stream.on('wantTrailers', () => stream.sendTrailers(trailers))
    stream.on('response', (answered, _flags, raw: readonly string[]) => {
      seen.status = answered[':status']!
      seen.headers = raw
    })
    stream.on('trailers', (_fields, _flags, raw: readonly string[]) => {
      seen.trailers = raw
    })
    stream.on('data', (piece: Buffer) => seen.pieces.push(piece))
    // A reset is one way for an answer to end.
    stream.on('error', () => undefined)
    stream.on('close', () => done(stream.rstCode === 0 && seen.status !== null))
    for (const piece of body ?? []) stream.write(piece)
    if (body !== null) stream.end()
    if (goes) void firstRequest.then(() => stream.close(constants.NGHTTP2_CANCEL))
  })
}

/** By name in lower case, as node:http2 takes them. */
function grouped(lines: readonly string[]): Record<string, string[]> {
  const fields: Record<string, string[]> = {}
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i]!.toLowerCase()
    fields[name] = [...(fields[name] ?? []), lines[i + 1]!]
  }
  return fields
}
