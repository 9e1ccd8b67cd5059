/**
 * Destinations whose hosts are known without DNS, and change in place (a Service of Kubernetes and its endpoints).
 * Endpoints look here when they are used; nothing is told to those that are not.
 */
import type { Destination, EndpointOptions, HostListChanges, WeightedHost } from '#engine/contract/endpoint.ts'
import { DestinationState, type HostParts, nameOf } from './destination.ts'
import { type HostSet, hostStates } from './host-group.ts'
import type { OutlierDetector } from './outlier.ts'
import type { Thresholds } from './thresholds.ts'

export class HostLists {
  /** Another one after every change. */
  version = 0
  readonly #hosts = new Map<string, readonly WeightedHost[]>()

  change(changes: HostListChanges): void {
    this.version++
    for (const [name, hosts] of Object.entries(changes)) {
      if (hosts === null) this.#hosts.delete(name)
      else this.#hosts.set(name, hosts)
    }
  }

  get all(): Readonly<Record<string, readonly WeightedHost[]>> {
    return Object.fromEntries(this.#hosts)
  }

  /** Null: DNS knows it, if anybody does. */
  get(name: string): readonly WeightedHost[] | null {
    return this.#hosts.get(name) ?? null
  }
}

/** The hosts of one destination: those of its list, or what DNS says of its name when there is no list. */
export class NamedHosts implements HostSet {
  readonly name: string
  readonly hostHeader: string
  readonly options: EndpointOptions
  readonly detector: OutlierDetector | null
  readonly thresholds: Thresholds | null
  readonly #lists: HostLists
  /** By its name. */
  readonly #resolved: DestinationState
  #version = -1
  #listed: readonly WeightedHost[] | null = null
  #hosts: readonly DestinationState[]

  constructor(destination: Destination, options: EndpointOptions, parts: HostParts, lists: HostLists) {
    this.#resolved = new DestinationState(destination, options, parts)
    this.#hosts = this.#resolved.hosts
    this.name = nameOf(destination)
    this.hostHeader = this.#resolved.hostHeader
    this.options = options
    this.detector = this.#resolved.detector
    this.thresholds = this.#resolved.thresholds
    this.#lists = lists
  }

  /** A client's Host is for the service, whatever name stands for it here. */
  get isHostname(): boolean {
    this.#look()
    return this.#listed === null && this.#resolved.isHostname
  }

  get isEmpty(): boolean {
    return this.hosts.length === 0
  }

  get hosts(): readonly DestinationState[] {
    if (this.#version !== this.#lists.version) this.#look()
    return this.#hosts
  }

  #look(): void {
    const { version } = this.#lists
    const listed = this.#lists.get(this.name)
    this.#version = version
    if (listed === this.#listed) return
    this.#listed = listed
    const { options, detector, thresholds } = this
    this.#hosts =
      listed === null
        ? this.#resolved.hosts
        : hostStates(listed, this.#hosts, (to) => new DestinationState(to, options, { detector, thresholds }))
  }

  async resolve(): Promise<void> {
    await Promise.any(this.hosts.map((host) => host.resolve()))
  }
}
