import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const envoy: Peer = {
  name: 'envoy',
  wires: new Set(['https', 'h2c', 'h2', 'grpc', 'tcp']),
  checks: true,
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
  const { port, wire, upstreamPort, checkPort } = setup
  const transport = wire === 'https' || wire === 'h2' ? { transport_socket: tlsOf(setup) } : {}
  const filter = wire === 'tcp' ? TCP : http(setup)
  const chain = { filters: [filter], ...transport }
  const listener = { name: 'bench', address: address(port), filter_chains: [chain] }
  const backend = clusterOf('backend', upstreamPort, wire === 'grpc', setup)
  const clusters = [backend, ...(checkPort === null ? [] : [clusterOf('check', checkPort, true, setup)])]
  return { static_resources: { listeners: [listener], clusters } }
}

/** As many requests at a time as there are clients. */
function clusterOf(name: string, port: number, isHttp2: boolean, { connections, streams }: Setup): object {
  const most = connections * streams
  const limits = { thresholds: [{ max_connections: most, max_requests: most, max_pending_requests: most }] }
  const endpoint = { endpoint: { address: address(port) } }
  const http2 = {
    '@type': `${API}.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: { http2_protocol_options: {} }
  }
  return {
    name,
    type: 'STATIC',
    connect_timeout: '5s',
    circuit_breakers: limits,
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [endpoint] }] },
    ...(isHttp2
      ? { typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': http2 } }
      : {})
  }
}

/** Configured for one version of HTTP, as the others are. */
function http({ wire, checkPort }: Setup): object {
  const route = { match: { prefix: '/' }, route: { cluster: 'backend', timeout: '0s' } }
  const manager = {
    '@type': `${API}.filters.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'bench',
    codec_type: wire === 'http' || wire === 'https' ? 'HTTP1' : 'HTTP2',
    route_config: { virtual_hosts: [{ name: 'all', domains: ['*'], routes: [route] }] },
    http_filters: [
      ...(checkPort === null ? [] : [CHECK]),
      { name: 'envoy.filters.http.router', typed_config: { '@type': `${API}.filters.http.router.v3.Router` } }
    ]
  }
  return { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
}

const CHECK = {
  name: 'envoy.filters.http.ext_authz',
  typed_config: {
    '@type': `${API}.filters.http.ext_authz.v3.ExtAuthz`,
    transport_api_version: 'V3',
    grpc_service: { envoy_grpc: { cluster_name: 'check' }, timeout: '2s' }
  }
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
