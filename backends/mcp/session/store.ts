/** The sessions that a worker remembers for one backend: begun, found by their id, ended. */
import { randomBytes } from 'node:crypto'
import { capabilityBits } from '#backends/mcp/protocol/capabilities.ts'
import type { ServerFacts } from '#backends/mcp/protocol/initialize-result.ts'
import { isObject, type JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { Revocations } from '#engine/contract/revocations.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { Seal } from './seal.ts'
import { type SealedSession, Session } from './session.ts'

/** Longest id. Node and most servers take 16 KB of headers in all, and clients send others. */
export const ID_LENGTH_MAX = 6 * 1024
/** Sessions that one worker remembers for a backend; others are opened again when they come back. */
const REMEMBERED_MAX = 10_000
/** Names and capabilities of a client in the id, as JSON. */
const CLIENT_LENGTH_MAX = 2 * 1024

/** How often other workers are notified that a session is in use; less than any idle timeout. */
const ANNOUNCE_MS = 200
/** From the clock of this thread to that of the system, which all threads share. */
const SYSTEM_MS = Number(process.hrtime.bigint() / 1_000_000n) - performance.now()

const sweepMs = (idleMs: number): number => Math.min(Math.max(idleMs / 4, 100), 60_000)

/** What a new session is made of. */
export interface NewSession {
  /** Chosen before it begins: targets get it with `initialize`. */
  readonly key: string
  readonly version: string
  readonly params: JsonObject
  readonly caller: string
  readonly servers: ReadonlyMap<string, { readonly upstreamId: string | null; readonly facts: ServerFacts }>
}

export const newSessionKey = (): string => randomBytes(16).toString('base64url')

export class SessionStore {
  readonly #seal: Seal
  /** Of the active configuration. */
  idleMs: number
  readonly #known = new Lru<string, Session>(REMEMBERED_MAX)
  /** Sessions that have ended in any worker. */
  readonly #revocations: Revocations
  /** Ends a session that is idle. Of the active configuration. */
  onIdle: (session: Session) => void = (session) => this.end(session)
  #timer: NodeJS.Timeout | null = null

  constructor(seal: Seal, idleMs: number, revocations: Revocations) {
    this.#seal = seal
    this.#revocations = revocations
    this.idleMs = idleMs
  }

  /** Null: an id cannot hold what the client says of itself. `now`: performance.now(). */
  create(beginning: NewSession, isIssued: boolean, now: number): Session | null {
    const sealed = sealedOf(beginning)
    if (sealed === null) return null
    if (!isIssued) return new Session(null, sealed, now)
    const id = this.#seal.close(sealed)
    if (id.length > ID_LENGTH_MAX) return null
    const session = new Session(id, sealed, now)
    this.use(session, now)
    return this.#remember(session, id)
  }

  #remember(session: Session, id: string): Session {
    this.#known.set(id, session)?.release()
    this.#timer ??= setInterval(() => this.sweep(performance.now()), sweepMs(this.idleMs)).unref()
    return session
  }

  /** Ends sessions that are idle in all workers. `now`: performance.now(). */
  sweep(now: number): void {
    for (const session of [...this.#known.values()]) {
      if (this.#revocations.isRevoked(session.endedKey)) {
        session.release()
        this.#known.delete(session.id!)
      } else if (this.#isIdle(session, now)) this.onIdle(session)
    }
    if (this.#known.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  /** Null: there is no such session, or it is another caller's; clients cannot tell which. */
  find(id: string, caller: string, now: number): Session | null {
    const known = this.#known.get(id)
    if (known !== undefined) {
      if (known.caller !== caller) return null
      if (this.#revocations.isRevoked(known.endedKey)) {
        this.end(known)
        return null
      }
      if (this.#isIdle(known, now)) {
        this.onIdle(known)
        return null
      }
      this.use(known, now)
      return known
    }
    if (id.length > ID_LENGTH_MAX) return null
    const sealed = this.#seal.open(id)
    if (!isObject(sealed) || sealed.i !== caller) return null
    const session = new Session(id, sealed as unknown as SealedSession, now)
    if (this.#revocations.isRevoked(session.endedKey)) return null
    this.use(session, now)
    return this.#remember(session, id)
  }

  /** Unused in all workers. */
  #isIdle({ usedAt, streams, running, endedKey }: Session, now: number): boolean {
    const isUnused = now - usedAt > this.idleMs && streams === 0 && running.size === 0
    return isUnused && this.#revocations.idleMs(endedKey, now + SYSTEM_MS) > this.idleMs - ANNOUNCE_MS
  }

  /** Marks it as used, now and then also for the other workers. */
  use(session: Session, now: number): void {
    session.usedAt = now
    if (now - session.announcedAt < ANNOUNCE_MS) return
    session.announcedAt = now
    this.#revocations.touch(session.endedKey, now + SYSTEM_MS)
  }

  isEnded({ id, endedKey }: Session): boolean {
    return id !== null && this.#revocations.isRevoked(endedKey)
  }

  /** Ends it for all workers. */
  end(session: Session): void {
    session.release()
    this.#revocations.revoke(session.endedKey)
    if (session.id !== null) this.#known.delete(session.id)
  }
}

/** Sessions outlive configurations, as connection pools do: by thread, backend and key of the seal. */
const stores = new WeakMap<object, Map<string, { readonly mark: string; readonly sessions: SessionStore }>>()

/** `thread`: an object that stands for the thread in every configuration. */
export function sessionStoreOf(
  thread: object,
  backend: string,
  seal: Seal,
  idleMs: number,
  revocations: Revocations
): SessionStore {
  let store = stores.get(thread)
  if (store === undefined) {
    store = new Map()
    stores.set(thread, store)
  }
  const known = store.get(backend)
  if (known?.mark === seal.mark) {
    known.sessions.idleMs = idleMs
    return known.sessions
  }
  const sessions = new SessionStore(seal, idleMs, revocations)
  store.set(backend, { mark: seal.mark, sessions })
  return sessions
}

function sealedOf({ key, version, params, caller, servers }: NewSession): SealedSession | null {
  const { clientInfo, capabilities } = params
  const c = isObject(clientInfo) ? namesOf(clientInfo) : {}
  const k = isObject(capabilities) ? capabilities : {}
  if (JSON.stringify([c, k]).length > CLIENT_LENGTH_MAX) return null
  const t: Record<string, readonly [string | null, string, number]> = {}
  for (const [name, { upstreamId, facts }] of servers)
    t[name] = [upstreamId, facts.protocolVersion, capabilityBits(facts.capabilities)]
  return { n: key, v: version, c, k, t, i: caller, a: Math.floor(Date.now() / 1000) }
}

/** Icons and addresses of a client (2025-11-25) are for people: restoring a session needs none. */
function namesOf({ name, version, title }: JsonObject): JsonObject {
  return {
    name: typeof name === 'string' ? name : '',
    version: typeof version === 'string' ? version : '',
    ...(typeof title === 'string' ? { title } : {})
  }
}
