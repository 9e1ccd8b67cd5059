/**
 * One question to one target. A target that does not know the session any more is initialised again, as the client
 * once did it, and asked once more: the client's session outlives those of its targets.
 */
import { performance } from 'node:perf_hooks'
import type { News } from '#backends/mcp/lists/changes.ts'
import { factsOf } from '#backends/mcp/lists/kinds.ts'
import type { JsonObject, RpcRequest, RpcResponse } from '#backends/mcp/protocol/json-rpc.ts'
import { REVISIONS } from '#backends/mcp/protocol/versions.ts'
import type { Healed } from '#backends/mcp/session/restore-owner.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import { gently, type TargetRest } from '#backends/mcp/targets/circuit-breaker.ts'
import type { Link, LinkEvents, LinkFailure, ServerFacts, Target } from '#backends/mcp/targets/target.ts'
import { isKept, type Peers } from '#backends/mcp/targets/target-set.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'

export interface Asking {
  readonly peers: Peers
  readonly session: Session
  readonly target: Target
  readonly headers: HeaderBlock
  /** LinkOptions.party. */
  readonly party: string
  /** For an answer; 0: however long it takes. */
  readonly timeoutMs: number
  /** For an initialisation. */
  readonly beginMs: number
  /** The client has ended the session, perhaps in another worker: nothing of it is begun again. */
  readonly isOver: () => boolean
  /** Hears what targets tell of their lists. */
  readonly news: News
  /** Whether it is worth asking; null: it is asked. */
  readonly rest: TargetRest | null
  /** Has another worker begin the session anew, where that is its; false: it is this one's (Healers.elsewhere). */
  readonly heal: (used: string | null | undefined, done: (outcome: Healed | LinkFailure | null) => void) => boolean
}

export interface Begun {
  readonly facts: ServerFacts
  /** As it came. */
  readonly result: JsonObject
  readonly link: Link
}

let heals = 0

/** Asks, and heals the session once. Returns what gives it up. `json`: the message as it came, if that may be sent. */
export function ask(asking: Asking, message: RpcRequest, events: LinkEvents, json?: Buffer): () => void {
  const { rest } = asking
  if (rest === null) return put(asking, message, events, json)
  return gently(
    rest,
    (failure) => events.failed(failure),
    (settled, isWaited) => put(asking, message, isWaited ? settling(events, settled) : aside(settled), json)
  )
}

/** Nobody waits: only whether an answer comes is of interest. */
const aside = (settled: (failure: LinkFailure | null) => void): LinkEvents => ({
  message() {},
  answered: () => settled(null),
  failed: settled
})

function settling(events: LinkEvents, settled: (failure: LinkFailure | null) => void): LinkEvents {
  const { answeredBytes, hinted } = events
  return {
    message: (given, id) => events.message(given, id),
    answered(response) {
      settled(null)
      events.answered(response)
    },
    ...(answeredBytes === undefined
      ? {}
      : {
          answeredBytes(given: Buffer) {
            settled(null)
            events.answeredBytes!(given)
          }
        }),
    ...(hinted === undefined ? {} : { hinted: (ttlMs, cacheScope) => events.hinted!(ttlMs, cacheScope) }),
    failed(failure) {
      settled(failure)
      events.failed(failure)
    }
  }
}

function put(asking: Asking, message: RpcRequest, events: LinkEvents, json?: Buffer): () => void {
  const { session, target, peers, headers, timeoutMs, news } = asking
  let isGivenUp = false
  let hasHealed = false
  let stop: (() => void) | null = null

  const heal = (): void => {
    hasHealed = true
    restore(asking, (failure) => {
      if (isGivenUp) return
      if (failure === null) send()
      else events.failed(failure)
    })
  }
  const send = (): void => {
    const seat = session.seats.get(target.name)
    if (seat === undefined) {
      if (hasHealed) events.failed({ kind: 'broken', status: null, message: 'the session could not be begun' })
      else heal()
      return
    }
    const used = seat.upstream
    const { answeredBytes, hinted, stream } = events
    const link = peers.link(session, target, headers)
    const own: LinkEvents = {
      message: (given, eventId) => {
        news.heard(target.name, given)
        events.message(given, eventId)
      },
      answered: (response, eventId) => events.answered(response, eventId),
      ...(answeredBytes === undefined ? {} : { answeredBytes: (bytes, id) => events.answeredBytes!(bytes, id) }),
      ...(hinted === undefined ? {} : { hinted: (ttlMs, cacheScope) => events.hinted!(ttlMs, cacheScope) }),
      ...(stream === undefined ? {} : { stream }),
      failed(failure) {
        if (failure.kind !== 'expired' || hasHealed) events.failed(failure)
        else if (session.seats.get(target.name)?.upstream !== used) {
          // Another call has had it done meanwhile.
          hasHealed = true
          send()
        } else heal()
      }
    }
    stop = link.request(message, own, timeoutMs, json)
  }
  send()
  return () => {
    isGivenUp = true
    stop?.()
  }
}

