/**
 * Requests of the stateless era (2026-07-28): each is whole by itself. Lists, calls and names are those of sessions;
 * the links of such a request speak this era, to servers of either (docs/design/021-mcp-eras.md).
 */
import { createHash } from 'node:crypto'
import { clientOf } from '#engine/contract/client-of.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { Lru } from '#engine/kit/lru.ts'
import { handle } from './calls.ts'
import type { Core } from './core.ts'
import { discover } from './discover.ts'
import type { Reply } from './downstream/reply.ts'
import { callerOf } from './identity.ts'
import { refusalOf } from './protocol/headers.ts'
import { STATELESS } from './protocol/revisions.ts'
import {
  HEADER_MISMATCH,
  isObject,
  META_CLIENT_CAPABILITIES,
  META_CLIENT_INFO,
  MISSING_CLIENT_CAPABILITY,
  metaOf,
  UNSUPPORTED_VERSION
} from './protocol/stateless.ts'
import { METHOD_NOT_FOUND, type RpcNotification, type RpcRequest } from './rpc.ts'
import { Session } from './session.ts'
import { subscribe } from './subscribe.ts'

/** Callers that one worker remembers for a backend; of others it learns again whose names are whose. */
const CALLERS_MAX = 2000

/** Different with every request, and nothing of the caller. */
const TRACE: ReadonlySet<string> = new Set(['traceparent', 'tracestate', 'baggage'])

/** Names of fields that say to a target who asks, where it is configured that they are told on. */
const SAYS_WHO = /(?:^|-)(?:authorization|apikey|key|token|user|username|subject|identity|session)(?:-|$)/

/** What is remembered of callers from request to request: nothing that the next request would miss. */
export class Callers {
  readonly #known = new Lru<string, Session>(CALLERS_MAX)

  /**
   * By caller, client, and what targets are told of the caller, who may know it by a key that the gateway does not look
   * at: what is kept upstream for one is nobody else's. Who shows none of these is anonymous: an address is of many,
   * and so is a connection, behind a proxy. For those nothing is kept upstream.
   */
  of(core: Core, ex: Exchange, message: RpcRequest): Session {
    const meta = metaOf(message.params)
    const [info, capabilities] = [meta[META_CLIENT_INFO], meta[META_CLIENT_CAPABILITIES]]
    const caller = callerOf(ex)
    const certificate = ex.client.tls?.peer?.fingerprintSha256 ?? null
    const isUnknown = caller === '' && certificate === null
    const from = isUnknown ? ex.client.remoteAddress : [caller, certificate]
    const told = core.backend.forwardHeaders.map((name) => (TRACE.has(name) ? null : (ex.request.getAll(name) ?? null)))
    const hasKey = core.backend.forwardHeaders.some((name) => SAYS_WHO.test(name) && ex.request.has(name))
    const who = [core.context.name, from, told, info ?? null, capabilities ?? null]
    const key = createHash('sha256').update(JSON.stringify(who)).digest('base64url').slice(0, 32)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const c = isObject(info) ? info : {}
    const k = isObject(capabilities) ? capabilities : {}
    const session = new Session(
      null,
      { n: key, v: STATELESS, c, k, t: seats(core), i: caller, a: 0 },
      performance.now()
    )
    session.isAnonymous = isUnknown && !hasKey
    // A field that only a target can judge may be another one each time.
    session.party = caller || (certificate ?? clientOf(ex))
    this.#known.set(key, session)?.release()
    return session
  }
}

function seats({ peers }: Core): Record<string, readonly [null, string]> {
  return Object.fromEntries(peers.all.map(({ name }) => [name, [null, STATELESS]]))
}

export function serveStateless(
  core: Core,
  callers: Callers,
  reply: Reply,
  message: RpcRequest | RpcNotification,
  bytes: Buffer
): void {
  const { ex } = reply
  if (!('id' in message)) {
    // None are defined over HTTP, and what nobody understands does no harm (transports, Sending Messages).
    reply.plain(202, null)
    return
  }
  const refusal = refusalOf(ex.request, message)
  if (refusal !== null) {
    const { code, message: text, data } = refusal.error
    if (ex.mcp !== null) ex.mcp.errorCode = code
    reply.refuse(refusal.status, code, text, data === undefined ? { id: message.id } : { id: message.id, data })
    return
  }
  reply.statusOf = statusOf
  const session = callers.of(core, ex, message)
  if (ex.mcp !== null) ex.mcp.protocolVersion = STATELESS
  if (message.method === 'server/discover') discover(core, reply, session, message)
  else if (message.method === 'subscriptions/listen') subscribe(core, reply, session, message)
  else handle(core, reply, session, message, bytes)
}

/** Errors of the frame have a status of their own: the three that MCP defines, and unknown methods (transports). */
function statusOf(code: number): number {
  if (code === METHOD_NOT_FOUND) return 404
  return code === HEADER_MISMATCH || code === MISSING_CLIENT_CAPABILITY || code === UNSUPPORTED_VERSION ? 400 : 200
}
