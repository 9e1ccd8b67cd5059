/**
 * A client's session. `Mcp-Session-Id` is the session itself, sealed: any worker, and any replica with the key, can go
 * on with it (docs/design/019-mcp-sessions.md). What a worker remembers besides only makes things faster or better.
 */

import type { CachePartition } from '#backends/mcp/lists/cache.ts'
import { capabilityBits } from '#backends/mcp/protocol/capabilities.ts'
import { isObject, type JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import { BRIDGED } from '#backends/mcp/protocol/revisions.ts'
import type { Link, LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import type { ServerRequests } from './server-requests.ts'

/** What the id of a session holds, under short names: clients send it with every request. */
export interface SealedSession {
  /** Names the session for the targets; 16 random bytes. */
  readonly n: string
  /** Revision that was negotiated with the client. */
  readonly v: string
  /** clientInfo and capabilities of the client's `initialize`. */
  readonly c: JsonObject
  readonly k: JsonObject
  /** By target: its session id, its revision, capability bits. Targets that had failed are missing. */
  readonly t: Readonly<Record<string, readonly [string | null, string, number?]>>
  /** The caller (caller.ts). */
  readonly i: string
  /** Issued at, seconds of the epoch. */
  readonly a: number
}

/** The session of a client's session with one target. */
export interface TargetSession {
  /** The target's own id of it; null: it gives none. */
  upstreamId: string | null
  version: string
}

/** Names that a target has listed (calls/find-owners.ts). */
export interface Catalog {
  readonly at: number
  readonly names: ReadonlySet<string>
}

export class Session {
  /** Mcp-Session-Id; null: the client has none (stateless routing). */
  readonly id: string | null
  readonly key: string
  /** In the set of ended sessions that all workers share. */
  readonly endedKey: bigint
  readonly version: string
  readonly client: { readonly info: JsonObject; readonly capabilities: JsonObject }
  readonly caller: string
  /** By target. Restored ones are only here, not in the id. */
  readonly targetSessions: Map<string, TargetSession>
  /** Links that are kept from request to request, by target. */
  readonly #links = new Map<string, { readonly target: Target; readonly link: Link }>()
  /** Targets of the client's requests under way in this worker, by request id: where cancellations go. */
  readonly running = new Map<string | number, readonly string[]>()
  /** Initializations under way, by target: what waits for each. */
  readonly restoring = new Map<string, ((failure: LinkFailure | null) => void)[]>()
  /** By kind and target. */
  readonly catalogs = new Map<string, Catalog>()
  /** Cached lists that are valid while a stream announces their changes, by target: partitions by cache key. */
  readonly #watchedLists = new Map<string, Map<string, CachePartition>>()
  /** Streams of server-initiated messages that are open in this worker, by target. */
  readonly #streams = new Map<string, number>()
  /** Lists whose changes a target announces (`listChanged`), as far as this worker knows. */
  readonly #announced = new Map<string, ReadonlySet<string>>()
  /** Capability bits (protocol/capabilities.ts), by target. */
  readonly #capabilities = new Map<string, number>()
  #clientKey: string | null = null
  /** It stands for sessionless requests, and the next one may come from another caller. */
  isAnonymous = false
  /** LinkOptions.party; '': not known yet. */
  party: string
  streams = 0
  /** Null: no exchange of it is traced, or no server has asked anything. */
  serverRequests: ServerRequests | null = null
  /** When other workers were last notified that it is in use; performance.now(). */
  announcedAt = Number.NEGATIVE_INFINITY
  /** Last use in this worker; performance.now(). */
  usedAt: number

  constructor(id: string | null, sealed: SealedSession, now: number) {
    this.id = id
    this.key = sealed.n
    // Random already: it needs no hash.
    this.endedKey = Buffer.from(sealed.n, 'base64url').readBigInt64LE()
    this.version = sealed.v
    this.client = { info: sealed.c, capabilities: sealed.k }
    this.caller = sealed.i
    this.party = sealed.i
    this.targetSessions = new Map(
      Object.entries(sealed.t).map(([name, [upstreamId, version]]) => [name, { upstreamId, version }])
    )
    for (const [name, [, , bits]] of Object.entries(sealed.t))
      if (bits !== undefined) this.#capabilities.set(name, bits)
    this.usedAt = now
  }

  /** The same text for clients that a server cannot tell apart by their revision and capabilities. */
  get clientKey(): string {
    this.#clientKey ??= `${this.version} ${JSON.stringify(this.client.capabilities)}`
    return this.#clientKey
  }

  isBridged(target: string): boolean {
    return this.targetSessions.get(target)?.upstreamId === BRIDGED
  }

  /** From the answer to `initialize`. */
  learnCapabilities(target: string, capabilities: JsonObject): void {
    const announced = Object.entries(capabilities).filter(([, can]) => isObject(can) && can.listChanged === true)
    this.#announced.set(target, new Set(announced.map(([name]) => name)))
    this.#capabilities.set(target, capabilityBits(capabilities))
  }

  /** Capability bits of a target; null: not known. */
  capabilitiesOf(target: string): number | null {
    return this.#capabilities.get(target) ?? null
  }

  announcesChanges(target: string, what: string): boolean {
    return this.#announced.get(target)?.has(what) === true
  }

  hasStream(target: string): boolean {
    return this.#streams.has(target)
  }

  /** `change`: 1 for a stream that has opened, -1 for one that has ended. */
  countStream(target: string, change: 1 | -1): void {
    const open = (this.#streams.get(target) ?? 0) + change
    if (open > 0) this.#streams.set(target, open)
    else this.#streams.delete(target)
  }

  /** The target's session is a new one: no open stream belongs to it. */
  forgetStreams(target: string): void {
    this.#streams.delete(target)
  }

  /** False: the target has `max` of them already. */
  watchList(partition: CachePartition, key: string, max: number): boolean {
    const watched = this.#watchedLists.get(partition.target) ?? new Map<string, CachePartition>()
    this.#watchedLists.set(partition.target, watched)
    if (watched.size >= max && !watched.has(key)) return false
    watched.set(key, partition)
    return true
  }

  hasWatchedLists(target: string): boolean {
    return this.#watchedLists.has(target)
  }

  takeWatchedLists(target: string): { readonly partition: CachePartition; readonly key: string }[] {
    const watched = this.#watchedLists.get(target)
    if (watched === undefined) return []
    this.#watchedLists.delete(target)
    return [...watched].map(([key, partition]) => ({ key, partition }))
  }

  linkOf(target: Target): Link | null {
    const kept = this.#links.get(target.name)
    return kept?.target === target ? kept.link : null
  }

  /** Replaces the link to the target of that name, perhaps of an older configuration. */
  keepLink(target: Target, link: Link): void {
    this.dropLink(target)
    this.#links.set(target.name, { target, link })
  }

  dropLink({ name }: Target): void {
    this.#links.get(name)?.link.release()
    this.#links.delete(name)
  }

  /** They are closed already. */
  forgetLinks(): void {
    this.#links.clear()
  }

  /** Releases what this worker keeps; the session goes on. */
  release(): void {
    for (const { link } of this.#links.values()) link.release()
    this.#links.clear()
  }
}
