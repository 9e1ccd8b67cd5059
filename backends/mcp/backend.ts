/**
 * MCP servers behind one endpoint. The files in the order of one call:
 *
 * - backend.ts: HTTP. Checks Origin, method, Accept, Content-Type and version, and finds the session.
 * - protocol/parse-message.ts: bytes to a JSON-RPC message. protocol/ has the facts of every revision.
 * - session/: initialize.ts begins a session with every target, store.ts finds it by its sealed id (seal.ts), caller.ts
 *   tells whose it is; stateless-sessions.ts stands in for sessions in the stateless era (calls/stateless.ts).
 * - calls/dispatch.ts: which targets a method goes to. names/names.ts finds the owner of a name, find-owners.ts looks
 *   it up in the lists of targets; authorization/rules.ts decides; lists/serve.ts has the list methods.
 * - calls/forward.ts: one call to one target, by calls/target-request.ts, which restores lost sessions
 *   (session/restore.ts) and asks the circuit breaker (targets/circuit-breaker.ts).
 * - targets/: index.ts is the table of kinds; a Link (target.ts) is one conversation with a server.
 * - bridge/: between a link and its server where client and server are of different eras (era-target.ts).
 * - names/messages.ts, names/names.ts: what comes back, under the names that clients know.
 * - downstream/reply.ts: JSON or an event stream to the client; legacy-sse.ts for clients of 2024-11-05.
 *
 * Besides calls: calls/client-messages.ts (notifications and responses of clients), calls/listen.ts (server-initiated
 * messages), calls/subscribe.ts (subscriptions), calls/discover.ts. services.ts has what all parts of one backend
 * share, workers/state.ts what all backends of a worker share: requests of one caller reach several workers, which
 * agree on one owner of its sessions over workers/bus.ts.
 */
import { performance } from 'node:perf_hooks'
import type { McpBackend } from '#backends/mcp/config/snapshot.ts'
import type { BackendContext, BackendKind, CompiledBackend, PrepareContext } from '#engine/contract/backend.ts'
import type { Background } from '#engine/contract/background.ts'
import { whenRequest } from '#engine/contract/body.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type Verdict } from '#engine/contract/filter.ts'
import { newMcpUse } from '#engine/contract/mcp-use.ts'
import { isKeptBack } from '#engine/contract/outbound.ts'
import { TRACE } from '#engine/contract/tracing.ts'
import { newCall } from './calls/call.ts'
import { deliver } from './calls/client-messages.ts'
import { dispatch } from './calls/dispatch.ts'
import { listen } from './calls/listen.ts'
import { serveStateless } from './calls/stateless.ts'
import { mcpConfig } from './config/index.ts'
import { LegacySse } from './downstream/legacy-sse.ts'
import { isOriginAllowed } from './downstream/origin.ts'
import { dialect, Reply } from './downstream/reply.ts'
import { isStateless } from './protocol/headers.ts'
import {
  INTERNAL_ERROR,
  type RpcId,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse
} from './protocol/json-rpc.ts'
import { isInvalid, parseMessage } from './protocol/parse-message.ts'
import { HANDSHAKE_VERSIONS, STATELESS, SUPPORTED_VERSIONS, UNVERSIONED_REVISION } from './protocol/revisions.ts'
import { traceContextOf } from './protocol/trace-context.ts'
import { Services } from './services.ts'
import { callerOf, partyOf } from './session/caller.ts'
import { initialize, OWN_INFO } from './session/initialize.ts'
import { serveRestores } from './session/restore.ts'
import { Session } from './session/session.ts'
import { StatelessSessions } from './session/stateless-sessions.ts'
import { newSessionKey } from './session/store.ts'
import { childOf, prepareTarget } from './targets/index.ts'

/** Implementation-defined JSON-RPC codes; MCP's SDKs use these two over HTTP. */
const REFUSED = -32_000
const SESSION_UNKNOWN = -32_001

class CompiledMcpBackend implements CompiledBackend {
  readonly #services: Services
  readonly #context: BackendContext
  readonly #legacy: LegacySse
  readonly #statelessSessions = new StatelessSessions()

