/**
 * Sessions with one stateful server, made for stateless callers and kept for a while: one for each caller, client and
 * what the client can do, in the one worker that has them (owner-requests.ts). Of callers that nobody knows nothing is
 * kept: a session for each request, so that no stranger finds what another has left. Lists and discovery bring nothing
 * of their caller into a session, and have one of their own.
 */
import { createHash, randomBytes } from 'node:crypto'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import { declaredBy } from '#backends/mcp/protocol/capabilities.ts'
import type { LinkFailure, LinkOptions, Target } from '#backends/mcp/targets/target.ts'
import { isBelowThreshold } from '#engine/kit/dynamic-threshold.ts'
import { failure } from './link-events.ts'
import type { Claim } from './stateless-client.ts'
import { UpstreamSession } from './upstream-session.ts'

/** Sessions that one worker keeps with a target. */
const SESSIONS_MAX = 2000
/** Without use, milliseconds; of a configuration, that of sessions. */
const IDLE_MS = 60_000
const LOOK_MS = 10_000

export interface Asked {
  /** The target, as the configuration of the request has it. */
  readonly raw: Target
  readonly options: LinkOptions
  readonly claim: Claim
  readonly timeoutMs: number
  readonly method: string
  /** Whether what the server says unasked is of use. */
  readonly hears: boolean
}

export type Taken = (taken: UpstreamSession | LinkFailure) => void

interface Kept {
  readonly session: UpstreamSession
  /** Who waits for its beginning; null: it has begun. */
  waiting: ((why: LinkFailure | null) => void)[] | null
}

export class UpstreamPool {
  #idleMs = IDLE_MS
  #isRetired = false
  /** By least recent use. */
  readonly #kept = new Map<string, Kept>()
  /** Of one request each. */
  readonly #single = new Set<UpstreamSession>()
  #timer: NodeJS.Timeout | null = null
  /** What the server has declared to the last of them; null: to nobody yet. */
  declared: number | null = null
  /** Whether the server gives its sessions ids, as the last one has shown: one that does not keeps none. */
  hasIds = true

  /** A configuration in force has the target, and keeps for so long what nobody uses. */
  keep(idleMs: number): void {
    this.#isRetired = false
    if (idleMs === this.#idleMs) return
    this.#idleMs = idleMs
    this.#stopLooking()
    this.#startLooking()
  }

  /** None has it any more: what is idle ends with the next look, what is in use when it is idle. */
  retire(): void {
    this.#isRetired = true
  }

  get size(): number {
    return this.#kept.size + this.#single.size
  }

  /** A session, ready to be asked. Returns what gives up the waiting. */
  take(asked: Asked, then: Taken): () => void {
    const key = keyOf(asked)
    let leave = (): void => undefined
    let isWaited = true
    const begun = (session: UpstreamSession, why: LinkFailure | null): void => {
      if (why !== null && isWaited) then(why)
      else if (why === null && isWaited) leave = this.#hand(session, asked, then)
      else if (why === null) this.#unused(session)
    }
    const kept = key === null ? undefined : this.#kept.get(key)
    if (key === null) this.#beginSingle(asked, begun)
    else if (kept === undefined) this.#begin(key, asked, begun)
    else {
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      if (kept.waiting === null) leave = this.#hand(kept.session, asked, then)
      else kept.waiting.push((why) => begun(kept.session, why))
    }
    return () => {
      isWaited = false
      leave()
    }
  }

  #beginSingle(asked: Asked, begun: Begun): void {
    const session = this.#open(asked)
    const full = this.#noRoom(session.party)
    if (full !== null) {
      queueMicrotask(() => begun(session, full))
      return
    }
    this.#single.add(session)
    session.begin(asked.claim, asked.timeoutMs, (why) => {
      if (why === null) this.#learn(session)
      else this.#drop(session)
      begun(session, why)
    })
  }

