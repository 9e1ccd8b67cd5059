/**
 * A destination whose connections begin with a PROXY header. The header names one client for everything that follows,
 * so each client (address and port) has an endpoint of its own, and only its exchanges can ever get to those
 * connections. They share what is known of the destination (destination.ts) and the limit on connections: an idle one
 * gives way to a client that has none, and clients that wait are served in turn.
 */

import type { Background } from '#engine/contract/background.ts'
import type { Endpoint } from '#engine/contract/endpoint.ts'
import type { ClientStream, Exchange } from '#engine/contract/exchange.ts'
import { writeProxyHeader } from '#engine/socket/proxy-header.ts'
import { EndpointState } from './endpoint.ts'
import type { HostSet } from './host-group.ts'
import type { Pool } from './pool.ts'
import type { UpstreamShared } from './shared.ts'
import { type EvictionCandidate, SlowClientEviction } from './slow-client-eviction.ts'
import { CONNECTIONS } from './thresholds.ts'

/** Clients beyond so many: those without a connection are looked for and forgotten. */
const CLIENTS_SWEPT = 1024

export class ProxyProtocolEndpoint implements Endpoint {
  readonly name: string
  readonly hostHeader: string
  readonly isHostname: boolean
  readonly isTls: boolean
  /** Connections that exist or are being made, of all clients. */
  total = 0
  background?: Background
  readonly #version: 'v1' | 'v2'
  readonly hosts: HostSet
  readonly #shared: UpstreamShared
  /** Sends nothing: it knows the addresses. */
  readonly #direct: EndpointState
  /** By what their connections begin with; who has sent last stands last. */
  readonly #clients = new Map<string, ClientEndpoint>()
  /** Those that wait for a connection, the next one first. */
  readonly #queue = new Set<ClientEndpoint>()
  /** A client that waits has most often no connection of its own: those of all clients are looked at. */
  readonly #eviction: SlowClientEviction

  constructor(version: 'v1' | 'v2', hosts: HostSet, shared: UpstreamShared) {
    this.name = hosts.name
    this.hostHeader = hosts.hostHeader
    this.isHostname = hosts.isHostname
    this.isTls = hosts.options.tls !== null
    this.#version = version
    this.hosts = hosts
    this.#shared = shared
    this.#direct = new EndpointState(hosts, shared)
    const { timers, events } = shared
    this.#eviction = new SlowClientEviction({
      timers,
      connections: () => this.#connections(),
      waiting: () => this.#waiting,
      // Clients are connections here, and often of one address: none of them has to give way sooner for keeping much.
      keptByWaiting: () => [],
      giveUp: (ex, code) => events.onServerFault(ex, code),
      now: () => timers.now
    })
  }

  get addresses(): readonly Pool[] {
    return this.#direct.addresses
  }

  get knownAddresses(): readonly Pool[] {
    return this.#direct.knownAddresses
  }

  get usable(): boolean {
    return this.#direct.usable
  }

  get balancing(): string {
    return this.#direct.balancing
  }

  get idle(): number {
    let count = 0
    for (const client of this.#clients.values()) count += client.idle
    return count
  }

  get busy(): number {
    let count = 0
    for (const client of this.#clients.values()) count += client.busy
    return count
  }

  /** Those that are known. */
  get clients(): number {
    return this.#clients.size
  }

  *#connections(): Generator<EvictionCandidate> {
    for (const { pools } of this.#clients.values()) for (const { connections } of pools) yield* connections
  }

  /** Clients that want a connection. */
  get #waiting(): number {
    let count = 0
    for (const client of this.#queue) if (client.wants) count++
    return count
  }

  send(ex: Exchange): void {
    const header = writeProxyHeader(this.#version, endsOf(ex.client))
    const known = this.#clients.get(header)
    if (known !== undefined) this.#clients.delete(header)
    else if (this.#clients.size >= CLIENTS_SWEPT) this.#sweep()
    const client = known ?? new ClientEndpoint(header, this, this.hosts, this.#shared)
    this.#clients.set(header, client)
    client.send(ex)
  }

  #sweep(): void {
    for (const [header, client] of this.#clients) if (client.isUnused) this.#clients.delete(header)
  }

  closeIdle(): void {
    for (const client of [...this.#clients.values()]) client.closeIdle()
  }

  get #connectionsMax(): number {
    const { poolMax } = this.#shared
    return this.hosts.thresholds?.connectionsMax(poolMax) ?? poolMax
  }

  // --- what clients ask for ---

  /** Counts a connection that `client` is about to make. False: it has to wait. */
  take(client: ClientEndpoint): boolean {
    // An idle connection of another client may never be used again: clients come from new ports.
    if (this.total >= this.#connectionsMax && this.#next() === null) this.#closeIdlest()
    if (this.total >= this.#connectionsMax) this.#eviction.request()
    if (this.total < this.#connectionsMax) {
      this.total++
      return true
    }
    this.#queue.add(client)
    return false
  }

  /** Closes what the client has idle that has sent nothing for longest. */
  #closeIdlest(): void {
    for (const client of this.#clients.values()) {
      if (client.idle === 0) continue
      client.closeIdle()
      return
    }
  }

  /** A connection of `client` is gone, or did not come about. */
  released(client: ClientEndpoint): void {
    this.total--
    if (client.isUnused && this.#clients.get(client.preamble) === client) this.#clients.delete(client.preamble)
    for (const next of [...this.#queue]) {
      if (this.total >= this.#connectionsMax) return
      this.#queue.delete(next)
      next.serveWaiting()
      if (next.wants) this.#queue.add(next)
    }
  }

  /** Whether `client`, of which a connection is free, has to give way to the client that is next. */
  mustYield(client: ClientEndpoint): boolean {
    const next = this.#next()
    if (next !== client) return next !== null
    // It takes its turn with the connection that it has, and then stands last: one that asks for much is one of many.
    this.#queue.delete(client)
    this.#queue.add(client)
    return false
  }

  #next(): ClientEndpoint | null {
    for (const client of this.#queue) {
      if (client.wants) return client
      this.#queue.delete(client)
    }
    return null
  }
}

/** Connections of one client; nobody else's exchanges come here. */
class ClientEndpoint extends EndpointState {
  readonly #preamble: string
  readonly #all: ProxyProtocolEndpoint

  constructor(preamble: string, all: ProxyProtocolEndpoint, hosts: HostSet, shared: UpstreamShared) {
    super(hosts, shared)
    this.#preamble = preamble
    this.#all = all
  }

  /** They are shared with all other clients. */
  override get connectionsMax(): number {
    return Number.POSITIVE_INFINITY
  }

  override get preamble(): string {
    return this.#preamble
  }

  get isUnused(): boolean {
    return this.total === 0 && !this.wants
  }

  override get isContended(): boolean {
    return this.#all.mustYield(this)
  }

  override mayConnect(): boolean {
    if (!this.#all.take(this)) return false
    this.total++
    this.hosts.thresholds?.change(CONNECTIONS, 1)
    return true
  }

  override closed(): void {
    this.total--
    this.hosts.thresholds?.change(CONNECTIONS, -1)
    this.#all.released(this)
  }

  serveWaiting(): void {
    this.wakeAll()
  }
}

/** What a header says of a client; of one without a port, which is none of the network's, that it is not known. */
function endsOf({ remoteAddress, remotePort, localAddress = '', localPort }: ClientStream) {
  const isKnown = remotePort !== 0
  return { remoteAddress: isKnown ? remoteAddress : '', remotePort, localAddress, localPort }
}
