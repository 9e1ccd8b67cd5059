/** Initializing sessions with targets: the first ones, and those in place of sessions that a target has lost. */

import { appendFlat, flatten } from '#backends/mcp/protocol/flat-headers.ts'
import { readInitializeResult, type ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import type { JsonObject, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { HANDSHAKE_VERSIONS } from '#backends/mcp/protocol/revisions.ts'
import type { Services } from '#backends/mcp/services.ts'
import { failure, type Link, type LinkFailure, type LinkOptions, type Target } from '#backends/mcp/targets/target.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import type { Session } from './session.ts'
export interface InitializedTarget {
  readonly facts: ServerFacts
  /** The result as the target sent it. */
  readonly result: JsonObject
  readonly link: Link
}

interface SessionOfTarget {
  readonly services: Services
  readonly session: Session
  readonly target: Target
  readonly headers: HeaderBlock
}

const SESSION_OVER = failure('expired', 'the session is over')

/** Initializes the session with one target again; once for all requests that wait for it. */
export function restore(of: SessionOfTarget, done: (failure: LinkFailure | null) => void): void {
  const { services, session, target, headers } = of
  const waiting = session.restoring.get(target.name)
  if (waiting !== undefined) {
    waiting.push(done)
    return
  }
  // The client has ended the session, perhaps in another worker.
  if (services.sessions.isEnded(session)) {
    done(SESSION_OVER)
    return
  }
  const all = [done]
  session.restoring.set(target.name, all)
  const finish = (why: LinkFailure | null): void => {
    session.restoring.delete(target.name)
    for (const one of all) one(why)
  }
  session.dropLink(target)
  const { id, key, caller } = session
  const lost = session.targetSessions.get(target.name)?.upstreamId
  const { name: backend } = services.context
  const request = { backend, target: target.name, id: id ?? '', caller, lost, headers: flatten(headers) }
  // Sessions of other kinds have one owner already: the main thread, or none.
  const mayBeElsewhere = id !== null && target.traits.sessions === 'byId'
  const isElsewhere =
    mayBeElsewhere &&
    services.worker.restoreOwners.send(key, request, (outcome) => {
      if (outcome === null) restoreHere(of, finish)
      else if ('kind' in outcome) finish(outcome)
      else {
        session.targetSessions.set(target.name, { ...outcome })
        forgetStreams(of)
        finish(null)
      }
    })
  if (!isElsewhere) restoreHere(of, finish)
}

/** The streams of the lost session announce no more changes of lists. */
function forgetStreams({ services, session, target }: SessionOfTarget): void {
  session.forgetStreams(target.name)
  services.listChanges.dropWatched(session, target.name)
}

function restoreHere(of: SessionOfTarget, finish: (failure: LinkFailure | null) => void): void {
  const { services, session, target, headers } = of
  const { info, capabilities } = session.client
  const params = { protocolVersion: session.version, capabilities, clientInfo: info }
  const options = {
    sessionKey: session.key,
    headers: services.targets.headersFor(target, headers),
    party: session.party
  }
  initializeTarget(target, options, params, services.backend.targetTimeoutMs, (initialized, why) => {
    if (initialized === null) {
      finish(why)
      return
    }
    const { link, facts } = initialized
    session.targetSessions.set(target.name, { upstreamId: link.upstreamSession, version: facts.protocolVersion })
    session.learnCapabilities(target.name, facts.capabilities)
    forgetStreams(of)
    if (target.traits.keepsLink) session.keepLink(target, link)
    // As the client once did. A target that does not accept it will refuse the request that follows.
    void link.send({ jsonrpc: '2.0', method: 'notifications/initialized' }).then(() => finish(null))
  })
}

let initializations = 0

/** Sends `initialize`. `done`: with what came of it, or why nothing did. Returns what gives it up. */
export function initializeTarget(
  target: Target,
  options: Pick<LinkOptions, 'sessionKey' | 'headers' | 'party'>,
  params: JsonObject,
  timeoutMs: number,
  done: (initialized: InitializedTarget | null, failure: LinkFailure | null) => void
): () => void {
  const link = target.open({ ...options, upstreamSession: null, version: null })
  const id = `weir-${performance.now().toFixed(0)}-${++initializations}`
  return link.request(
    { jsonrpc: '2.0', id, method: 'initialize', params },
    {
      // Before it is initialized a server may only ping and log (2025-11-25, lifecycle).
      message() {},
      answered(response) {
        const initialized = initializedOf(link, response)
        if (typeof initialized === 'string') done(null, failure('refused', initialized))
        else {
          link.setVersion(initialized.facts.protocolVersion)
          done(initialized, null)
        }
      },
      failed: (why) => done(null, why)
    },
    timeoutMs
  )
}

/** Text: why the response initializes nothing. */
function initializedOf(link: Link, response: RpcResponse): InitializedTarget | string {
  if ('error' in response) return `refused to initialise: ${response.error.message.slice(0, 200)}`
  const facts = readInitializeResult(response.result)
  if (facts === null) return 'answered initialize with what is no InitializeResult'
  if (!HANDSHAKE_VERSIONS.includes(facts.protocolVersion)) return `speaks an unknown revision, ${facts.protocolVersion}`
  return { facts, result: response.result, link }
}

/** Restores sessions for other workers while the configuration is active. Returns what ends that. */
export function serveRestores(services: Services): () => void {
  return services.worker.restoreOwners.serve(services.context.name, (request, done) => {
    const { target: name, id, caller, lost, headers } = request
    const session = services.names.targets.has(name) ? services.sessions.find(id, caller, performance.now()) : null
    const known = session?.targetSessions.get(name)
    if (session === null) done(SESSION_OVER)
    else if (known !== undefined && known.upstreamId !== lost) done(known)
    else {
      const of = { services, session, target: services.targets.get(name), headers: appendFlat(headers) }
      restore(of, (why) => done(why ?? session.targetSessions.get(name)!))
    }
  })
}
