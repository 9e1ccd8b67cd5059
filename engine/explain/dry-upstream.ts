/** The upstream side of a request that is only explained: endpoints have their names, and nothing is ever sent. */
import type { UpstreamClient } from '#engine/contract/backend.ts'
import type { Destination, Endpoint, EndpointOptions, HostGroup, HostLists } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { StreamClient } from '#engine/contract/tcp.ts'
import { HostGroupState, type HostSet } from '#engine/upstream/host-group.ts'
import { HostLists as ChangingLists, NamedHosts } from '#engine/upstream/host-lists.ts'

/**
 * `known`: hosts that are known without DNS. `sent` gets the names of those of the endpoint, or null where DNS knows
 * them.
 */
export function dryUpstream(
  known: HostLists,
  sent: (ex: Exchange, endpoint: Endpoint, hosts: readonly string[] | null) => void
): UpstreamClient & StreamClient {
  const lists = new ChangingLists()
  lists.change(known)
  const hostsOf = (destination: Destination | HostGroup, options: EndpointOptions): HostSet =>
    'hosts' in destination
      ? new HostGroupState(destination.name, destination.hosts, options)
      : new NamedHosts(destination, options, {}, lists)
  const listed = new WeakMap<Endpoint, HostSet>()
  return {
    endpoint(destination, options) {
      const hosts = hostsOf(destination, options)
      const { name, hostHeader, isHostname } = hosts
      const endpoint: Endpoint = { name, hostHeader, isHostname, usable: true, isTls: options.tls !== null }
      if (lists.get(name) !== null) listed.set(endpoint, hosts)
      return endpoint
    },
    hostsOf: (name) => lists.get(name),
    setHosts() {},
    checkAs: () => ({ begin() {}, end() {} }),
    send: (ex, endpoint) => sent(ex, endpoint, listed.get(endpoint)?.hosts.map((host) => host.name) ?? null),
    stream(destination, options) {
      const { name, hostHeader, isHostname } = hostsOf(destination, { ...options, tls: null })
      return { name, hostHeader, isHostname, usable: true, connect: () => () => {} }
    }
  }
}
