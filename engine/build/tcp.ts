/** Listeners of a Snapshot with TCP behind them -> what a worker asks for every connection to their ports. */
import type { AccessLogPlan } from '#engine/contract/access-log.ts'
import type { BackendKind, StreamDestination } from '#engine/contract/backend.ts'
import { endpointOptions } from '#engine/contract/backend-transport/transport.ts'
import type { Background } from '#engine/contract/background.ts'
import type { Problem } from '#engine/contract/config-error.ts'
import type { RecorderLabels } from '#engine/contract/route.ts'
import type {
  Dialled,
  StreamClient,
  StreamEndpoint,
  TcpListener,
  TcpPort,
  TcpReason,
  TcpRecorder,
  TcpRoute,
  TcpSession,
  TcpTable
} from '#engine/contract/tcp.ts'
import type { Listener, Snapshot, TcpRouteSpec, WeightedBackend } from '#engine/ir/snapshot.ts'
import { HostTable } from '#engine/routing/hosts.ts'
import { writeProxyHeader } from '#engine/socket/proxy-header.ts'
import { type Rotation, rotationOf } from './weighted.ts'

export interface TcpDeps {
  readonly backends: readonly BackendKind[]
  readonly upstream: StreamClient
  readonly tcpRecorderFor: (labels: RecorderLabels, log: AccessLogPlan | null) => TcpRecorder
}

/** Backends that one connection is tried on. */
const BACKENDS_MAX = 3
/**
 * Failures before a byte was sent, which another backend may not have. A Service without endpoints is none of them: its
 * share of the connections is refused (Gateway API, TCPRouteRule.backendRefs).
 */
const ELSEWHERE: ReadonlySet<TcpReason> = new Set([
  ...(['CONNECT_FAILURE', 'CONNECT_TIMEOUT', 'DNS_FAILURE'] as const),
  'NO_MESH_CERTIFICATE'
])

/** Problems are appended to `problems`; then the result may not be used. */
export function buildTcp(snapshot: Snapshot, deps: TcpDeps, log: AccessLogPlan | null, problems: Problem[]): TcpTable {
  const ports = new Map<number, TcpPort>()
  const recorders = new Map<number, TcpRecorder>()
  const background = new Set<Background>()
  const unknown = deps.tcpRecorderFor({ route: '', listener: '', port: 0 }, log)
  snapshot.binds.forEach((bind, b) => {
    recorders.set(bind.port, deps.tcpRecorderFor({ route: '', listener: '', port: bind.port }, log))
    const own = bind.listeners.filter(({ protocol }) => protocol === 'TCP' || protocol === 'TLS')
    if (own.length === 0) return
    const path = `binds[${b}]`
    if (own.some(({ protocol }) => protocol === 'TCP') && bind.listeners.length > 1) {
      const message = 'a listener of protocol TCP takes every connection of its port: it must be the only one'
      problems.push({ path: `${path}.listeners`, message })
    }
    const table = new HostTable<TcpListener>()
    bind.listeners.forEach((listener, l) => {
      if (!own.includes(listener)) return
      const build = {
        snapshot,
        deps,
        log,
        problems,
        background,
        port: bind.port,
        path: `${path}.listeners[${l}]`,
        endsTls: listener.tls !== null
      }
      table.set(listener.hostname, buildListener(listener, build))
    })
    ports.set(bind.port, { find: (name) => table.find(name) })
  })
  return {
    find: (port) => ports.get(port) ?? null,
    recorder: (port) => recorders.get(port) ?? unknown,
    background: [...background]
  }
}

interface TcpBuild {
  readonly snapshot: Snapshot
  readonly deps: TcpDeps
  readonly log: AccessLogPlan | null
  readonly problems: Problem[]
  /** Of the endpoints that have been found. */
  readonly background: Set<Background>
  readonly port: number
  readonly path: string
  /** TLS of the listener ends here. */
  readonly endsTls: boolean
}

function buildListener(listener: Listener, build: TcpBuild): TcpListener {
  const { deps, log, problems, port, path } = build
  const table = new HostTable<TcpRoute>()
  listener.tcpRoutes.forEach((spec, r) => {
    const at = `${path}.tcpRoutes[${r}]`
    const route = new Route(spec, listener.name, { ...build, path: at })
    if (listener.protocol === 'TCP' && spec.hostnames.length > 0)
      problems.push({ path: `${at}.hostnames`, message: 'connections of plain TCP name no host: only TLS does' })
    for (const hostname of spec.hostnames.length === 0 ? ['*'] : spec.hostnames) {
      if (table.get(hostname) !== undefined)
        problems.push({ path: at, message: `the listener already has a route for ${describeHostname(hostname)}` })
      table.set(hostname, route)
    }
  })
  const recorder = deps.tcpRecorderFor({ route: '', listener: listener.name, port }, log)
  return { name: listener.name, recorder, route: (name) => table.find(name) ?? null }
}

