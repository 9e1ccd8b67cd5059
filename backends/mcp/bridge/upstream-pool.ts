/**
 * Sessions with one stateful server, made for stateless callers and kept for a while: one for each caller, client and
 * what the client can do, in the one worker that has them (owner-requests.ts). For unknown callers nothing is
 * pooled: a session for each request, so that no caller finds what another has left. Lists and discovery bring
 * nothing of their caller into a session, and have one of their own.
 */
import { createHash, randomBytes } from 'node:crypto'
import { LISTS } from '#backends/mcp/lists/kinds.ts'
import { capabilityBits } from '#backends/mcp/protocol/capabilities.ts'
import { failure, type LinkFailure, type LinkOptions, type Target } from '#backends/mcp/targets/target.ts'
import { isBelowThreshold } from '#engine/kit/dynamic-threshold.ts'
import type { ClientMeta } from './stateless-client.ts'
import { UpstreamSession } from './upstream-session.ts'

/** Sessions of one worker with a target. */
const SESSIONS_MAX = 2000
/** Idle timeout until a configuration says one; milliseconds. */
const IDLE_MS = 60_000
const SWEEP_MS = 10_000

export interface PoolRequest {
  /** The target in the configuration of the request. */
  readonly raw: Target
  readonly options: LinkOptions
  readonly client: ClientMeta
  readonly timeoutMs: number
  readonly method: string
  /** Whether server-initiated messages are of use. */
  readonly needsStream: boolean
}

export type Taken = (taken: UpstreamSession | LinkFailure) => void

interface PooledSession {
  readonly session: UpstreamSession
  /** What waits for its beginning; null: it has begun. */
  waiting: ((why: LinkFailure | null) => void)[] | null
}

export class UpstreamPool {
  #idleMs = IDLE_MS
  #isRetired = false
  /** Least recently used first. */
  readonly #pooled = new Map<string, PooledSession>()
  /** For one request each. */
  readonly #unpooled = new Set<UpstreamSession>()
  #timer: NodeJS.Timeout | null = null
  /** Capability bits of the last session; null: there was none yet. */
  capabilities: number | null = null
  /** Whether the last session got an id: a server without ids keeps no sessions. */
  hasIds = true

  /** An active configuration has the target, with this idle timeout. */
  activate(idleMs: number): void {
    this.#isRetired = false
    if (idleMs === this.#idleMs) return
    this.#idleMs = idleMs
    this.#stopSweeping()
    this.#startSweeping()
  }

  /** No configuration has the target any more: sessions end as soon as a sweep finds them idle. */
  retire(): void {
    this.#isRetired = true
  }

  get size(): number {
    return this.#pooled.size + this.#unpooled.size
  }

  /** A session that has begun. Returns what stops the wait for it. */
  acquire(request: PoolRequest, then: Taken): () => void {
    const key = keyOf(request)
    let leave = (): void => undefined
    let isWaited = true
    const begun = (session: UpstreamSession, why: LinkFailure | null): void => {
      if (why !== null && isWaited) then(why)
      else if (why === null && isWaited) leave = this.#handOut(session, request, then)
      else if (why === null) this.#unused(session)
    }
    const pooled = key === null ? undefined : this.#pooled.get(key)
    if (key === null) this.#beginUnpooled(request, begun)
    else if (pooled === undefined) this.#begin(key, request, begun)
    else {
      this.#pooled.delete(key)
      this.#pooled.set(key, pooled)
      if (pooled.waiting === null) leave = this.#handOut(pooled.session, request, then)
      else pooled.waiting.push((why) => begun(pooled.session, why))
    }
    return () => {
      isWaited = false
      leave()
    }
  }

  #beginUnpooled(request: PoolRequest, begun: Begun): void {
    const session = this.#open(request, begun)
    if (session === null) return
    this.#unpooled.add(session)
    session.begin(request.client, request.timeoutMs, (why) => {
      if (why === null) this.#remember(session)
      else this.#drop(session)
      begun(session, why)
    })
  }

