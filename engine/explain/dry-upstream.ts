/** The upstream side of a request that is only explained: endpoints have their names, and nothing is ever sent. */
import type { UpstreamClient } from '#engine/contract/backend.ts'
import type { Destination, Endpoint, EndpointOptions, HostGroup } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { StreamClient } from '#engine/contract/tcp.ts'
import { DestinationState } from '#engine/upstream/destination.ts'
import { HostGroupState, type HostSet } from '#engine/upstream/host-group.ts'

export function dryUpstream(sent: (ex: Exchange, endpoint: Endpoint) => void): UpstreamClient & StreamClient {
  return {
    endpoint(destination, options) {
      const { name, hostHeader, isHostname } = hostsOf(destination, options)
      return { name, hostHeader, isHostname, usable: true, isTls: options.tls !== null }
    },
    setHosts() {},
    checkAs: () => ({ begin() {}, end() {} }),
    send: sent,
    stream(destination, options) {
      const { name, hostHeader, isHostname } = hostsOf(destination, { ...options, tls: null })
      return { name, hostHeader, isHostname, usable: true, connect: () => () => {} }
    }
  }
}

function hostsOf(destination: Destination | HostGroup, options: EndpointOptions): HostSet {
  if (!('hosts' in destination)) return new DestinationState(destination, options)
  return new HostGroupState(destination.name, destination.hosts, options)
}