function describeHostname(hostname: string): string {
  return hostname === '*' ? 'every connection' : `"${hostname}"`
}

/** One backend of a route. */
interface Choice {
  readonly weight: number
  readonly backend: string
  readonly proxy: 'v1' | 'v2' | null
  /** TLS towards the server; a PROXY header goes before it. */
  readonly beginsTls: boolean
  /** Where a connection goes, or why nowhere. */
  endpoint(session: TcpSession): StreamEndpoint | TcpReason
  usable(): boolean
}

class Route implements TcpRoute {
  readonly name: string
  readonly recorder: TcpRecorder
  readonly #next: Rotation<Choice>
  readonly #choices: readonly Choice[]

  constructor(spec: TcpRouteSpec, listener: string, build: TcpBuild) {
    this.name = spec.name
    this.recorder = build.deps.tcpRecorderFor({ route: spec.name, listener, port: build.port }, build.log)
    this.#choices = spec.backends
      .map((reference, i) => compile(reference, { ...build, path: `${build.path}.backends[${i}]` }))
      .filter(({ weight }) => weight > 0)
    this.#next = rotationOf(this.#choices)
  }

  dial(session: TcpSession, done: Dialled): () => void {
    const tried: Choice[] = []
    let giveUp: () => void = () => {}
    const next = (last: TcpReason): void => {
      const fresh = tried.length === 0 ? null : this.#next((choice) => !tried.includes(choice))
      const choice = tried.length === 0 ? (this.#next((one) => one.usable()) ?? this.#next(always)) : fresh
      if (choice === null || tried.length >= BACKENDS_MAX) {
        done(last, null)
        return
      }
      tried.push(choice)
      session.backend = choice.backend
      const endpoint = choice.endpoint(session)
      if (typeof endpoint === 'string') {
        done(endpoint, null)
        return
      }
      const header = choice.proxy === null ? '' : writeProxyHeader(choice.proxy, session)
      giveUp = endpoint.connect(session, choice.beginsTls ? header : '', (reason, wire) => {
        if (reason !== null && ELSEWHERE.has(reason)) next(reason)
        else {
          if (wire !== null && header !== '' && !choice.beginsTls) wire.write(header)
          done(reason, wire)
        }
      })
    }
    next('NO_BACKEND')
    return () => giveUp()
  }
}

const always = (): boolean => true

function compile(reference: WeightedBackend, build: TcpBuild): Choice {
  const { backend: name, weight } = reference
  const { backends } = build.snapshot
  const backend = Object.hasOwn(backends, name) ? backends[name] : undefined
  const tcp = reference.policies.tcp as { readonly proxyProtocol?: 'v1' | 'v2' } | undefined
  const kind = backend === undefined ? undefined : build.deps.backends.find((one) => one.kind === backend.kind)
  const target = kind?.stream?.(backend as never, build.endsTls)
  const transport = typeof target === 'object' ? target.transport : undefined
  const proxy = tcp?.proxyProtocol ?? transport?.tcp?.proxyProtocol ?? null
  // Where TLS does not end here, the client is the one to begin it.
  const beginsTls = build.endsTls && (transport?.tls ?? null) !== null
  const of = { weight, backend: name, proxy, beginsTls }
  const find = backend === undefined ? 'there is no such backend' : endpointOf(target, build)
  if (typeof find === 'string') {
    build.problems.push({ path: `${build.path}.backend`, message: `${find}: "${name}"` })
    return { ...of, endpoint: () => 'NO_BACKEND', usable: () => false }
  }
  return { ...of, ...find }
}

/** Or what is wrong with the backend. */
function endpointOf(
  target: StreamDestination | TcpReason | undefined,
  { snapshot, deps, endsTls, background }: TcpBuild
): Pick<Choice, 'endpoint' | 'usable'> | string {
  if (target === undefined) return 'bytes of TCP cannot go to a backend of models or of MCP servers'
  if (typeof target === 'string') return { endpoint: () => target, usable: always }
  const { to, guarded, allow, transport } = target
  const { connectTimeoutMs } = snapshot.process.upstream
  const host = to !== null && 'host' in to ? to.host : ''
  const { resilience: _, ...all } = endpointOptions({ host, hasTls: false }, transport, {
    guarded,
    allow,
    connectTimeoutMs
  })
  const options = endsTls ? all : { ...all, tls: null }
  if (to !== null) {
    const endpoint = deps.upstream.stream(to, options)
    if (endpoint.background !== undefined) background.add(endpoint.background)
    return { endpoint: () => endpoint, usable: () => endpoint.usable }
  }
  return {
    endpoint: ({ serverName, localPort }) =>
      serverName === ''
        ? 'NO_SERVER_NAME'
        : deps.upstream.stream({ host: serverName, port: localPort, unixPath: null }, options),
    usable: always
  }
}