/** Begins the session anew with one target; one initialisation for all who wait for it. */
export function restore(asking: Asking, done: (failure: LinkFailure | null) => void): void {
  const { session, target } = asking
  const waiting = session.healing.get(target.name)
  if (waiting !== undefined) {
    waiting.push(done)
    return
  }
  if (asking.isOver()) {
    done({ kind: 'expired', status: null, message: 'the session is over' })
    return
  }
  const all = [done]
  session.healing.set(target.name, all)
  const tell = (failure: LinkFailure | null): void => {
    session.healing.delete(target.name)
    for (const one of all) one(failure)
  }
  session.drop(target)
  const isElsewhere = asking.heal(session.seats.get(target.name)?.upstream, (outcome) => {
    if (outcome === null) restoreHere(asking, tell)
    else if ('kind' in outcome) tell(outcome)
    else {
      session.seats.set(target.name, { ...outcome })
      forgetLists(asking)
      tell(null)
    }
  })
  if (!isElsewhere) restoreHere(asking, tell)
}

/** What was believed as long as the old session's streams told of changes. */
function forgetLists({ session, target, news }: Asking): void {
  session.deafen(target.name)
  news.unheard(session, target.name)
}

function restoreHere(asking: Asking, tell: (failure: LinkFailure | null) => void): void {
  const { session, target } = asking
  const { info, capabilities } = session.client
  const params = { protocolVersion: session.version, capabilities, clientInfo: info }
  begin(asking, session.key, params, (begun, failure) => {
    if (begun === null) {
      tell(failure)
      return
    }
    const { link, facts } = begun
    session.seats.set(target.name, { upstream: link.upstreamSession, version: facts.protocolVersion })
    session.learn(target.name, facts.capabilities)
    forgetLists(asking)
    if (isKept(target)) session.keep(target, link)
    // What the client said long ago. A target that does not take it will refuse the call that follows.
    void link.send({ jsonrpc: '2.0', method: 'notifications/initialized' }).then(() => tell(null))
  })
}

/** Sends `initialize`. `done`: with what came of it, or why nothing did. */
export function begin(
  { target, headers, party, beginMs }: Pick<Asking, 'target' | 'headers' | 'party' | 'beginMs'>,
  sessionKey: string,
  params: JsonObject,
  done: (begun: Begun | null, failure: LinkFailure | null) => void
): () => void {
  const link = target.open({ sessionKey, upstreamSession: null, version: null, headers, party })
  const id = `weir-${performance.now().toFixed(0)}-${++heals}`
  return link.request(
    { jsonrpc: '2.0', id, method: 'initialize', params },
    {
      // Before the session is there a server may only ping and log (2025-11-25, lifecycle): nobody could answer yet.
      message() {},
      answered(response) {
        const begun = begunOf(link, response)
        if (typeof begun === 'string') done(null, { kind: 'refused', status: null, message: begun })
        else {
          link.setVersion(begun.facts.protocolVersion)
          done(begun, null)
        }
      },
      failed: (failure) => done(null, failure)
    },
    beginMs
  )
}

/** Text: why it is no beginning. */
function begunOf(link: Link, response: RpcResponse): Begun | string {
  if ('error' in response) return `refused to initialise: ${response.error.message.slice(0, 200)}`
  const facts = factsOf(response.result)
  if (facts === null) return 'answered initialize with what is no InitializeResult'
  if (!REVISIONS.includes(facts.protocolVersion)) return `speaks an unknown revision, ${facts.protocolVersion}`
  return { facts, result: response.result, link }
}
