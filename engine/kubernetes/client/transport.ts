/**
 * Requests to an API server: HTTP/1.1, connections are kept. Each watch has its own connection: one that hangs holds
 * nothing else up, and the next one may reach another API server behind a balancer.
 */
import { Agent as HttpAgent, type IncomingMessage, type RequestOptions, request as requestHttp } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import type { Time } from '#engine/contract/time.ts'
import { apiError } from './api-error.ts'
import type { ApiConnection, Presented } from './connection.ts'

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** With its query. */
  readonly path: string
  readonly body?: unknown
  /** Of the body; default: JSON. */
  readonly type?: string
  /** Of the answer; default: JSON. */
  readonly accept?: string
  /** Bound of the answer; default: 16 MiB. */
  readonly bytesMax?: number
  readonly signal?: AbortSignal
}

const JSON_TYPE = 'application/json'
const BYTES_MAX = 16 * 2 ** 20
/** As long as API servers take at most for what is no watch. */
const ANSWER_MS_MAX = 60_000
/**
 * Probes of TCP on silent connections: a server that is gone without a word is noticed after this and ten seconds more.
 * An answer to them comes from its system, so watches have a bound of their own.
 */
const KEEP_ALIVE_MS = 15_000
const IDLE_SOCKETS_MAX = 4

/** The answer is longer than the request allows. */
export class AnswerTooLong extends Error {}

export class Transport {
  readonly #connection: ApiConnection
  readonly #url: URL
  readonly #time: Pick<Time, 'after'>
  readonly #agent: HttpAgent | HttpsAgent

  constructor(connection: ApiConnection, time: Pick<Time, 'after'>) {
    this.#connection = connection
    this.#time = time
    this.#url = new URL(connection.url)
    const keep = { keepAlive: true, keepAliveMsecs: KEEP_ALIVE_MS, maxFreeSockets: IDLE_SOCKETS_MAX }
    this.#agent = this.#url.protocol === 'https:' ? new HttpsAgent(keep) : new HttpAgent(keep)
  }

  /** The answer, parsed. Throws an ApiError when it is none of success, another Error when there is none. */
  async ask(request: ApiRequest): Promise<unknown> {
    try {
      return await this.#askOnce(request)
    } catch (error) {
      // The next token may be there already: `open` has said that this one is refused.
      if (!isStatus(error, 401)) throw error
      return await this.#askOnce(request)
    }
  }

  async #askOnce(request: ApiRequest): Promise<unknown> {
    const response = await this.open(request, ANSWER_MS_MAX)
    const text = await wholeText(response, request.bytesMax ?? BYTES_MAX)
    return parsed(text, nameOf(request))
  }

  /**
   * The answer when it has begun and is one of success. `msMax`: for all of it; it is destroyed then, with an Error.
   * Throws an ApiError for any other answer.
   */
  async open(request: ApiRequest, msMax: number): Promise<IncomingMessage> {
    const { credentials } = this.#connection
    const presented = await credentials.present()
    request.signal?.throwIfAborted()
    try {
      return await this.#send(request, presented, msMax)
    } catch (error) {
      if (isStatus(error, 401)) credentials.refused(presented)
      throw error
    }
  }

  #send(request: ApiRequest, presented: Presented, msMax: number): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { body, signal } = request
      const text = body === undefined ? undefined : JSON.stringify(body)
      const options = { ...this.#options(request, presented, text), ...(signal === undefined ? {} : { signal }) }
      const call = this.#url.protocol === 'https:' ? requestHttps(options) : requestHttp(options)
      const callOff = this.#time.after(msMax, () => call.destroy(new Error(`no end after ${msMax} ms`)))
      call.on('close', callOff)
      call.on('socket', (socket) => socket.setKeepAlive(true, KEEP_ALIVE_MS))
      call.on('error', (error) => reject(new Error(`${nameOf(request)}: ${error.message}`, { cause: error })))
      call.on('response', (response) => {
        const { statusCode = 0 } = response
        if (statusCode >= 200 && statusCode < 300) resolve(response)
        else refusalOf(request, statusCode, response).then(reject, reject)
      })
      call.end(text)
    })
  }

  #options(
    { method, path, type = JSON_TYPE, accept = JSON_TYPE }: ApiRequest,
    { authorization, tls }: Presented,
    text: string | undefined
  ) {
    const url = this.#url
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      // WHATWG URLs write IPv6 addresses in brackets, sockets do not.
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port,
      path: `${url.pathname.replace(/\/$/, '')}${path}`,
      headers: {
        host: url.host,
        accept,
        'user-agent': 'weir-controller',
        ...(authorization === null ? {} : { authorization }),
        ...(text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) })
      }
    }
    return url.protocol === 'https:' ? { ...options, ...tls } : options
  }

  close(): void {
    this.#agent.destroy()
  }
}

export const nameOf = ({ method, path }: ApiRequest): string => `${method} ${path.split('?')[0]}`

const isStatus = (error: unknown, status: number): boolean =>
  error instanceof Error && 'status' in error && error.status === status

async function refusalOf(request: ApiRequest, status: number, response: IncomingMessage): Promise<Error> {
  const name = nameOf(request)
  const text = await wholeText(response, BYTES_MAX)
  return apiError(name, status, statusOf(text), response.headers['retry-after'])
}

/** Balancers before API servers answer with pages. */
function statusOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { message: text.trim() }
  }
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${name}: the answer is no JSON`, { cause: error })
  }
}

async function wholeText(response: IncomingMessage, bytesMax: number): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw new AnswerTooLong(`the answer is longer than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
