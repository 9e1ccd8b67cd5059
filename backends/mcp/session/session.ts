/**
 * Sessions. `Mcp-Session-Id` is the session itself, sealed: any worker, and any replica with the key, goes on with it
 * (docs/design/019-mcp-sessions.md). What a worker remembers besides makes things faster, or better, never possible.
 */
import { randomBytes } from 'node:crypto'
import type { Catalog } from '#backends/mcp/calls/find-owners.ts'
import type { Shelf } from '#backends/mcp/lists/cache.ts'
import { declaredBy } from '#backends/mcp/protocol/capabilities.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import { BRIDGED } from '#backends/mcp/protocol/revisions.ts'
import type { Link, LinkFailure, ServerFacts, Target } from '#backends/mcp/targets/target.ts'
import type { Revocations } from '#engine/contract/revocations.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { Seal } from './seal.ts'

/** What is sealed, under short names: the id is sent with every request. */
interface Sealed {
  /** Names the session for the targets; 16 random bytes. */
  readonly n: string
  /** Revision that the client has been told. */
  readonly v: string
  /** clientInfo and capabilities of the client's `initialize`. */
  readonly c: JsonObject
  readonly k: JsonObject
  /** By target: what it calls the session, its revision, what it has declared. Targets that had failed are missing. */
  readonly t: Readonly<Record<string, readonly [string | null, string, number?]>>
  /** The caller (caller.ts). */
  readonly i: string
  /** Issued at, seconds of the epoch. */
  readonly a: number
}

/** Node and most servers take 16 KB of headers in all; a client has others to send. */
export const ID_LENGTH_MAX = 6 * 1024
/** What a target may call a session: MCP asks for visible ASCII, and sets no length. */
const UPSTREAM_ID = /^[\x21-\x7e]{1,1024}$/
/** Sessions that one worker remembers for a backend; others are opened again when they come back. */
const REMEMBERED_MAX = 10_000
/** Names and capabilities of a client in the seal, as JSON. */
const CLIENT_LENGTH_MAX = 2 * 1024

/** How often other workers are told that a session is in use; less than anybody's idle time. */
const TOLD_MS = 200
/** From the clock of this thread to that of the system, which all threads share. */
const SYSTEM_MS = Number(process.hrtime.bigint() / 1_000_000n) - performance.now()

/** How often is looked for sessions that are over. */
const sweepMs = (idleMs: number): number => Math.min(Math.max(idleMs / 4, 100), 60_000)

export const isUpstreamId = (id: string): boolean => UPSTREAM_ID.test(id)

/** One target's side of a session. */
export interface Seat {
  upstream: string | null
  version: string
}

export class Session {
  /** As the client has it; null: none is given out (stateless routing). */
  readonly id: string | null
  readonly key: string
  /** Of its end, for all workers. */
  readonly mark: bigint
  readonly version: string
  readonly client: { readonly info: JsonObject; readonly capabilities: JsonObject }
  readonly caller: string
  /** By name. Upstream sessions that had to be made anew are here only. */
  readonly seats: Map<string, Seat>
  /** Links that are kept from request to request, by the target's name. */
  readonly #links = new Map<string, { readonly target: Target; readonly link: Link }>()
  /** Targets of the client's requests that are under way here, by id: where its cancellation goes. */
  readonly running = new Map<string | number, readonly string[]>()
  /** Initialisations that are under way: one for all calls that wait for it. */
  readonly healing = new Map<string, ((failure: LinkFailure | null) => void)[]>()
  /** Names that targets have listed, by kind and target (calls/find-owners.ts). */
  readonly catalogs = new Map<string, Catalog>()
  /** Lists that are believed as long as changes are heard of, by target: where they are kept (lists/cache-slot.ts). */
  readonly #bound = new Map<string, Map<string, Shelf>>()
  /** Streams of what targets say unasked that are open in this worker, by target. */
  readonly #hearing = new Map<string, number>()
  /** Lists whose changes a target tells of, as far as it is known here. */
  readonly #told = new Map<string, ReadonlySet<string>>()
  /** What targets have declared (protocol/capabilities.ts). */
  readonly #declared = new Map<string, number>()
  #view: string | null = null
  /** Of requests without sessions: nobody knows whether the next one is of the same caller (stateless.ts). */
  isAnonymous = false
  /** LinkOptions.party; '': nobody has said it yet. */
  party: string
  streams = 0
  /** performance.now() of when the other workers were told last that it is in use. */
  toldAt = Number.NEGATIVE_INFINITY
  /** performance.now() of the last use here. */
  usedAt: number

