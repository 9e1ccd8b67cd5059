/**
 * The caller of a request without a session (2026-07-28), by its credentials: sessions kept upstream for one caller
 * are for that caller alone, and none are kept for unknown callers (docs/design/021-mcp-eras.md).
 */
import { createHash } from 'node:crypto'
import { isObject, type RpcRequest } from '#backends/mcp/protocol/json-rpc.ts'
import { STATELESS } from '#backends/mcp/protocol/revisions.ts'
import { META_CLIENT_CAPABILITIES, META_CLIENT_INFO, metaOf } from '#backends/mcp/protocol/stateless.ts'
import type { Services } from '#backends/mcp/services.ts'
import { clientKey } from '#engine/contract/client-key.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { Lru } from '#engine/kit/lru.ts'
import { callerOf } from './caller.ts'
import { isCredential, isPerRequest } from './forwarded-headers.ts'
import { Session } from './session.ts'

/** Callers that one worker remembers for a backend; of others it learns again whose names are whose. */
const CALLERS_MAX = 2000

interface CallerIdentity {
  /** The same for all requests of one caller, and for no others. */
  readonly marks: unknown
  /** Unknown whether the next request is of the same caller. */
  readonly isAnonymous: boolean
  /** LinkOptions.party. */
  readonly party: string
  /** As callerOf says it. */
  readonly caller: string
}

/**
 * `forwarded`: names of client fields that go to targets. A caller is identified by a credential that the gateway has
 * verified, or by one that goes to the targets, which may distinguish callers that the gateway does not. Many callers
 * share an address, and a connection behind a proxy: without a credential a caller is anonymous. Other forwarded
 * fields divide callers further (one key may serve many users), and identify none.
 */
export function identify(ex: Exchange, forwarded: readonly string[]): CallerIdentity {
  const caller = callerOf(ex)
  const certificate = ex.client.tls?.peer?.fingerprintSha256 ?? null
  const isVerified = caller !== '' || certificate !== null
  const fields: [string, string][] = []
  let hasCredential = false
  for (const name of forwarded) {
    const value = isPerRequest(name) ? undefined : ex.request.getAll(name)
    if (value === undefined || isVerifiedBy(ex, value)) continue
    fields.push([name, value])
    if (isCredential(name, value)) hasCredential = true
  }
  const isAnonymous = !isVerified && !hasCredential
  return {
    marks: [caller, certificate, fields, isAnonymous ? ex.client.remoteAddress : null],
    isAnonymous,
    // A credential that only a target can judge may be another one each time.
    party: caller || (certificate ?? clientKey(ex)),
    caller
  }
}

/** What the caller has been verified by says no more than who that is: a token that is refreshed is another text. */
function isVerifiedBy({ identity }: Exchange, value: string): boolean {
  if (identity === null) return false
  const { rawToken, rawKey } = identity
  return (rawToken !== null && value.endsWith(rawToken)) || (rawKey !== null && value.endsWith(rawKey))
}

/** What is remembered of callers from request to request: nothing that the next request would miss. */
export class StatelessSessions {
  readonly #known = new Lru<string, Session>(CALLERS_MAX)

  /** By caller, client and what the client can do: a session upstream begins with those. */
  of(services: Services, ex: Exchange, message: RpcRequest): Session {
    const meta = metaOf(message.params)
    const [info, capabilities] = [meta[META_CLIENT_INFO], meta[META_CLIENT_CAPABILITIES]]
    const { marks, isAnonymous, party, caller } = identify(ex, forwardedNames(services))
    const all = [services.context.name, marks, info ?? null, capabilities ?? null]
    const key = createHash('sha256').update(JSON.stringify(all)).digest('base64url').slice(0, 32)
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const c = isObject(info) ? info : {}
    const k = isObject(capabilities) ? capabilities : {}
    const sealed = { n: key, v: STATELESS, c, k, t: targetSessionsOf(services), i: caller, a: 0 }
    const session = new Session(null, sealed, performance.now())
    session.isAnonymous = isAnonymous
    session.party = party
    this.#known.set(key, session)?.release()
    return session
  }
}

function forwardedNames({ backend, passesCredentials }: Services): readonly string[] {
  const { forwardHeaders } = backend
  if (!passesCredentials || forwardHeaders.includes('authorization')) return forwardHeaders
  return ['authorization', ...forwardHeaders]
}

function targetSessionsOf({ targets }: Services): Record<string, readonly [null, string]> {
  return Object.fromEntries(targets.all.map(({ name }) => [name, [null, STATELESS]]))
}