  #begin(key: string, asked: Asked, begun: Begun): void {
    const session = this.#open(asked)
    const full = this.#noRoom(session.party)
    if (full !== null) {
      queueMicrotask(() => begun(session, full))
      return
    }
    const kept: Kept = { session, waiting: [(why) => begun(session, why)] }
    this.#kept.set(key, kept)
    this.#startLooking()
    session.begin(asked.claim, asked.timeoutMs, (why) => {
      const waiting = kept.waiting ?? []
      kept.waiting = null
      session.usedAt = performance.now()
      if (why === null) this.#learn(session)
      else this.#forget(session)
      for (const one of waiting) one(why)
    })
  }

  #learn({ facts, hasId }: UpstreamSession): void {
    this.declared = declaredBy(facts.capabilities)
    this.hasIds = hasId
  }

  #open({ raw, options }: Asked): UpstreamSession {
    // A caller has the same key in all configurations, and a child is known by its name in all of them.
    const name = `${options.sessionKey}.${randomBytes(9).toString('base64url')}`
    return new UpstreamSession(raw, name, options)
  }

  #hand(session: UpstreamSession, { hears }: Asked, then: Taken): () => void {
    session.users++
    let isWaited = true
    const go = (): void => {
      if (!isWaited) return
      isWaited = false
      then(session)
    }
    // Never before `take` has returned.
    if (hears) queueMicrotask(() => session.hear(go))
    else queueMicrotask(go)
    return () => {
      if (!isWaited) return
      isWaited = false
      this.free(session)
    }
  }

  /** The use is over, of one that has been handed out: once for each. */
  free(session: UpstreamSession): void {
    session.users--
    this.#unused(session)
  }

  /** Others may use it. */
  #unused(session: UpstreamSession): void {
    session.usedAt = performance.now()
    if (session.users === 0 && this.#single.has(session)) this.#drop(session)
  }

  /** The server knows it no more: the next one begins anew. */
  lose(session: UpstreamSession): void {
    this.#forget(session)
  }

  /** Why there is none for one more of `party`; null: there is. One that has been idle longest may make some. */
  #noRoom(party: string): LinkFailure | null {
    let own = 0
    for (const session of this.#single) if (session.party === party) own++
    for (const { session } of this.#kept.values()) if (session.party === party) own++
    if (isBelowThreshold(own, this.size, SESSIONS_MAX)) return null
    const isFull = this.size >= SESSIONS_MAX
    const mayOust = isFull && isBelowThreshold(own, SESSIONS_MAX - 1, SESSIONS_MAX)
    for (const { session, waiting } of this.#kept.values()) {
      if (session.users > 0 || waiting !== null || !(mayOust || session.party === party)) continue
      this.#forget(session)
      return null
    }
    return isFull ? TOO_MANY : TOO_MANY_OF_ONE
  }

  /** Ends what nobody has used for too long. `now`: performance.now(). */
  sweep(now: number): void {
    const idleMs = this.#isRetired ? 0 : this.#idleMs
    for (const { session, waiting } of [...this.#kept.values()])
      if (waiting === null && session.users === 0 && now - session.usedAt >= idleMs) this.#forget(session)
    if (this.#kept.size === 0) this.#stopLooking()
  }

  #startLooking(): void {
    if (this.#kept.size === 0) return
    this.#timer ??= setInterval(() => this.sweep(performance.now()), Math.min(this.#idleMs, LOOK_MS)).unref()
  }

  #stopLooking(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #forget(session: UpstreamSession): void {
    for (const [key, kept] of this.#kept) if (kept.session === session) this.#kept.delete(key)
    this.#drop(session)
  }

  #drop(session: UpstreamSession): void {
    this.#single.delete(session)
    session.close()
  }
}

type Begun = (session: UpstreamSession, why: LinkFailure | null) => void

const TOO_MANY = failure('refused', 'too many sessions with this server are in use')
const TOO_MANY_OF_ONE = failure('refused', 'as many sessions with this server as one client may have are in use')

/** Null: a session for this request alone. */
function keyOf({ options, claim, method }: Asked): string | null {
  const client = JSON.stringify([claim.clientInfo, claim.capabilities])
  const key = `${options.sessionKey} ${createHash('sha256').update(client).digest('base64url')}`
  if (options.isAnonymous !== true) return key
  return method === 'server/discover' || LISTS.has(method) ? `${key} lists` : null
}