  constructor(id: string | null, sealed: Sealed, now: number) {
    this.id = id
    this.key = sealed.n
    // Random already: it needs no hash.
    this.mark = Buffer.from(sealed.n, 'base64url').readBigInt64LE()
    this.version = sealed.v
    this.client = { info: sealed.c, capabilities: sealed.k }
    this.caller = sealed.i
    this.party = sealed.i
    this.seats = new Map(Object.entries(sealed.t).map(([name, [upstream, version]]) => [name, { upstream, version }]))
    for (const [name, [, , declared]] of Object.entries(sealed.t))
      if (declared !== undefined) this.#declared.set(name, declared)
    this.usedAt = now
  }

  /** The same text for clients that a server could not tell apart by what they are. */
  get view(): string {
    this.#view ??= `${this.version} ${JSON.stringify(this.client.capabilities)}`
    return this.#view
  }

  isBridged(target: string): boolean {
    return this.seats.get(target)?.upstream === BRIDGED
  }

  /** From the answer to `initialize`. */
  learn(target: string, capabilities: JsonObject): void {
    const told = Object.entries(capabilities).filter(([, can]) => isObject(can) && can.listChanged === true)
    this.#told.set(target, new Set(told.map(([name]) => name)))
    this.#declared.set(target, declaredBy(capabilities))
  }

  /** As declaredBy says it; null: it is not known. */
  declared(target: string): number | null {
    return this.#declared.get(target) ?? null
  }

  tells(target: string, what: string): boolean {
    return this.#told.get(target)?.has(what) === true
  }

  hears(target: string): boolean {
    return this.#hearing.has(target)
  }

