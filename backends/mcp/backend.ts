/** MCP servers behind one endpoint: what HTTP asks for is checked here, and what JSON-RPC asks for is passed on. */

import { performance } from 'node:perf_hooks'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, BackendKind, CompiledBackend, PrepareContext } from '#engine/contract/backend.ts'
import { whenRequest } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type Background, CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import { newMcpUse } from '#engine/contract/mcp-use.ts'
import { tell } from './calls/client-messages.ts'
import { handle } from './calls/dispatch.ts'
import { listen } from './calls/listen.ts'
import { serveStateless } from './calls/stateless.ts'
import { mcpConfig } from './config/index.ts'
import { LegacySse } from './downstream/legacy-sse.ts'
import { isOriginFine } from './downstream/origin.ts'
import { dialect, Reply } from './downstream/reply.ts'
import { isStateless } from './protocol/headers.ts'
import { INTERNAL_ERROR, type RpcId, type RpcMessage } from './protocol/json-rpc.ts'
import { isUnreadable, readMessage } from './protocol/read-message.ts'
import { STATELESS, SUPPORTED_VERSIONS } from './protocol/revisions.ts'
import { REVISION_UNSAID, REVISIONS } from './protocol/versions.ts'
import { Core } from './services.ts'
import { callerOf, partyOf } from './session/caller.ts'
import { initialize, OWN_INFO } from './session/initialize.ts'
import { newSessionKey, Session } from './session/session.ts'
import { Callers } from './session/stateless-sessions.ts'
import { prepareOpenApi } from './targets/openapi/target.ts'

/** JSON-RPC codes that an implementation may define; MCP's own SDKs use these two for HTTP. */
const REFUSED = -32_000
const SESSION_UNKNOWN = -32_001

class Service implements CompiledBackend {
  readonly #core: Core
  readonly #context: BackendContext
  readonly #legacy: LegacySse
  readonly #callers = new Callers()

  constructor(backend: McpBackend, context: BackendContext) {
    this.#core = new Core(backend, context)
    this.#context = context
    this.#legacy = new LegacySse(this.#core)
    let end = (): void => undefined
    this.background = {
      begin: () => {
        end = this.#core.hold()
      },
      end: () => end()
    }
  }

  /** A message is kept as it was read until it is answered: its target may have to be asked once more. */
  readonly keepsRequest = true

  readonly background: Background

  /** Targets fail one by one: what is said about it is said in JSON-RPC. */
  readonly isUsable = (): boolean => true

