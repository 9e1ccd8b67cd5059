import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const envoy: Peer = {
  name: 'envoy',
  wires: new Set(['https', 'h2c', 'h2', 'grpc', 'tcp']),
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

const API = 'type.googleapis.com/envoy.extensions'

function configuration(setup: Setup): object {
  const { port, wire } = setup
  const transport = wire === 'https' || wire === 'h2' ? { transport_socket: tlsOf(setup) } : {}
  const filter = wire === 'tcp' ? TCP : http(wire)
  const chain = { filters: [filter], ...transport }
  const listener = { name: 'bench', address: address(port), filter_chains: [chain] }
  return { static_resources: { listeners: [listener], clusters: [clusterOf(setup)] } }
}

function clusterOf({ upstreamPort, connections, streams, wire }: Setup): object {
  const most = connections * streams
  const limits = { thresholds: [{ max_connections: most, max_requests: most, max_pending_requests: most }] }
  const endpoint = { endpoint: { address: address(upstreamPort) } }
  const http2 = {
    '@type': `${API}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} }
  }
  return {
    name: 'backend',
    type: 'STATIC',
    connect_timeout: '5s',
    circuit_breakers: limits,
    load_assignment: { cluster_name: 'backend', endpoints: [{ lb_endpoints: [endpoint] }] },
    ...(wire === 'grpc'
      ? { typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 } }
      : {})
  }
}

/** Configured for one version of HTTP, as the others are. */
function http(wire: Setup['wire']): object {
  const route = { match: { prefix: '/' }, route: { cluster: 'backend', timeout: '0s' } }
  const manager = {
    '@type': `${API}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'bench',
    codec_type: wire === 'http' || wire === 'https' ? 'HTTP1' : 'HTTP2',
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
    http_filters: [
      { name: 'envoy.filters.http.router', typed_config: { '@type': `${API}.filters.http.router.v3.Router` } }
    ]
  }
  return { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
}

const TCP = {
  name: 'envoy.filters.network.tcp_proxy',
  typed_config: {
    '@type': `${API}.filters.network.tcp_proxy.v3.TcpProxy`,
    stat_prefix: 'bench',
    cluster: 'backend'
  }
}

function tlsOf({ wire, certificate }: Setup): object {
  const files = { certificate_chain: { filename: certificate.chain }, private_key: { filename: certificate.key } }
  return {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      '@type': `${API}.transport_sockets.tls.v3.DownstreamTlsContext`,
      common_tls_context: { tls_certificates: [files], alpn_protocols: [wire === 'h2' ? 'h2' : 'http/1.1'] }
    }
  }
}

function address(port: number): object {
  return { socket_address: { address: '127.0.0.1', port_value: port } }
}
