/** What is published for one Gateway, and what of it a data plane does not hold yet. */
import { VERSION } from '#engine/contract/version.ts'
import { encodeDelta } from '#engine/ir/snapshot-delta.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { ServiceEndpoint, ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { EndpointsRecord, SnapshotRecord, ToDataPlane } from './messages.ts'
import { encodeRecord } from './records.ts'

/** Name of a Gateway: "namespace/name". */
export type GatewayName = `${string}/${string}`

/** Parts that are the same objects as before are not sent again. */
export interface PublishedGateway {
  readonly draft: SnapshotDraft
  /** Of all Services that the draft may ask for. */
  readonly endpoints: ServiceEndpoints
}

/** Drafts that data planes may still hold. They share what is equal, so that few of them are little memory. */
const DRAFTS_MAX = 16
/** Names of endpoints that are gone, for data planes that have not heard of it. Who has missed more gets everything. */
export const GONE_MAX = 512
/** Data planes say themselves what they hold: those of one Gateway hold few different things. */
const ENCODED_MAX = 16

export class Published {
  readonly #epoch: string
  #version = 0
  readonly #drafts = new Map<number, SnapshotDraft>()
  #endpointsVersion = 0
  #endpoints: ServiceEndpoints = {}
  /** In which version each name changed last; those that are gone too, the latest change last. */
  readonly #changedAt = new Map<string, number>()
  #goneCount = 0
  /** Who holds less gets everything. */
  #resumableFrom = 1
  /** Data planes that hold the same get the same bytes. */
  #encoded = new Lru<string, Buffer>(ENCODED_MAX)

  constructor(epoch: string) {
    this.#epoch = epoch
  }

  /** Of the draft; 0: there is none yet. */
  get version(): number {
    return this.#version
  }

  get endpointsVersion(): number {
    return this.#endpointsVersion
  }

  publish({ draft, endpoints }: PublishedGateway): void {
    if (this.#drafts.get(this.#version) !== draft) {
      this.#drafts.set(++this.#version, draft)
      this.#drafts.delete(this.#version - DRAFTS_MAX)
      this.#encoded = new Lru(ENCODED_MAX)
    }
    const before = this.#endpoints
    if (endpoints === before && this.#endpointsVersion > 0) return
    const changed = Object.keys(endpoints).filter((name) => endpoints[name] !== before[name])
    const gone = Object.keys(before).filter((name) => !Object.hasOwn(endpoints, name))
    if (changed.length + gone.length === 0 && this.#endpointsVersion > 0) return
    this.#endpointsVersion++
    this.#endpoints = endpoints
    this.#encoded = new Lru(ENCODED_MAX)
    for (const name of [...changed, ...gone]) {
      this.#changedAt.delete(name)
      this.#changedAt.set(name, this.#endpointsVersion)
    }
    this.#forgetGone()
  }

  #forgetGone(): void {
    this.#goneCount = this.#changedAt.size - Object.keys(this.#endpoints).length
    if (this.#goneCount <= GONE_MAX) return
    for (const [name, version] of this.#changedAt) {
      if (Object.hasOwn(this.#endpoints, name)) continue
      this.#changedAt.delete(name)
      this.#resumableFrom = Math.max(this.#resumableFrom, version)
      if (--this.#goneCount <= GONE_MAX / 2) return
    }
  }

  /** Whether a data plane of `epoch` may go on from what it holds. */
  isOwn(epoch: string): boolean {
    return epoch === this.#epoch
  }

  /** The bytes that bring the draft of version `held` to the newest. */
  snapshotSince(held: number): Buffer {
    const previous = this.#drafts.get(held) ?? null
    const base = previous === null ? 0 : held
    return this.#bytes('snapshot', base, (): SnapshotRecord => {
      const delta = encodeDelta(previous, this.#drafts.get(this.#version)!)
      return { kind: 'snapshot', program: VERSION, epoch: this.#epoch, version: this.#version, base, delta }
    })
  }

  endpointsSince(held: number): Buffer {
    const base = held >= this.#resumableFrom && held <= this.#endpointsVersion ? held : 0
    return this.#bytes('endpoints', base, (): EndpointsRecord => {
      const changes = base === 0 ? this.#endpoints : this.#changesSince(base)
      return { kind: 'endpoints', epoch: this.#epoch, version: this.#endpointsVersion, base, changes }
    })
  }

  #changesSince(version: number): EndpointsRecord['changes'] {
    const changes: Record<string, readonly ServiceEndpoint[] | null> = {}
    for (const [name, changedAt] of this.#changedAt) {
      if (changedAt > version) changes[name] = this.#endpoints[name] ?? null
    }
    return changes
  }

  #bytes(kind: ToDataPlane['kind'], base: number, make: () => ToDataPlane): Buffer {
    const key = `${kind} ${base}`
    const known = this.#encoded.get(key) ?? encodeRecord(make())
    this.#encoded.set(key, known)
    return known
  }
}
