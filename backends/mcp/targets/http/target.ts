/**
 * MCP servers over streamable HTTP (revisions 2025-03-26 to 2025-11-25, basic/transports): each message is a POST,
 * whose answer is JSON or a stream of events; a stream that breaks off is taken up again with Last-Event-ID.
 */

import type { McpHttpTarget } from '#backends/mcp/config/snapshot.ts'
import { isFieldValue } from '#backends/mcp/protocol/field-values.ts'
import { mirroredFields } from '#backends/mcp/protocol/headers.ts'
import type { RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { isUpstreamId } from '#backends/mcp/session/session.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { challengeOf, faultOf, mayBeExpired, refusal, Said } from './failures.ts'
import { ListenReader } from './get-stream.ts'
import { PostReader } from './post-response.ts'

export type HttpSpec = Pick<McpHttpTarget, 'name' | 'host' | 'port' | 'path' | 'hasTls' | 'auth' | 'transport'>

/** A DELETE is a courtesy: nobody waits for it longer. */
const CLOSE_MS = 5_000
/** A notification is taken, or not, at once. */
const SEND_MS = 30_000

export class HttpTarget implements Target {
  readonly name: string
  readonly kind = 'http'
  readonly messageBytesMax: number
  readonly #spec: HttpSpec
  readonly #endpoint: Endpoint
  readonly #context: BackendContext
  readonly #path: string
  readonly #query: string

  constructor(spec: HttpSpec, messageBytesMax: number, context: BackendContext) {
    this.name = spec.name
    this.messageBytesMax = messageBytesMax
    this.#spec = spec
    this.#context = context
    const { host, port, hasTls, path } = spec
    const { connectTimeoutMs } = context
    // The address comes from the configuration, so it needs no guard.
    const base = { guarded: false, allow: [], connectTimeoutMs }
    const options = endpointOptions({ host, hasTls }, spec.transport, base)
    this.#endpoint = context.upstream.endpoint({ host, port, unixPath: null }, options)
    const at = path.indexOf('?')
    this.#path = at < 0 ? path : path.slice(0, at)
    this.#query = at < 0 ? '' : path.slice(at)
  }

  open(options: LinkOptions): HttpLink {
    return new HttpLink(this, options)
  }

  call(method: string, headers: HeaderBlock, body: Buffer | null, timeoutMs: number, events: CallEvents): Call {
    const { auth } = this.#spec
    if (auth !== null) headers.set(auth.header, auth.value)
    const request = { method, path: this.#path, query: this.#query, headers, body, timeoutMs }
    return this.#context.inProcess.call(this.#endpoint, request, events)
  }
}

export class HttpLink implements Link {
  readonly target: HttpTarget
  readonly #options: LinkOptions
  #session: string | null
  #version: string | null

  constructor(target: HttpTarget, options: LinkOptions) {
    this.target = target
    this.#options = options
    this.#session = options.upstreamSession
    this.#version = options.version
  }

  get upstreamSession(): string | null {
    return this.#session
  }

  setVersion(version: string): void {
    this.#version = version
  }

  /** The server has named the session in its answer to `initialize`. */
  began(headers: HeaderBlock): void {
    const id = headers.get('mcp-session-id')
    if (id !== undefined && isUpstreamId(id)) this.#session = id
  }

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const reader = new PostReader(this, message, events)
    const body = json ?? Buffer.from(JSON.stringify(message))
    // The stateless era repeats in fields what intermediaries may want to know.
    const mirrored = this.#version === STATELESS ? mirroredFields(message) : NONE
    reader.begin(this.post(body, timeoutMs, reader, mirrored))
    return () => reader.giveUp()
  }

  async send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    return new Promise((resolve) => {
      const events = new Delivery(this.#session !== null, resolve)
      events.call = this.post(Buffer.from(JSON.stringify(message)), SEND_MS, events)
    })
  }

  listen(lastEventId: string | null, events: ListenEvents): () => void {
    const reader = new ListenReader(this, events)
    reader.call = this.get(lastEventId, reader)
    return () => reader.giveUp()
  }

  close(): void {
    if (this.#session === null) return
    this.target.call('DELETE', this.#headers(), null, CLOSE_MS, IGNORED)
  }

  release(): void {}

  post(body: Buffer, timeoutMs: number, events: CallEvents, fields: readonly string[] = NONE): Call {
    const headers = this.#headers()
    for (let i = 0; i + 1 < fields.length; i += 2) headers.append(fields[i]!, fields[i + 1]!)
    headers.append('Content-Type', 'application/json')
    headers.append('Accept', 'application/json, text/event-stream')
    return this.target.call('POST', headers, body, timeoutMs, events)
  }

  get(lastEventId: string | null, events: CallEvents): Call {
    const headers = this.#headers()
    headers.append('Accept', 'text/event-stream')
    // Ids are of others: what is no field value goes nowhere.
    if (lastEventId !== null && isFieldValue(lastEventId)) headers.append('Last-Event-ID', lastEventId)
    return this.target.call('GET', headers, null, 0, events)
  }

  #headers(): HeaderBlock {
    const headers = this.#options.headers.copy()
    if (this.#session !== null) headers.append('Mcp-Session-Id', this.#session)
    if (this.#version !== null) headers.append('MCP-Protocol-Version', this.#version)
    return headers
  }
}

const NONE: readonly string[] = []

const IGNORED: CallEvents = { head() {}, body: () => true, end() {}, failed() {} }

/** Whether a message without an answer has been taken. */
class Delivery implements CallEvents {
  call: Call | null = null
  readonly #hasSession: boolean
  #said: Said | null = null
  readonly #done: (failure: LinkFailure | null) => void

  constructor(hasSession: boolean, done: (failure: LinkFailure | null) => void) {
    this.#hasSession = hasSession
    this.#done = done
  }

  head(status: number, headers: HeaderBlock): void {
    const challenge = challengeOf(status, headers)
    if (challenge === null && mayBeExpired(status, this.#hasSession)) this.#said = new Said(status)
    else this.#done(status >= 200 && status < 300 ? null : (challenge ?? refusal(status, this.#hasSession)))
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    this.#said?.add(chunk, start, end)
    return true
  }

  end(): void {
    if (this.#said !== null) this.#done(this.#said.failure)
  }

  failed(code: ErrorCode): void {
    this.#done(faultOf(code))
  }
}
