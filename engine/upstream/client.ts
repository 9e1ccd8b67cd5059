/** The upstream side of one worker: every destination that was ever asked for, and its state. */

import { isIP } from 'node:net'
import type { UpstreamClient } from '#engine/contract/backend.ts'
import { type Background, together } from '#engine/contract/background.ts'
import type { CheckCredentials } from '#engine/contract/check-credentials.ts'
import type {
  Destination,
  Endpoint,
  EndpointOptions,
  EndpointReport,
  HostGroup,
  WeightedHost
} from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type InProcess, NO_CALLS } from '#engine/contract/in-process.ts'
import type { ActiveCheck } from '#engine/contract/resilience.ts'
import type { StreamClient, StreamEndpoint } from '#engine/contract/tcp.ts'
import { attemptSending } from '#engine/contract/tracing.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import type { SharedRows } from '#engine/kit/shared-rows.ts'
import { ActiveChecker, checkedAt, connectOnce } from './active-check.ts'
import { AddressStates } from './address-states.ts'
import { DestinationState, nameOf } from './destination.ts'
import { EndpointState } from './endpoint.ts'
import { HostGroupState, type HostSet } from './host-group.ts'
import { type HostLists, NamedHosts } from './host-lists.ts'
import { KnownEndpoints } from './known-endpoints.ts'
import { OutlierDetector } from './outlier.ts'
import { ProxyProtocolEndpoint } from './proxy-protocol.ts'
import type { UpstreamShared } from './shared.ts'
import { ofBytes, TcpEndpoint } from './tcp.ts'
import { type ThresholdKind, Thresholds, type WorkerPlace } from './thresholds.ts'

/** More is no help to people. */
const REPORTED_MAX = 512
/** In metrics, of all destinations that clients name: what they choose fills no memory. */
const NAMED_BY_CLIENTS = 'dynamic'
/** Addresses that active checks of this worker ask. */
const CHECKED_MAX = 8192

export interface Upstream extends UpstreamClient, StreamClient {
  /** Connections by state, for metrics. */
  counts(): { idle: number; busy: number }
  /** Destinations whose addresses are known, for people: those of configurations and of clients, the first ones. */
  report(): readonly EndpointReport[]
  /** Tells the observer what time has changed: addresses by state, and ejections that are over. */
  look(): void
  /** Active checks are made by `inProcess` from now on. */
  checkBy(inProcess: InProcess): void
  /** Closes idle connections (drain). */
  closeIdle(): void
}

export interface UpstreamOptions extends UpstreamShared {
  /** What all workers know of addresses. */
  readonly rows: SharedRows
  /** Null: all names are for DNS. */
  readonly lists: HostLists | null
  /** Which of the workers of the process this is. */
  readonly worker: WorkerPlace
}

export function createUpstream(shared: UpstreamOptions): Upstream {
  const { clock } = shared.rows
  const endpoints = new KnownEndpoints<EndpointState | ProxyProtocolEndpoint>(clock)
  const streams = new KnownEndpoints<TcpEndpoint>(clock)
  const checks = new Checks(shared)
  const states = new AddressStates(shared)
  return {
    look() {
      for (const { hosts } of endpoints.values()) hosts.detector?.look()
      states.look()
      endpoints.look()
      streams.look()
    },
    report: () => reportOf([...endpoints.values()]),
    checkBy(inProcess: InProcess): void {
      checks.calls = inProcess
    },
    endpoint(destination: Destination | HostGroup, options: EndpointOptions): Endpoint {
      const key = keyOf(destination, options)
      let endpoint = endpoints.get(key)
      if (endpoint === undefined) {
        endpoint = newEndpoint(hostsOf(destination, options, shared), shared)
        if (options.guarded) endpoints.addNamed(key, endpoint)
        else {
          const check = options.resilience?.health?.active ?? null
          const work = check === null ? [] : [checks.of(check, endpoint)]
          endpoint.background = together([endpoints.addConfigured(key, endpoint), states.of(endpoint), ...work])
        }
      }
      return endpoint
    },
    checkAs: (endpoint, credentials) => checks.showing(endpoint, credentials),
    hostsOf: (name) => shared.lists?.get(name) ?? null,
    setHosts(endpoint: Endpoint, hosts: readonly WeightedHost[]): void {
      const { hosts: known } = endpoint as EndpointState | ProxyProtocolEndpoint
      if (known instanceof HostGroupState) known.set(hosts)
    },
    send(ex: Exchange, endpoint: Endpoint): void {
      if (ex.slots !== null)
        attemptSending(ex, endpoint)
        // Every Endpoint was made by endpoint() above.
      ;(endpoint as EndpointState | ProxyProtocolEndpoint).send(ex)
    },
    stream(destination: Destination | HostGroup, options: EndpointOptions): StreamEndpoint {
      const key = keyOf(destination, options)
      let stream = streams.get(key)
      if (stream === undefined) {
        stream = new TcpEndpoint(hostsOf(destination, ofBytes(options), shared), shared)
        if (options.guarded) streams.addNamed(key, stream)
        else stream.background = streams.addConfigured(key, stream)
      }
      return stream
    },
    counts() {
      let idle = 0
      let busy = 0
      for (const endpoint of endpoints.values()) {
        idle += endpoint.idle
        busy += endpoint.busy
      }
      for (const stream of streams.values()) busy += stream.total
      return { idle, busy }
    },
    closeIdle() {
      for (const endpoint of endpoints.values()) endpoint.closeIdle()
      checks.closeIdle()
    }
  }
}