  /** `change`: 1 for a stream that has been opened, -1 for one that is over. */
  hear(target: string, change: 1 | -1): void {
    const open = (this.#hearing.get(target) ?? 0) + change
    if (open > 0) this.#hearing.set(target, open)
    else this.#hearing.delete(target)
  }

  /** Its session is a new one, which no stream here belongs to. */
  deafen(target: string): void {
    this.#hearing.delete(target)
  }

  /** False: there are `max` of the target already. */
  bind(shelf: Shelf, key: string, max: number): boolean {
    const bound = this.#bound.get(shelf.target) ?? new Map<string, Shelf>()
    this.#bound.set(shelf.target, bound)
    if (bound.size >= max && !bound.has(key)) return false
    bound.set(key, shelf)
    return true
  }

  hasBound(target: string): boolean {
    return this.#bound.has(target)
  }

  unbind(target: string): { readonly shelf: Shelf; readonly key: string }[] {
    const bound = this.#bound.get(target)
    if (bound === undefined) return []
    this.#bound.delete(target)
    return [...bound].map(([key, shelf]) => ({ key, shelf }))
  }

  linkOf(target: Target): Link | null {
    const kept = this.#links.get(target.name)
    return kept?.target === target ? kept.link : null
  }

  /** In the place of that to the target of the same name, perhaps of a configuration before. */
  keep(target: Target, link: Link): void {
    this.drop(target)
    this.#links.set(target.name, { target, link })
  }

  drop({ name }: Target): void {
    this.#links.get(name)?.link.release()
    this.#links.delete(name)
  }

  /** They have been closed. */
  forgetLinks(): void {
    this.#links.clear()
  }

  /** Lets go what is kept here; nothing of the session ends. */
  release(): void {
    for (const { link } of this.#links.values()) link.release()
    this.#links.clear()
  }
}

/** What a new session is made of. */
export interface Beginning {
  /** Named before it begins: targets are told the name with `initialize`. */
  readonly key: string
  readonly version: string
  readonly params: JsonObject
  readonly caller: string
  readonly servers: ReadonlyMap<string, { readonly upstream: string | null; readonly facts: ServerFacts }>
}

export const newSessionKey = (): string => randomBytes(16).toString('base64url')

export class Sessions {
  readonly #seal: Seal
  /** Of the configuration in force. */
  idleMs: number
  readonly #known = new Lru<string, Session>(REMEMBERED_MAX)
  /** A DELETE, or an end without a cure, in whatever worker. */
  readonly #revocations: Revocations
  /** Tells the targets that the session is over. Of the configuration in force. */
  onIdle: (session: Session) => void = (session) => this.end(session)
  #timer: NodeJS.Timeout | null = null

  constructor(seal: Seal, idleMs: number, revocations: Revocations) {
    this.#seal = seal
    this.#revocations = revocations
    this.idleMs = idleMs
  }

  /** Null: the client says more about itself than an id can carry. `now`: performance.now(). */
  begin(beginning: Beginning, isGivenOut: boolean, now: number): Session | null {
    const sealed = sealedOf(beginning)
    if (sealed === null) return null
    if (!isGivenOut) return new Session(null, sealed, now)
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

  /** Ends what nobody has used for too long, in any worker. `now`: performance.now(). */
  sweep(now: number): void {
    for (const session of [...this.#known.values()]) {
      if (this.#revocations.isRevoked(session.mark)) {
        session.release()
        this.#known.delete(session.id!)
      } else if (this.#isIdle(session, now)) this.onIdle(session)
    }
    if (this.#known.size > 0 || this.#timer === null) return
    clearInterval(this.#timer)
    this.#timer = null
  }

  /** The session of the caller that `id` names; null: there is none, or it is another's: nobody is told which. */
  find(id: string, caller: string, now: number): Session | null {
    const known = this.#known.get(id)
    if (known !== undefined) {
      if (known.caller !== caller) return null
      if (this.#revocations.isRevoked(known.mark)) {
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
    const session = new Session(id, sealed as unknown as Sealed, now)
    if (this.#revocations.isRevoked(session.mark)) return null
    this.use(session, now)
    return this.#remember(session, id)
  }

  /** In no worker has anybody used it: the end is one for all of them. */
  #isIdle({ usedAt, streams, running, mark }: Session, now: number): boolean {
    const isUnused = now - usedAt > this.idleMs && streams === 0 && running.size === 0
    return isUnused && this.#revocations.idleMs(mark, now + SYSTEM_MS) > this.idleMs - TOLD_MS
  }

  /** It is in use: now and then the other workers are told. */
  use(session: Session, now: number): void {
    session.usedAt = now
    if (now - session.toldAt < TOLD_MS) return
    session.toldAt = now
    this.#revocations.touch(session.mark, now + SYSTEM_MS)
  }

  isOver({ id, mark }: Session): boolean {
    return id !== null && this.#revocations.isRevoked(mark)
  }

  /** Nobody gets it here again. */
  end(session: Session): void {
    session.release()
    this.#revocations.revoke(session.mark)
    if (session.id !== null) this.#known.delete(session.id)
  }
}

/** What a thread knows of sessions outlives a configuration, as its pools do: by backend and key of the seal. */
const stores = new WeakMap<object, Map<string, { readonly mark: string; readonly sessions: Sessions }>>()

/** `thread`: what the same thread has in every configuration. */
export function sessionsOf(
  thread: object,
  backend: string,
  seal: Seal,
  idleMs: number,
  revocations: Revocations
): Sessions {
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
  const sessions = new Sessions(seal, idleMs, revocations)
  store.set(backend, { mark: seal.mark, sessions })
  return sessions
}

function sealedOf({ key, version, params, caller, servers }: Beginning): Sealed | null {
  const { clientInfo, capabilities } = params
  const c = isObject(clientInfo) ? namesOf(clientInfo) : {}
  const k = isObject(capabilities) ? capabilities : {}
  if (JSON.stringify([c, k]).length > CLIENT_LENGTH_MAX) return null
  const t: Record<string, readonly [string | null, string, number]> = {}
  for (const [name, { upstream, facts }] of servers)
    t[name] = [upstream, facts.protocolVersion, declaredBy(facts.capabilities)]
  return { n: key, v: version, c, k, t, i: caller, a: Math.floor(Date.now() / 1000) }
}

/** Icons and addresses of a client (2025-11-25) are for people: a new initialisation does without. */
function namesOf({ name, version, title }: JsonObject): JsonObject {
  return {
    name: typeof name === 'string' ? name : '',
    version: typeof version === 'string' ? version : '',
    ...(typeof title === 'string' ? { title } : {})
  }
}