  #begin(key: string, request: PoolRequest, begun: Begun): void {
    const session = this.#open(request, begun)
    if (session === null) return
    const pooled: PooledSession = { session, waiting: [(why) => begun(session, why)] }
    this.#pooled.set(key, pooled)
    this.#startSweeping()
    session.begin(request.client, request.timeoutMs, (why) => {
      const waiting = pooled.waiting ?? []
      pooled.waiting = null
      session.usedAt = performance.now()
      if (why === null) this.#remember(session)
      else this.#forget(session)
      for (const one of waiting) one(why)
    })
  }

  #remember({ facts, hasId }: UpstreamSession): void {
    this.capabilities = capabilityBits(facts.capabilities)
    this.hasIds = hasId
  }

  /** Null: there is no room, `begun` is called with the reason. */
  #open({ raw, options }: PoolRequest, begun: Begun): UpstreamSession | null {
    // Unique: session keys are the same in all configurations, and so are the names of processes.
    const name = `${options.sessionKey}.${randomBytes(9).toString('base64url')}`
    const session = new UpstreamSession(raw, name, options)
    const full = this.#noRoom(session.party)
    if (full === null) return session
    queueMicrotask(() => begun(session, full))
    return null
  }

  #handOut(session: UpstreamSession, { needsStream }: PoolRequest, then: Taken): () => void {
    session.users++
    let isWaited = true
    const go = (): void => {
      if (!isWaited) return
      isWaited = false
      then(session)
    }
    // Never before `acquire` has returned.
    if (needsStream) queueMicrotask(() => session.openStream(go))
    else queueMicrotask(go)
    return () => {
      if (!isWaited) return
      isWaited = false
      this.release(session)
    }
  }

  /** Once for each session that was handed out. */
  release(session: UpstreamSession): void {
    session.users--
    this.#unused(session)
  }

  #unused(session: UpstreamSession): void {
    session.usedAt = performance.now()
    if (session.users === 0 && this.#unpooled.has(session)) this.#drop(session)
  }

  /** The server has lost it. */
  discard(session: UpstreamSession): void {
    this.#forget(session)
  }

  /** Why `party` cannot have one more; null: it can. The session that was idle longest may have to end for it. */
  #noRoom(party: string): LinkFailure | null {
    let own = 0
    for (const session of this.#unpooled) if (session.party === party) own++
    for (const { session } of this.#pooled.values()) if (session.party === party) own++
    if (isBelowThreshold(own, this.size, SESSIONS_MAX)) return null
    const isFull = this.size >= SESSIONS_MAX
    const mayOust = isFull && isBelowThreshold(own, SESSIONS_MAX - 1, SESSIONS_MAX)
    for (const { session, waiting } of this.#pooled.values()) {
      if (session.users > 0 || waiting !== null || !(mayOust || session.party === party)) continue
      this.#forget(session)
      return null
    }
    return isFull ? TOO_MANY : TOO_MANY_OF_ONE
  }

  /** Ends idle sessions. `now`: performance.now(). */
  sweep(now: number): void {
    const idleMs = this.#isRetired ? 0 : this.#idleMs
    for (const { session, waiting } of [...this.#pooled.values()])
      if (waiting === null && session.users === 0 && now - session.usedAt >= idleMs) this.#forget(session)
    if (this.#pooled.size === 0) this.#stopSweeping()
  }

  #startSweeping(): void {
    if (this.#pooled.size === 0) return
    this.#timer ??= setInterval(() => this.sweep(performance.now()), Math.min(this.#idleMs, SWEEP_MS)).unref()
  }

  #stopSweeping(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #forget(session: UpstreamSession): void {
    for (const [key, pooled] of this.#pooled) if (pooled.session === session) this.#pooled.delete(key)
    this.#drop(session)
  }

  #drop(session: UpstreamSession): void {
    this.#unpooled.delete(session)
    session.close()
  }
}

type Begun = (session: UpstreamSession, why: LinkFailure | null) => void

const TOO_MANY = failure('refused', 'too many sessions with this server are in use')
const TOO_MANY_OF_ONE = failure('refused', 'as many sessions with this server as one client may have are in use')

/** Null: a session for this request alone. */
function keyOf({ options, client, method }: PoolRequest): string | null {
  const identity = JSON.stringify([client.clientInfo, client.capabilities])
  const key = `${options.sessionKey} ${createHash('sha256').update(identity).digest('base64url')}`
  if (options.isAnonymous !== true) return key
  return method === 'server/discover' || LISTS.has(method) ? `${key} lists` : null
}
