/** The serving stack of one worker, in the calling thread, in front of one endpoint: for tests of the core. */
import { type Endpoint, type EndpointOptions, SPOKEN_DEFAULT, type SpokenHttp } from '#engine/contract/endpoint.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Hook, RetryPlan, RouteSettings } from '#engine/contract/filter.ts'
import type { Route, RouteRetry } from '#engine/contract/route.ts'
import type { DownstreamObserver, OpenBind } from '#engine/downstream/bind.ts'
import { ConnectionLimiter } from '#engine/downstream/connection-limiter.ts'
import { openBind } from '#engine/downstream/listen.ts'
import type { HandshakeReport } from '#engine/downstream/tls/handshake.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import { REQUEST_DEFAULTS } from '#engine/http/request-rules.ts'
import { PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import type { Bind, FrontendSettings } from '#engine/ir/snapshot.ts'
import { RetryBudget } from '#engine/kit/retry-budget.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import type { RetryObserver } from '#engine/lifecycle/retries.ts'
import { receiveRequest } from '#engine/routing/receive.ts'
import { openSockets } from '#engine/socket/open-sockets.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { TlsSettings } from '#engine/socket/tls.ts'
import { createUpstream, type Upstream } from '#engine/upstream/client.ts'
import type { HostLists } from '#engine/upstream/host-lists.ts'
import { MeshTls } from '#engine/upstream/mesh.ts'

export interface StackOptions {
  /** Port of the only endpoint on 127.0.0.1, or the path of a unix socket. */
  upstream: number | string
  sockets?: SocketLayer['kind']
  transport?: Bind['transport']
  /** Port to listen on; 0, the default, for any. */
  port?: number
  /** Those of TLS make it a port of TLS. */
  listeners?: Bind['listeners']
  http?: Partial<FrontendSettings['http']>
  tcp?: FrontendSettings['tcp']
  frontend?: Partial<Pick<FrontendSettings, 'tls' | 'http2' | 'proxyProtocol'>>
  settings?: Partial<RouteSettings>
  requestHooks?: readonly Hook[]
  responseHooks?: readonly Hook[]
  /** Hooks of the phase PreRouting; the response hooks of the route come without them. */
  preRouting?: { request: readonly Hook[]; response?: readonly Hook[] }
  connectTimeoutMs?: number
  tls?: TlsSettings
  /** Of the header that connections to the endpoint begin with. */
  proxyProtocol?: 'v1' | 'v2'
  /** How the endpoint is spoken to. */
  spoken?: Partial<SpokenHttp>
  idleTimeoutMs?: number
  poolMax?: number
  requestsPerConnectionMax?: number
  /** Hosts that are known without DNS; default: none. */
  lists?: HostLists
  /** Certificates for workloads of a mesh; default: there are none. */
  mesh?: MeshTls
  /** Client connections; default: no bound. */
  clientsMax?: number
  /** The route's plan for retries. */
  retry?: RetryPlan
  /** Timers on a clock of the test's own. */
  timers?: TimerWheel
  random?: () => number
  retries?: RetryObserver
  /** Of the route. */
  keepsRequest?: boolean
  /** Instead of the endpoint. */
  serve?: (ex: Exchange) => void
  /** Instead of the one route: an error, or null for the route. */
  refuse?: (ex: Exchange) => ErrorCode | null
}

/** What RECORD saw of an exchange. */
export interface Recorded {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly error: ErrorCode | null
  readonly attempts: number
  readonly bytesReceived: number
  readonly bytesSent: number
  /** Both ends of the client's connection: ip:port, and ip ('' where the transport cannot tell). */
  readonly source: string
  readonly destination: string
}

export interface Stack {
  readonly port: number
  readonly bind: OpenBind
  readonly lifecycle: Lifecycle
  readonly upstream: Upstream
  readonly records: Recorded[]
  readonly endpoint: Endpoint
  /** Resolves once `count` exchanges have been recorded. */
  recorded(count: number): Promise<Recorded[]>
  /** Ends an exchange with the gateway's own reply. */
  fail(ex: Exchange, code: ErrorCode): void
  /** Downstream connections opened and closed so far. */
  readonly connections: { opened: number; closed: number }
  readonly handshakes: HandshakeReport[]
  /** Which of them had to go because there were too many. */
  readonly evicted: readonly string[]
  close(): void
}

/** Limits of the specification's defaults; tests override what they need. */
export const FRONTEND: FrontendSettings = {
  http: {
    maxBufferBytes: 2 * 1024 * 1024,
    headersMax: 100,
    idleTimeoutMs: 600_000,
    headTimeoutMs: 30_000,
    bodyTimeoutMs: 60_000,
    sendTimeoutMs: 60_000,
    headBytesMax: 48 * 1024,
    uriBytesMax: 16 * 1024,
    bodyBytesMax: 0
  },
  tcp: { keepalive: { timeMs: 180_000 } },
  ...PROTOCOL_DEFAULTS
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const parser = llhttp()
  const sockets = openSockets(parser.memory, options.sockets)
  const timers = options.timers ?? new TimerWheel()
  const log = new RecordLog()
  let route: Route
  const lifecycle = new Lifecycle({
    router: () => ({ route: (ex) => receiveRequest(ex, REQUEST_DEFAULTS) ?? takeRoute(ex, route, options) }),
    unrouted: log,
    timers,
    ...(options.random === undefined ? {} : { random: options.random }),
    ...(options.retries === undefined ? {} : { retries: options.retries }),
    onBroken: (error) => {
      throw error
    }
  })
  const upstream = createUpstream({
    sockets,
    mesh: options.mesh ?? new MeshTls(),
    llhttp: parser,
    timers,
    events: lifecycle,
    idleTimeoutMs: options.idleTimeoutMs ?? 90_000,
    poolMax: options.poolMax ?? 1024,
    requestsPerConnectionMax: options.requestsPerConnectionMax ?? 0,
    observer: { connected() {}, connectFailed() {}, retried() {} },
    lists: options.lists ?? null,
    rows: new SharedRows(SharedRows.create(), () => performance.now()),
    worker: { index: 0, count: 1 }
  })
  const endpoint = upstream.endpoint(destinationOf(options.upstream), endpointOptions(options))
  route = routeTo(endpoint, upstream, log, options)
  const connections = { opened: 0, closed: 0 }
  const handshakes: HandshakeReport[] = []
  const evicted: string[] = []
  const observer: DownstreamObserver = {
    opened: () => connections.opened++,
    closed: () => connections.closed++,
    handshake: (report) => handshakes.push(report)
  }
  const tcp = options.tcp ?? FRONTEND.tcp
  const http = { ...FRONTEND.http, ...options.http }
  const frontend: FrontendSettings = { ...FRONTEND, ...options.frontend, http, tcp }
  const { port = 0, listeners = [], transport = 'auto' } = options
  const spec: Bind = { port, listeners, transport }
  const limiter = new ConnectionLimiter(options.clientsMax ?? Number.POSITIVE_INFINITY, (what) => evicted.push(what))
  const shared = { observer, limiter, secret: new Uint8Array(32) }
  const bind = await openBind(spec, { events: lifecycle, llhttp: parser, sockets, timers, frontend, ...shared })
  return {
    port: bind.port,
    bind,
    lifecycle,
    upstream,
    endpoint,
    records: log.records,
    connections,
    handshakes,
    evicted,
    recorded: (count) => log.until(count),
    fail: (ex, code) => lifecycle.fail(ex, code),
    close() {
      bind.stopAccepting()
      bind.closeAll()
      upstream.closeIdle()
    }
  }
}

function takeRoute(ex: Exchange, route: Route, options: StackOptions): ErrorCode | null {
  const { preRouting } = options
  if (preRouting !== undefined && ex.listener === null) {
    ex.listener = {
      name: 'test',
      port: 0,
      requestHooks: preRouting.request,
      responseHooks: preRouting.response ?? null,
      recorder: route.recorder,
      route: () => takeRoute(ex, route, options)
    }
    return null
  }
  const code = options.refuse?.(ex) ?? null
  if (code === null) {
    ex.route = route
    ex.matchIndex = 0
  }
  return code
}

function routeTo(endpoint: Endpoint, upstream: Upstream, log: RecordLog, options: StackOptions): Route {
  return {
    name: 'test',
    rule: '',
    listener: 'test',
    port: 0,
    matches: [{ kind: 'prefix', path: '' }],
    requestHooks: options.requestHooks ?? null,
    responseHooks: options.responseHooks ?? null,
    settings: { requestTimeoutMs: 0, backendTimeoutMs: 0, hostRewrite: 'none', ...options.settings },
    retry: options.retry === undefined ? null : routeRetry(options.retry, options),
    mirrors: null,
    isTimed: false,
    keepsRequest: options.keepsRequest ?? false,
    serve: options.serve ?? ((ex) => upstream.send(ex, endpoint)),
    recorder: log
  }
}

function routeRetry(plan: RetryPlan, options: StackOptions): RouteRetry {
  const { maxBufferBytes } = { ...FRONTEND.http, ...options.http }
  return { plan, budget: new RetryBudget(plan.budget), bodyBytesMax: maxBufferBytes }
}

function endpointOptions(options: StackOptions): EndpointOptions {
  const { connectTimeoutMs = 5_000, spoken, proxyProtocol } = options
  const http = spoken === undefined ? {} : { http: { ...SPOKEN_DEFAULT, ...spoken } }
  const header = proxyProtocol === undefined ? {} : { proxyProtocol }
  return { guarded: false, allow: [], connectTimeoutMs, tls: options.tls ?? null, ...http, ...header }
}

function destinationOf(upstream: number | string) {
  return typeof upstream === 'number'
    ? { host: '127.0.0.1', port: upstream, unixPath: null }
    : { host: '', port: 0, unixPath: upstream }
}

class RecordLog {
  readonly records: Recorded[] = []
  #waiting: { count: number; resolve: (records: Recorded[]) => void }[] = []

  record(ex: Exchange): void {
    const { method, originalPath: path, status, error, attempts, bytesReceived, bytesSent, client } = ex
    const source = `${client.remoteAddress}:${client.remotePort}`
    const destination = client.localAddress ?? ''
    this.records.push({ method, path, status, error, attempts, bytesReceived, bytesSent, source, destination })
    for (const waiter of this.#waiting) if (waiter.count <= this.records.length) waiter.resolve(this.records)
    this.#waiting = this.#waiting.filter((waiter) => waiter.count > this.records.length)
  }

  until(count: number): Promise<Recorded[]> {
    if (this.records.length >= count) return Promise.resolve(this.records)
    return new Promise((resolve) => this.#waiting.push({ count, resolve }))
  }
}
