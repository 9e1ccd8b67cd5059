/**
 * Sessions with one stateful server, made for stateless callers and kept for a while: by caller, client and what the
 * client can do. A call that the server may ask back has its session to itself, so that what the server asks on the
 * stream of unasked messages is of that call and of nobody else's.
 */
import { createHash, randomBytes } from 'node:crypto'
import { declaredBy } from '#backends/mcp/declared.ts'
import type { LinkFailure, LinkOptions, Target } from '#backends/mcp/target.ts'
import { failure } from './events.ts'
import type { Claim } from './stateless-client.ts'
import { type Holder, UpstreamSession } from './upstream-session.ts'

/** Sessions that one worker keeps with a target: of all callers, and of one. */
const SESSIONS_MAX = 2000
const SESSIONS_OF_ONE_MAX = 32
/** Without use, milliseconds. */
const IDLE_MS = 60_000

export interface Asked {
  readonly options: LinkOptions
  readonly claim: Claim
  readonly timeoutMs: number
  /** Who needs the session to itself; null: it may be shared. */
  readonly holder: Holder | null
  /** Whether what the server says unasked is of use. */
  readonly hears: boolean
}

export type Taken = (taken: UpstreamSession | LinkFailure) => void

export class UpstreamPool {
  readonly #raw: Target
  readonly #idleMs: number
  readonly #kept = new Map<string, UpstreamSession[]>()
  #count = 0
  /** What the server has declared to the last of them; null: to nobody yet. */
  declared: number | null = null

  constructor(raw: Target, idleMs = IDLE_MS) {
    this.#raw = raw
    this.#idleMs = idleMs
  }

  get size(): number {
    return this.#count
  }

  /** A session, ready to be asked. Returns what gives up the waiting. */
  take(asked: Asked, then: Taken): () => void {
    const key = keyOf(asked)
    const kept = this.#kept.get(key)
    const free = kept?.find((session) => asked.holder === null || (session.holder === null && session.users === 0))
    if (free === undefined) return this.#begin(key, asked, then)
    return this.#hand(free, asked, then)
  }

  #begin(key: string, asked: Asked, then: Taken): () => void {
    if (this.#count >= SESSIONS_MAX || (this.#kept.get(key)?.length ?? 0) >= SESSIONS_OF_ONE_MAX) {
      const why = failure('refused', 'too many sessions with this server are in use')
      queueMicrotask(() => then(why))
      return () => undefined
    }
    // A caller has the same key in all workers and configurations, and a child is known by its name in all of them.
    const name = `${asked.options.sessionKey}.${randomBytes(9).toString('base64url')}`
    const session = new UpstreamSession(this.#raw, name, asked.options.headers)
    this.#count++
    let isWaited = true
    let stop = session.begin(asked.claim, asked.timeoutMs, (why) => {
      if (!isWaited) return
      if (why !== null) {
        isWaited = false
        this.#drop(session)
        then(why)
        return
      }
      this.declared = declaredBy(session.facts.capabilities)
      this.#keep(key, session)
      stop = this.#hand(session, asked, then)
    })
    return () => {
      if (isWaited && session.facts.protocolVersion === '') this.#drop(session)
      isWaited = false
      stop()
    }
  }

  #keep(key: string, session: UpstreamSession): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) this.#kept.set(key, [session])
    else kept.push(session)
    this.#watch(key, session)
  }

  #hand(session: UpstreamSession, { holder, hears }: Asked, then: Taken): () => void {
    session.users++
    session.holder ??= holder
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
      this.free(session, holder, false)
    }
  }

  /** The use is over. `isSpoilt`: something of it may still come, or its state is not what others expect. */
  free(session: UpstreamSession, holder: Holder | null, isSpoilt: boolean): void {
    session.users--
    if (holder !== null && session.holder === holder) session.holder = null
    session.usedAt = performance.now()
    if (!isSpoilt) return
    for (const [key, kept] of this.#kept) if (kept.includes(session)) this.#forget(key, session)
  }

  /** One timer per session looks now and then whether anybody has used it. */
  #watch(key: string, session: UpstreamSession): void {
    session.usedAt = performance.now()
    const timer = setInterval(() => {
      if (session.isOver) clearInterval(timer)
      else if (session.users === 0 && performance.now() - session.usedAt >= this.#idleMs) this.#forget(key, session)
    }, this.#idleMs).unref()
  }

  #forget(key: string, session: UpstreamSession): void {
    const rest = (this.#kept.get(key) ?? []).filter((other) => other !== session)
    if (rest.length === 0) this.#kept.delete(key)
    else this.#kept.set(key, rest)
    this.#drop(session)
  }

  #drop(session: UpstreamSession): void {
    if (session.isOver) return
    this.#count--
    session.close()
  }
}

function keyOf({ options, claim }: Asked): string {
  const client = JSON.stringify([claim.clientInfo, claim.capabilities])
  return `${options.sessionKey} ${createHash('sha256').update(client).digest('base64url')}`
}
