/**
 * MCP servers over streamable HTTP (since 2025-03-26, basic/transports): each message is a POST, answered with JSON or
 * an event stream; a stream that breaks off is resumed with Last-Event-ID.
 */

import { isFieldValue } from '#backends/mcp/protocol/field-values.ts'
import { appendFlat } from '#backends/mcp/protocol/flat-headers.ts'
import { mirroredFields } from '#backends/mcp/protocol/headers.ts'
import type { RpcNotification, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import type { TargetKind } from '#backends/mcp/targets/kind.ts'
import { type McpHttpTarget, remoteKey } from '#backends/mcp/targets/remote.ts'
import { splitPath } from '#backends/mcp/targets/split-path.ts'
import type { Link, LinkEvents, LinkFailure, LinkOptions, ListenEvents, Target } from '#backends/mcp/targets/target.ts'
import { callerFor, type StartCall } from '#backends/shared/auth/authenticated-call.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import { configuredEndpoint } from '#engine/contract/backend-transport/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Call, CallEvents } from '#engine/contract/in-process.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { challengeOf, failureOf, mayBeExpired, RefusalBody, refusal } from './failures.ts'
import { GetStream } from './get-stream.ts'
import { PostResponse } from './post-response.ts'

/** For DELETE. */
const CLOSE_MS = 5_000
/** For notifications and responses. */
const SEND_MS = 30_000

/** What a server may call a session: MCP asks for visible ASCII, and sets no length. */
const SESSION_ID = /^[\x21-\x7e]{1,1024}$/

export const httpKind: TargetKind<McpHttpTarget> = {
  kind: 'http',
  key: remoteKey('http', 'A server that speaks streamable HTTP.'),
  traits: { keepsLink: false, sessions: 'byId', era: null, isProcess: false },
  compile: (target, { messageBytesMax }, context) => new HttpTarget(target, messageBytesMax, context)
}

export class HttpTarget implements Target {
  readonly name: string
  readonly traits = httpKind.traits
  readonly passesChallenges: boolean
  readonly messageBytesMax: number
  readonly #ask: StartCall
  readonly #path: string
  readonly #query: string

  constructor(target: McpHttpTarget, messageBytesMax: number, context: BackendContext) {
    this.name = target.name
    this.passesChallenges = target.auth === null || target.auth.kind === 'passthrough'
    this.messageBytesMax = messageBytesMax
    this.#ask = callerFor(target.auth, target, configuredEndpoint(target, context), context)
    const [path, query] = splitPath(target.path)
    this.#path = path
    this.#query = query
  }

  open(options: LinkOptions): HttpLink {
    return new HttpLink(this, options)
  }

  call(method: string, headers: HeaderBlock, body: Buffer | null, timeoutMs: number, events: CallEvents): Call {
    return this.#ask({ method, path: this.#path, query: this.#query, headers, body, timeoutMs }, events)
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

  /** The head of the response to `initialize`. */
  began(headers: HeaderBlock): void {
    const id = headers.get('mcp-session-id')
    if (id !== undefined && SESSION_ID.test(id)) this.#session = id
  }

  request(message: RpcRequest, events: LinkEvents, timeoutMs: number, json?: Buffer): () => void {
    const reader = new PostResponse(this, message, events)
    const body = json ?? Buffer.from(JSON.stringify(message))
    // The stateless era mirrors parts of the body in headers.
    const mirrored = this.#version === STATELESS ? mirroredFields(message) : NONE
    reader.begin(this.post(body, timeoutMs, reader, mirrored))
    return () => reader.giveUp()
  }

  async send(message: RpcNotification | RpcResponse): Promise<LinkFailure | null> {
    return new Promise((resolve) => {
      const events = new SendOutcome(this.#session !== null, resolve)
      events.call = this.post(Buffer.from(JSON.stringify(message)), SEND_MS, events)
    })
  }

  listen(lastEventId: string | null, events: ListenEvents): () => void {
    const reader = new GetStream(this, events)
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
    appendFlat(fields, headers)
    headers.append('Content-Type', 'application/json')
    headers.append('Accept', 'application/json, text/event-stream')
    return this.target.call('POST', headers, body, timeoutMs, events)
  }

  get(lastEventId: string | null, events: CallEvents): Call {
    const headers = this.#headers()
    headers.append('Accept', 'text/event-stream')
    // The id is a server's: it may hold what no header can.
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

/** Whether a message without a response was accepted. */
class SendOutcome implements CallEvents {
  call: Call | null = null
  readonly #hasSession: boolean
  #refusal: RefusalBody | null = null
  readonly #done: (failure: LinkFailure | null) => void

  constructor(hasSession: boolean, done: (failure: LinkFailure | null) => void) {
    this.#hasSession = hasSession
    this.#done = done
  }

  head(status: number, headers: HeaderBlock): void {
    const challenge = challengeOf(status, headers)
    if (challenge === null && mayBeExpired(status, this.#hasSession)) this.#refusal = new RefusalBody(status)
    else this.#done(status >= 200 && status < 300 ? null : (challenge ?? refusal(status, this.#hasSession)))
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    this.#refusal?.add(chunk, start, end)
    return true
  }

  end(): void {
    if (this.#refusal !== null) this.#done(this.#refusal.failure)
  }

  failed(code: ErrorCode): void {
    this.#done(failureOf(code))
  }
}
