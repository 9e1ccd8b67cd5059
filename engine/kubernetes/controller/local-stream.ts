/** Data planes of one Gateway that are in the process of the controller: drafts and endpoints go into it directly. */
import { hostname } from 'node:os'
import type { HostListChanges } from '#engine/contract/endpoint.ts'
import type { ServiceEndpoints } from '#engine/kubernetes/endpoints/index.ts'
import type { DataPlane, GatewayName, PublishedGateway } from '#engine/kubernetes/stream/index.ts'
import type { OpenStream } from './controller.ts'

export interface LocalStreamOptions {
  /** The only one that is served. */
  readonly gateway: GatewayName
  /** A rejection says why the draft cannot be in force; what was before is. */
  readonly putInForce: (draft: PublishedGateway['draft'], version: number) => Promise<void>
  /** Null: nobody asks for it any more. */
  readonly setHosts: (changes: HostListChanges) => void
  /** Something was put in force, or refused. */
  readonly onChange: (gateway: GatewayName) => void
}

export class LocalStream implements OpenStream {
  readonly #options: LocalStreamOptions
  #draft: PublishedGateway['draft'] | null = null
  #version = 0
  #endpoints: ServiceEndpoints = {}
  /** Names that workers know. */
  readonly #known = new Set<string>()
  #inForce = 0
  #refused: DataPlane['refused'] = null
  #isApplying = false
  #isClosed = false

  constructor(options: LocalStreamOptions) {
    this.#options = options
  }

  /** As SnapshotServer has it. Of other Gateways there are no data planes. */
  publish(gateway: GatewayName, { draft, endpoints }: PublishedGateway): number {
    if (gateway !== this.#options.gateway) return 1
    // Before the draft that asks for them.
    this.#setHosts(endpoints)
    if (draft !== this.#draft) {
      this.#draft = draft
      this.#version++
      if (!this.#isApplying) void this.#apply()
    }
    return this.#version
  }

  /** What is in force stays: a Gateway that is made anew goes on with it. */
  remove(): void {}

  dataPlanes(gateway: GatewayName): readonly DataPlane[] {
    if (gateway !== this.#options.gateway) return []
    return [{ gateway, pod: hostname(), inForce: this.#inForce, refused: this.#refused }]
  }

  async close(): Promise<void> {
    this.#isClosed = true
  }

  #setHosts(endpoints: ServiceEndpoints): void {
    const changed = Object.entries(endpoints).filter(([name, list]) => this.#endpoints[name] !== list)
    this.#endpoints = endpoints
    for (const [name] of changed) this.#known.add(name)
    if (changed.length > 0) this.#options.setHosts(Object.fromEntries(changed))
  }

  /** One draft at a time; of those that come meanwhile the newest. */
  async #apply(): Promise<void> {
    const { gateway, putInForce, onChange } = this.#options
    this.#isApplying = true
    for (let version = 0; version !== this.#version && !this.#isClosed; ) {
      version = this.#version
      try {
        await putInForce(this.#draft!, version)
        this.#inForce = version
        this.#refused = null
        this.#forgetHosts()
      } catch (error) {
        this.#refused = { version, reason: (error as Error).message }
      }
      onChange(gateway)
    }
    this.#isApplying = false
  }

  /** The draft in force does not ask for them. */
  #forgetHosts(): void {
    const gone = [...this.#known].filter((name) => this.#endpoints[name] === undefined)
    for (const name of gone) this.#known.delete(name)
    if (gone.length > 0) this.#options.setHosts(Object.fromEntries(gone.map((name) => [name, null])))
  }
}
