/** What is known of one host however many endpoints connect to it: its names, its TLS, its addresses' health. */

import { isIP } from 'node:net'
import type { Destination, EndpointOptions } from '#engine/contract/endpoint.ts'
import { Lru } from '#engine/kit/lru.ts'
import { TlsClient } from '#engine/socket/tls.ts'
import { Health } from './health.ts'
import type { HostSet } from './host-group.ts'
import { alpnOf } from './http-version.ts'
import type { OutlierDetector } from './outlier.ts'
import { Resolver } from './resolver.ts'
import type { Thresholds } from './thresholds.ts'

/** Addresses whose health is remembered: those of a name may change for ever. */
const ADDRESSES_MAX = 128

/** What is known beside its address. */
export interface HostParts {
  /** Default: one that asks the system. */
  readonly resolver?: Resolver
  readonly detector?: OutlierDetector | null
  readonly thresholds?: Thresholds | null
}

export class DestinationState implements HostSet {
  readonly destination: Destination
  readonly detector: OutlierDetector | null
  readonly thresholds: Thresholds | null
  readonly options: EndpointOptions
  readonly name: string
  readonly hostHeader: string
  readonly isHostname: boolean
  /** Null: a unix socket. */
  readonly resolver: Resolver | null
  /** Null: clear text, unless it has an identity. */
  readonly tls: TlsClient | null
  /** Of Destination; null: it is of no mesh, or the configuration says how its TLS is. */
  readonly identity: string | null
  readonly isEmpty = false
  /** Its share beside other hosts. */
  weight = 1
  #http2Tls: TlsClient | null = null
  #hosts: readonly DestinationState[] | null = null
  /** Of what has one address for ever: Services may have thousands. */
  #onlyHealth: Health | null = null
  /** Of a name. */
  #health: Lru<string, Health> | null = null

  constructor(
    destination: Destination,
    options: EndpointOptions,
    { resolver, detector = null, thresholds = null }: HostParts = {}
  ) {
    const { host, port, unixPath } = destination
    const literal = isIP(host)
    this.destination = destination
    this.detector = detector
    this.thresholds = thresholds
    this.options = options
    this.resolver = unixPath === null ? (resolver ?? new Resolver(host)) : null
    this.tls = options.tls === null ? null : new TlsClient(options.tls)
    this.identity = options.tls === null ? (destination.identity ?? null) : null
    const isUsualPort = port === (options.tls === null ? 80 : 443)
    this.name = nameOf(destination)
    this.hostHeader = unixPath !== null ? 'localhost' : !isUsualPort ? this.name : literal === 6 ? `[${host}]` : host
    this.isHostname = unixPath === null && literal === 0
  }

  /** Made when it is needed: most servers are never offered HTTP/2. */
  get http2Tls(): TlsClient | null {
    const { tls, http } = this.options
    if (tls !== null) this.#http2Tls ??= new TlsClient(tls, alpnOf(http?.version ?? 'auto'))
    return this.#http2Tls
  }

  async resolve(): Promise<void> {
    await this.resolver?.resolve()
  }

  /** By itself it is all there is. */
  get hosts(): readonly DestinationState[] {
    this.#hosts ??= [this]
    return this.#hosts
  }

  /** `label`: ip:port or unix:path. */
  healthOf(label: string): Health {
    if (!this.isHostname) {
      this.#onlyHealth ??= this.#newHealth(label)
      return this.#onlyHealth
    }
    this.#health ??= new Lru(ADDRESSES_MAX)
    const known = this.#health.get(label)
    if (known !== undefined) return known
    const made = this.#newHealth(label)
    this.#health.set(label, made)
    return made
  }

  #newHealth(label: string): Health {
    return this.detector?.healthOf(this.name, label) ?? new Health()
  }
}

/** host:port, with brackets around an address of IPv6, or unix:path. */
export function nameOf({ host, port, unixPath }: Destination): string {
  if (unixPath !== null) return `unix:${unixPath}`
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}
