/** The hosts of one destination: one, or several that do the same, of which there may be more or fewer at any time. */
import type { Destination, EndpointOptions, WeightedHost } from '#engine/contract/endpoint.ts'
import { DestinationState, type HostParts, nameOf } from './destination.ts'
import type { OutlierDetector } from './outlier.ts'
import type { Thresholds } from './thresholds.ts'

/** What endpoints know of the servers behind them. */
export interface HostSet {
  /** For logs. */
  readonly name: string
  /** Of Endpoint. */
  readonly hostHeader: string
  readonly isHostname: boolean
  readonly options: EndpointOptions
  /** Another list whenever one of them comes or goes, or has another weight. */
  readonly hosts: readonly DestinationState[]
  /** It is known that there is no host now. */
  readonly isEmpty: boolean
  /** Judges their addresses by what they do; null: nothing does. */
  readonly detector: OutlierDetector | null
  /** Bounds what is under way to all of them; null: nothing does but the pool. */
  readonly thresholds: Thresholds | null
  /** Until an address is known. Rejects when no host has any. */
  resolve(): Promise<void>
}

/** The state of each of `hosts`. Those that were there `before` keep what is known of them. */
export function hostStates(
  hosts: readonly WeightedHost[],
  before: readonly DestinationState[],
  make: (destination: Destination) => DestinationState
): readonly DestinationState[] {
  const known = new Map(before.map((host) => [keyOf(host.destination), host]))
  return hosts.map((host) => {
    const state = known.get(keyOf(host)) ?? make(host)
    state.weight = host.weight
    return state
  })
}

/** An address that another workload has got is another host: connections to the one before are not for it. */
const keyOf = (destination: Destination): string => `${nameOf(destination)} ${destination.identity ?? ''}`

export class HostGroupState implements HostSet {
  readonly name: string
  /** Each host has its own. */
  readonly hostHeader = ''
  readonly isEmpty = false
  readonly options: EndpointOptions
  readonly detector: OutlierDetector | null
  readonly thresholds: Thresholds | null
  #hosts: readonly DestinationState[] = []
  #weighted: readonly WeightedHost[] = []

  constructor(
    name: string,
    hosts: readonly WeightedHost[],
    options: EndpointOptions,
    { detector = null, thresholds = null }: HostParts = {}
  ) {
    this.name = name
    this.detector = detector
    this.thresholds = thresholds
    this.options = options
    this.set(hosts)
  }

  get hosts(): readonly DestinationState[] {
    return this.#hosts
  }

  get isHostname(): boolean {
    return this.#hosts.some(({ isHostname }) => isHostname)
  }

  /** Those that stay keep what is known of them. */
  set(hosts: readonly WeightedHost[]): void {
    if (hosts === this.#weighted) return
    this.#weighted = hosts
    const { detector, thresholds } = this
    this.#hosts = hostStates(
      hosts,
      this.#hosts,
      (to) => new DestinationState(to, this.#optionsOf(to.host), { detector, thresholds })
    )
  }

  /** Without a name of the configuration, a certificate has to be for the host that is dialled. */
  #optionsOf(host: string): EndpointOptions {
    const { tls } = this.options
    return tls === null || tls.serverName !== '' ? this.options : { ...this.options, tls: { ...tls, serverName: host } }
  }

  async resolve(): Promise<void> {
    await Promise.any(this.#hosts.map((host) => host.resolve()))
  }
}