  readonly serve = (ex: Exchange): void => {
    ex.backend = this.#context.name
    ex.backendKind = 'mcp'
    ex.dialect = dialect
    const reply = new Reply(ex, this.#context, this.#core.pulse)
    if (!isOriginFine(ex)) reply.refuse(403, REFUSED, 'Forbidden: requests from this Origin are not answered')
    else if (ex.method === 'POST') this.#post(ex, reply)
    else if (this.#core.isStateless || ex.request.get('mcp-protocol-version') === STATELESS)
      reply.refuse(405, REFUSED, 'Method Not Allowed', ONLY_POST)
    else if (ex.method === 'GET') this.#get(ex, reply)
    else if (ex.method === 'DELETE') this.#delete(ex, reply)
    else reply.refuse(405, REFUSED, 'Method Not Allowed', ALL_METHODS)
  }

  // --- POST ---

  #post(ex: Exchange, reply: Reply): void {
    const legacy = this.#legacy.idOf(ex)
    if (legacy !== null) {
      this.#whole(ex, reply, (bytes) => this.#legacy.post(ex, reply, legacy, bytes))
      return
    }
    const accept = ex.request.getAll('accept') ?? ''
    if (!accepts(accept, 'application/json') || !accepts(accept, 'text/event-stream')) {
      const message = 'Not Acceptable: Accept must list both application/json and text/event-stream'
      reply.refuse(406, REFUSED, message)
      return
    }
    if (!/^application\/json[ \t]*(?:;|$)/i.test(ex.request.get('content-type') ?? '')) {
      reply.refuse(415, REFUSED, 'Unsupported Media Type: Content-Type must be application/json')
      return
    }
    this.#whole(ex, reply, (bytes) => this.#read(ex, reply, bytes))
  }

  #whole(ex: Exchange, reply: Reply, then: (bytes: Buffer) => void): void {
    whenRequest(ex, this.#context.maxBufferBytes, (verdict) => this.#arrived(ex, reply, verdict, then))
  }

  /** The body is here, or will not be. */
  #arrived(ex: Exchange, reply: Reply, verdict: Verdict, then: (bytes: Buffer) => void): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict !== CONTINUE) {
      this.#context.fail(ex, ex.error ?? 'INTERNAL')
      return
    }
    try {
      then(ex.requestBytes ?? Buffer.alloc(0))
    } catch (error) {
      // Nobody above waits for what is thrown behind a body, and the process must outlive every body.
      const why = error instanceof Error ? error.message : String(error)
      this.#context.log('error', `mcp ${this.#context.name}: a request has failed in the gateway: ${why}`)
      reply.refuse(500, INTERNAL_ERROR, 'Internal error')
    }
  }

  #read(ex: Exchange, reply: Reply, bytes: Buffer): void {
    const message = readMessage(bytes)
    if (isUnreadable(message)) {
      reply.refuse(400, message.code, message.message, { id: message.id })
      return
    }
    note(ex, message)
    const id = 'id' in message && 'method' in message ? message.id : null
    reply.requestId = id
    if ('method' in message && isStateless(ex.request, message)) {
      serveStateless(this.#core, this.#callers, reply, message, bytes)
      return
    }
    if (!this.#isVersionFine(ex, reply, id)) return
    if ('method' in message && 'id' in message && message.method === 'initialize') {
      initialize(this.#core, reply, message)
      return
    }
    const session = this.#core.isStateless ? this.#passing(ex, reply) : this.#sessionOf(ex, reply, id)
    if (session === null) return
    belongs(ex, session)
    if (id === null) tell(this.#core, reply, session, message as never)
    else handle(this.#core, reply, session, message as never, bytes)
  }

  #isVersionFine(ex: Exchange, reply: Reply, id: RpcId | null): boolean {
    const version = ex.request.get('mcp-protocol-version')
    if (version === undefined || REVISIONS.includes(version)) return true
    const message = `Bad Request: Unsupported protocol version (supported versions: ${SUPPORTED_VERSIONS.join(', ')})`
    reply.refuse(400, REFUSED, message, { id, data: { supported: SUPPORTED_VERSIONS } })
    return false
  }

  /** Null: the client has been told that there is none. */
  #sessionOf(ex: Exchange, reply: Reply, id: RpcId | null): Session | null {
    const given = ex.request.get('mcp-session-id')
    if (given === undefined || given === '') {
      reply.refuse(400, REFUSED, 'Bad Request: Mcp-Session-Id header is required', { id })
      return null
    }
    const session = this.#core.sessions.find(given, callerOf(ex), performance.now())
    if (session === null) reply.refuse(404, SESSION_UNKNOWN, 'Session not found', { id })
    else if (session.party === '') session.party = partyOf(ex)
    return session
  }

  /** Stateless routing: a session for one request, which is begun with the targets that it needs. */
  #passing(ex: Exchange, reply: Reply): Session {
    const version = ex.request.get('mcp-protocol-version') ?? REVISION_UNSAID
    const sealed = { n: newSessionKey(), v: version, c: OWN_INFO, k: {}, t: {}, i: '', a: 0 }
    const session = new Session(null, sealed, performance.now())
    session.party = partyOf(ex)
    reply.onOver = () => this.#core.close(session, this.#core.peers.headersOf(ex))
    return session
  }

  // --- GET and DELETE ---

  #get(ex: Exchange, reply: Reply): void {
    if (!accepts(ex.request.getAll('accept') ?? '', 'text/event-stream')) {
      reply.refuse(406, REFUSED, 'Not Acceptable: Accept must list text/event-stream')
      return
    }
    if (!this.#isVersionFine(ex, reply, null)) return
    if (this.#legacy.isBeginning(ex)) {
      this.#legacy.begin(ex, reply)
      return
    }
    const session = this.#sessionOf(ex, reply, null)
    if (session === null) return
    belongs(ex, session)
    listen(this.#core, reply, session)
  }

  #delete(ex: Exchange, reply: Reply): void {
    if (!this.#isVersionFine(ex, reply, null)) return
    const session = this.#sessionOf(ex, reply, null)
    if (session === null) return
    belongs(ex, session)
    this.#core.close(session, this.#core.peers.headersOf(ex))
    reply.plain(200, null)
  }
}

const ONLY_POST = { headers: ['Allow', 'POST'] }
const ALL_METHODS = { headers: ['Allow', 'GET, POST, DELETE'] }

/** For expressions, logs and metrics. */
function note(ex: Exchange, message: RpcMessage): void {
  const use = newMcpUse()
  ex.mcp = use
  if (!('method' in message)) return
  use.method = message.method
  if ('id' in message) use.requestId = String(message.id)
}

/** For the same: also what is no message has a session. */
function belongs(ex: Exchange, { key, version }: Session): void {
  ex.mcp ??= newMcpUse()
  ex.mcp.sessionId = key
  ex.mcp.protocolVersion = version
}

/** RFC 9110 section 12.5.1, as far as anybody needs it: a type that is listed is wanted. */
function accepts(field: string, type: string): boolean {
  return field.split(',').some((part) => {
    const wanted = part.split(';', 1)[0]!.trim().toLowerCase()
    return wanted === type || wanted === '*/*' || wanted === `${type.split('/', 1)[0]}/*`
  })
}

const compile = (backend: McpBackend, context: BackendContext): CompiledBackend => new Service(backend, context)

function prepare(backend: McpBackend, context: PrepareContext): McpBackend {
  if (backend.targets.every(({ kind }) => kind !== 'openapi')) return backend
  const targets = backend.targets.map((one) => (one.kind === 'openapi' ? prepareOpenApi(one, context) : one))
  return { ...backend, targets }
}

/** Programs that speak MCP over their standard streams. */
function childrenOf({ targets }: McpBackend) {
  return targets.flatMap((target) => (target.kind === 'stdio' ? [{ ...target, target: target.name }] : []))
}

export const mcpBackend: BackendKind = { kind: 'mcp', config: mcpConfig, children: childrenOf, compile, prepare }
