/** An upstream client that dials nobody and remembers what it was asked to send. */

import { isIP } from 'node:net'
import type { UpstreamClient } from '#engine/contract/backend.ts'
import type { Destination, Endpoint, EndpointOptions, HostGroup } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { StreamClient } from '#engine/contract/tcp.ts'

export interface FakeUpstream extends UpstreamClient, StreamClient {
  readonly endpoints: { readonly destination: Destination | HostGroup; readonly options: EndpointOptions }[]
  /** Names of endpoints in the order of sending. */
  readonly sent: string[]
}

export function fakeUpstream(): FakeUpstream {
  const endpoints: FakeUpstream['endpoints'] = []
  const sent: string[] = []
  return {
    endpoints,
    sent,
    endpoint(destination: Destination | HostGroup, options: EndpointOptions): Endpoint {
      endpoints.push({ destination, options })
      if ('hosts' in destination) return { name: destination.name, usable: true, hostHeader: '', isHostname: true }
      const { host, port, unixPath } = destination
      const hostHeader = unixPath !== null ? '' : port === 80 ? host : `${host}:${port}`
      const isHostname = unixPath === null && isIP(host) === 0
      return { name: unixPath ?? `${host}:${port}`, usable: true, hostHeader, isHostname }
    },
    hostsOf: () => null,
    setHosts() {},
    checkAs: () => ({ begin() {}, end() {} }),
    stream: () => ({ name: '', usable: true, connect: () => () => {} }),
    send(_ex: Exchange, endpoint: Endpoint): void {
      sent.push(endpoint.name)
    }
  }
}
