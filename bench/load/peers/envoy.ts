import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const envoy: Peer = {
  name: 'envoy',
  find() {
    const program = findProgram('envoy')
    return program === null ? { missing: 'envoy is not installed' } : { program, args: [] }
  },
  version: (command) => versionOf(command, '--version'),
  configure(setup) {
    const path = join(setup.folder, 'envoy.json')
    writeFileSync(path, JSON.stringify(configuration(setup), null, 2))
    return ['-c', path, '--concurrency', String(setup.threads), '--disable-hot-restart', '-l', 'error']
  }
}

function configuration({ port, upstreamPort, connections }: Setup): object {
  const limits = {
    thresholds: [{ max_connections: connections, max_requests: connections, max_pending_requests: connections }]
  }
  const endpoint = { endpoint: { address: address(upstreamPort) } }
  const cluster = {
    name: 'backend',
    type: 'STATIC',
    connect_timeout: '5s',
    circuit_breakers: limits,
    load_assignment: { cluster_name: 'backend', endpoints: [{ lb_endpoints: [endpoint] }] }
  }
  const route = { match: { prefix: '/' }, route: { cluster: 'backend', timeout: '0s' } }
  const manager = {
    '@type': 'type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    stat_prefix: 'bench',
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
    http_filters: [
      {
        name: 'envoy.filters.http.router',
        typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.http.router.v3.Router' }
      }
    ]
  }
  const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
  const listener = { name: 'bench', address: address(port), filter_chains: [{ filters: [filter] }] }
  return { static_resources: { listeners: [listener], clusters: [cluster] } }
}

function address(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } }
}