  constructor(backend: McpBackend, context: BackendContext) {
    this.#services = new Services(backend, context)
    this.#context = context
    this.#legacy = new LegacySse(this.#services)
    let ends: (() => void)[] = []
    this.background = {
      begin: () => {
        ends = [this.#services.activate(), serveRestores(this.#services)]
      },
      end: () => {
        for (const end of ends) end()
      }
    }
  }

  /** A message is kept until it is answered: it may have to be sent to its target again. */
  readonly keepsRequest = true

  readonly background: Background

  /** Targets fail one by one, and clients learn of that by JSON-RPC errors. */
  readonly isUsable = (): boolean => true

  readonly serve = (ex: Exchange): void => {
    ex.backend = this.#context.name
    ex.backendType = mcpBackend
    ex.dialect = dialect
    // Messages to targets beside requests have no span of their own.
    TRACE.get(ex)?.inject(ex.request)
    const reply = new Reply(ex, this.#context, this.#services.keepalive)
    if (!isOriginAllowed(ex)) reply.refuse(403, REFUSED, 'Forbidden: requests from this Origin are not answered')
    else if (ex.method === 'POST') this.#post(ex, reply)
    else if (this.#services.isStateless || ex.request.get('mcp-protocol-version') === STATELESS)
      reply.refuse(405, REFUSED, 'Method Not Allowed', ONLY_POST)
    else if (ex.method === 'GET') this.#get(ex, reply)
    else if (ex.method === 'DELETE') this.#delete(ex, reply)
    else reply.refuse(405, REFUSED, 'Method Not Allowed', ALL_METHODS)
  }

  // --- POST ---

  #post(ex: Exchange, reply: Reply): void {
    const legacy = this.#legacy.idOf(ex)
    if (legacy !== null) {
      this.#readBody(ex, reply, (bytes) => this.#legacy.post(ex, reply, legacy, bytes))
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
    this.#readBody(ex, reply, (bytes) => this.#onMessage(ex, reply, bytes))
  }

  #readBody(ex: Exchange, reply: Reply, then: (bytes: Buffer) => void): void {
    whenRequest(ex, this.#context.maxBufferBytes, (verdict) => this.#onBody(ex, reply, verdict, then))
  }

  #onBody(ex: Exchange, reply: Reply, verdict: Verdict, then: (bytes: Buffer) => void): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict !== CONTINUE) {
      this.#context.fail(ex, ex.error ?? 'INTERNAL')
      return
    }
    try {
      then(ex.requestBytes ?? Buffer.alloc(0))
    } catch (error) {
      // No caller catches what is thrown after the body has arrived.
      const why = error instanceof Error ? error.message : String(error)
      this.#context.log('error', `mcp ${this.#context.name}: a request has failed in the gateway: ${why}`)
      reply.refuse(500, INTERNAL_ERROR, 'Internal error')
    }
  }

  #onMessage(ex: Exchange, reply: Reply, bytes: Buffer): void {
    const message = parseMessage(bytes)
    if (isInvalid(message)) {
      reply.refuse(400, message.code, message.message, { id: message.id })
      return
    }
    recordMessage(ex, message)
    const id = 'id' in message && 'method' in message ? message.id : null
    reply.requestId = id
    if ('method' in message && isStateless(ex.request, message)) {
      serveStateless(this.#services, this.#statelessSessions, reply, message, bytes)
      return
    }
    if (!this.#isVersionSupported(ex, reply, id)) return
    if ('method' in message && 'id' in message && message.method === 'initialize') {
      initialize(this.#services, reply, message)
      return
    }
    const session = this.#services.isStateless ? this.#transientSession(ex, reply) : this.#sessionOf(ex, reply, id)
    if (session === null) return
    recordSession(ex, session)
    if (id === null) deliver(this.#services, reply, session, message as RpcNotification | RpcResponse)
    else dispatch(newCall(this.#services, reply, session, message as RpcRequest, bytes))
  }

  #isVersionSupported(ex: Exchange, reply: Reply, id: RpcId | null): boolean {
    const version = ex.request.get('mcp-protocol-version')
    if (version === undefined || HANDSHAKE_VERSIONS.includes(version)) return true
    const message = `Bad Request: Unsupported protocol version (supported versions: ${SUPPORTED_VERSIONS.join(', ')})`
    reply.refuse(400, REFUSED, message, { id, data: { supported: SUPPORTED_VERSIONS } })
    return false
  }

  /** Null: there is none, and the client has the reply. */
  #sessionOf(ex: Exchange, reply: Reply, id: RpcId | null): Session | null {
    const sessionId = ex.request.get('mcp-session-id')
    if (sessionId === undefined || sessionId === '') {
      reply.refuse(400, REFUSED, 'Bad Request: Mcp-Session-Id header is required', { id })
      return null
    }
    const session = this.#services.sessions.find(sessionId, callerOf(ex), performance.now())
    // Where a request is only explained, the key of sessions may be another process's.
    if (session === null && isKeptBack('whether the session is known')) return this.#transientSession(ex, reply)
    if (session === null) reply.refuse(404, SESSION_UNKNOWN, 'Session not found', { id })
    else if (session.party === '') session.party = partyOf(ex)
    return session
  }

  /** Stateless routing: a session of one request, begun with the targets that it needs. */
  #transientSession(ex: Exchange, reply: Reply): Session {
    const version = ex.request.get('mcp-protocol-version') ?? UNVERSIONED_REVISION
    const sealed = { n: newSessionKey(), v: version, c: OWN_INFO, k: {}, t: {}, i: '', a: 0 }
    const session = new Session(null, sealed, performance.now())
    session.party = partyOf(ex)
    reply.onOver = () => this.#services.closeSession(session, this.#services.forwardedHeaders(ex))
    return session
  }

  // --- GET and DELETE ---

  #get(ex: Exchange, reply: Reply): void {
    if (!accepts(ex.request.getAll('accept') ?? '', 'text/event-stream')) {
      reply.refuse(406, REFUSED, 'Not Acceptable: Accept must list text/event-stream')
      return
    }
    if (!this.#isVersionSupported(ex, reply, null)) return
    if (this.#legacy.isBeginning(ex)) {
      this.#legacy.begin(ex, reply)
      return
    }
    const session = this.#sessionOf(ex, reply, null)
    if (session === null) return
    recordSession(ex, session)
    listen(this.#services, reply, session)
  }

  #delete(ex: Exchange, reply: Reply): void {
    if (!this.#isVersionSupported(ex, reply, null)) return
    const session = this.#sessionOf(ex, reply, null)
    if (session === null) return
    recordSession(ex, session)
    this.#services.closeSession(session, this.#services.forwardedHeaders(ex))
    reply.plain(200, null)
  }
}

const ONLY_POST = { headers: ['Allow', 'POST'] }
const ALL_METHODS = { headers: ['Allow', 'GET, POST, DELETE'] }

/** For expressions, logs and metrics. */
function recordMessage(ex: Exchange, message: RpcMessage): void {
  const use = newMcpUse()
  ex.mcp = use
  if (!('method' in message)) return
  use.method = message.method
  if ('id' in message) use.requestId = String(message.id)
  const trace = ex.slots === null ? null : TRACE.get(ex)
  const context = trace === null ? null : traceContextOf(message.params)
  if (context !== null) trace!.joinMessage(context)
}

/** As recordMessage; requests without a message have a session, too. */
function recordSession(ex: Exchange, { key, version }: Session): void {
  ex.mcp ??= newMcpUse()
  ex.mcp.sessionId = key
  ex.mcp.protocolVersion = version
}

/** RFC 9110 section 12.5.1 without weights: a listed type is accepted. */
function accepts(field: string, type: string): boolean {
  return field.split(',').some((part) => {
    const wanted = part.split(';', 1)[0]!.trim().toLowerCase()
    return wanted === type || wanted === '*/*' || wanted === `${type.split('/', 1)[0]}/*`
  })
}

const compile = (backend: McpBackend, context: BackendContext): CompiledBackend =>
  new CompiledMcpBackend(backend, context)

function prepare(backend: McpBackend, context: PrepareContext): McpBackend {
  return { ...backend, targets: backend.targets.map((target) => prepareTarget(target, context)) }
}

function withSessionKey(backend: McpBackend, key: string): McpBackend {
  const { session } = backend
  return session.key === null ? { ...backend, session: { ...session, key } } : backend
}

/** Processes of its targets. */
const childrenOf = ({ targets }: McpBackend) => targets.flatMap((target) => childOf(target) ?? [])

export const mcpBackend: BackendKind = {
  kind: 'mcp',
  protocol: 'mcp',
  config: mcpConfig,
  children: childrenOf,
  compile,
  prepare,
  withSessionKey
}