function reportOf(endpoints: readonly (EndpointState | ProxyProtocolEndpoint)[]): EndpointReport[] {
  const known = endpoints.filter(({ addresses }) => addresses.length > 0)
  return known.slice(0, REPORTED_MAX).map(({ name, addresses }) => ({
    destination: name,
    addresses: addresses.map(({ label, host, health, busy }) => ({
      ...{ address: label, host: host.name, weight: host.weight, requests: busy },
      ...health.report()
    }))
  }))
}

/** Active checks of this worker, and the endpoints that they use: each is one address. */
class Checks {
  /** Makes them. */
  calls: InProcess = NO_CALLS
  readonly #shared: UpstreamOptions
  readonly #random = xorshift32()
  readonly #endpoints = new Map<string, EndpointState | ProxyProtocolEndpoint>()
  readonly #checkers = new WeakMap<Endpoint, ActiveChecker>()

  constructor(shared: UpstreamOptions) {
    this.#shared = shared
  }

  of(check: ActiveCheck, endpoint: EndpointState | ProxyProtocolEndpoint): ActiveChecker {
    const { timers, events } = this.#shared
    const used = new Map<string, EndpointState | ProxyProtocolEndpoint>()
    const checker = new ActiveChecker({
      check,
      hosts: endpoint.hosts,
      timers,
      random: this.#random,
      addresses: () => endpoint.addresses,
      sender: (address, options) => {
        const to = this.#endpoint(checkedAt(address, check.port), options, used)
        return (ex) => to.send(ex)
      },
      ended: () => {
        for (const [key, one] of used) {
          this.#endpoints.delete(key)
          one.closeIdle()
        }
        used.clear()
      },
      fail: (ex) => events.onServerFault(ex, 'BACKEND_CREDENTIALS'),
      calls: () => this.calls,
      connect: (address, port, done) => connectOnce(this.#shared, address, port, done)
    })
    this.#checkers.set(endpoint, checker)
    return checker
  }

  showing(endpoint: Endpoint, credentials: CheckCredentials | null): Background {
    return this.#checkers.get(endpoint)?.credentials.of(credentials) ?? together([])
  }

  /** Noted in `used`. */
  #endpoint(
    destination: Destination,
    options: EndpointOptions,
    used: Map<string, EndpointState | ProxyProtocolEndpoint>
  ): EndpointState | ProxyProtocolEndpoint {
    const key = keyOf(destination, options)
    const known = this.#endpoints.get(key)
    if (known === undefined && this.#endpoints.size >= CHECKED_MAX) forgetUnused(this.#endpoints)
    const made = known ?? newEndpoint(hostsOf(destination, options, this.#shared), this.#shared)
    this.#endpoints.set(key, made)
    used.set(key, made)
    return made
  }

  closeIdle(): void {
    for (const endpoint of this.#endpoints.values()) endpoint.closeIdle()
  }
}

function newEndpoint(hosts: HostSet, shared: UpstreamShared): EndpointState | ProxyProtocolEndpoint {
  const { proxyProtocol } = hosts.options
  return proxyProtocol === undefined
    ? new EndpointState(hosts, shared)
    : new ProxyProtocolEndpoint(proxyProtocol, hosts, shared)
}

function keyOf(destination: Destination | HostGroup, options: object): string {
  return JSON.stringify([isGroup(destination) ? destination.name : destination, options])
}

function hostsOf(destination: Destination | HostGroup, options: EndpointOptions, shared: UpstreamOptions): HostSet {
  const { rows, observer, worker, lists } = shared
  const { health: plan, limits } = options.resilience ?? {}
  const name = isGroup(destination) ? destination.name : nameOf(destination)
  // Endpoints that judge the same servers by the same rules share what is known of them.
  const key = JSON.stringify([plan, options.tls !== null])
  const metricLabel = options.guarded ? NAMED_BY_CLIENTS : name
  const detector = plan === undefined ? null : new OutlierDetector({ name, metricLabel, key, plan, rows, observer })
  const overflowed = (kind: ThresholdKind) => observer.overflowed?.(metricLabel, kind)
  const own = { name, key: keyOf(destination, options) }
  const thresholds = limits === undefined ? null : new Thresholds({ ...own, limits, rows, worker, overflowed })
  const parts = { detector, thresholds }
  if (isGroup(destination)) return new HostGroupState(name, destination.hosts, options, parts)
  // What clients name has nothing to do with the configuration's services.
  const isListed = lists !== null && destination.unixPath === null && !options.guarded && isIP(destination.host) === 0
  return isListed
    ? new NamedHosts(destination, options, parts, lists)
    : new DestinationState(destination, options, parts)
}

function isGroup(destination: Destination | HostGroup): destination is HostGroup {
  return 'hosts' in destination
}

function forgetUnused(endpoints: Map<string, { readonly total: number }>): void {
  for (const [key, endpoint] of endpoints) if (endpoint.total === 0) endpoints.delete(key)
}
