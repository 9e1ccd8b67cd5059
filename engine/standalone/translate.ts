/** A validated file -> the Snapshot: defaults filled in, names resolved, aliases made canonical. */
import { availableParallelism } from 'node:os'
import type { Policy } from '#engine/contract/policy.ts'
import type {
  Backend,
  Bind,
  FrontendSettings,
  Listener,
  PathMatch,
  PolicySet,
  ProcessSettings,
  RouteMatch,
  RouteSpec,
  Snapshot,
  ValueMatch,
  WeightedBackend
} from '#engine/ir/snapshot.ts'
import { parseUpstream } from '#engine/schema/leaves.ts'
import type { Env } from './document.ts'
import type { ConfigFile } from './file.ts'

/** A Snapshot before it is accepted. */
export type SnapshotDraft = Omit<Snapshot, 'version' | 'hash' | 'acceptedAt'>

type FileBind = ConfigFile['binds'][number]
type FileListener = FileBind['listeners'][number]
type FileRoute = NonNullable<FileListener['routes']>[number]
type FileMatch = NonNullable<FileRoute['matches']>[number]
type FileBackend = NonNullable<FileRoute['backends']>[number]
type Named = NonNullable<ConfigFile['backends']>[number]

export function translate(file: ConfigFile, policies: readonly Policy[], env: Env): SnapshotDraft {
  const backends: Record<string, Backend> = {}
  for (const backend of file.backends ?? []) backends[backend.name] = toBackend(backend, policies)
  const binds = file.binds.map((bind): Bind => {
    const listeners = bind.listeners.map((listener, i) => toListener(listener, i, bind.port, backends, policies))
    return { port: bind.port, transport: bind.transport ?? 'auto', listeners }
  })
  return { binds, backends, frontend: toFrontend(file), process: toProcess(file, env) }
}

function toListener(
  listener: FileListener,
  index: number,
  port: number,
  backends: Record<string, Backend>,
  policies: readonly Policy[]
): Listener {
  const name = listener.name ?? `listener${index}`
  return {
    name,
    hostname: listener.hostname ?? '*',
    protocol: 'HTTP',
    policies: canonical(listener.policies, policies),
    routes: (listener.routes ?? []).map((route, i) => toRoute(route, i, `${port}/${name}`, backends, policies))
  }
}

function toRoute(
  route: FileRoute,
  index: number,
  place: string,
  backends: Record<string, Backend>,
  policies: readonly Policy[]
): RouteSpec {
  const name = route.name ?? `route${index}`
  return {
    name,
    hostnames: route.hostnames ?? [],
    matches: (route.matches ?? [{}]).map(toMatch),
    policies: canonical(route.policies, policies),
    backends: (route.backends ?? []).map((backend, i): WeightedBackend => {
      const key = backend.backend ?? `${place}/${name}/${i}`
      if (backend.backend === undefined) backends[key] = toBackend(backend, policies)
      return { backend: key, weight: backend.weight ?? 1, policies: canonical(backend.policies, policies) }
    })
  }
}

function toMatch(match: FileMatch): RouteMatch {
  return {
    path: toPath(match.path),
    ...(match.method === undefined ? {} : { method: match.method }),
    headers: (match.headers ?? []).map(({ name, value }) => ({ name, value: toValue(value) })),
    query: (match.query ?? []).map(({ name, value }) => ({ name, value: toValue(value) }))
  }
}

function toPath(path: FileMatch['path']): PathMatch {
  if (path?.exact !== undefined) return { exact: path.exact }
  if (path?.regex !== undefined) return { regex: path.regex }
  return { prefix: path?.pathPrefix ?? '/' }
}

function toValue(value: { exact?: string | undefined; regex?: string | undefined }): ValueMatch {
  return value.regex === undefined ? { exact: value.exact ?? '' } : { regex: value.regex }
}

function toBackend(backend: Named | FileBackend, policies: readonly Policy[]): Backend {
  const set = canonical(backend.policies, policies)
  const { host, static: fixed, dynamic, dynamicForwardProxy } = backend
  if (fixed !== undefined)
    return { kind: 'static', host: fixed.host.toLowerCase(), port: fixed.port, unixPath: null, policies: set }
  const address = host === undefined ? null : parseUpstream(host)
  if (address !== null) return { kind: 'static', ...address, policies: set }
  const allowAddresses = (dynamic ?? dynamicForwardProxy)?.allowAddresses ?? []
  return { kind: 'dynamic', allowAddresses, policies: set }
}

/** Every alias under the name of its policy; aliases that wrap become one object. */
function canonical(given: Readonly<Record<string, unknown>> | undefined, policies: readonly Policy[]): PolicySet {
  const set: Record<string, unknown> = {}
  if (given === undefined) return set
  for (const policy of policies) {
    if (given[policy.name] !== undefined) set[policy.name] = given[policy.name]
    for (const { name, wrap } of policy.aliases) {
      const value = given[name]
      if (value === undefined) continue
      set[policy.name] = wrap === undefined ? value : { ...(set[policy.name] as object | undefined), [wrap]: value }
    }
  }
  return set
}

// --- settings ---

const SECOND = 1000
const MINUTE = 60 * SECOND

function toFrontend(file: ConfigFile): FrontendSettings {
  const { http, tcp } = file.frontendPolicies ?? {}
  const headBytesMax = http?.maxHeaderSize ?? 48 * 1024
  return {
    http: {
      maxBufferBytes: http?.maxBufferSize ?? 2 * 1024 * 1024,
      headersMax: http?.http1MaxHeaders ?? 100,
      idleTimeoutMs: http?.http1IdleTimeout ?? 10 * MINUTE,
      headTimeoutMs: http?.http1HeaderTimeout ?? 30 * SECOND,
      bodyTimeoutMs: http?.bodyTimeout ?? MINUTE,
      sendTimeoutMs: http?.sendTimeout ?? MINUTE,
      headBytesMax,
      uriBytesMax: http?.maxUriSize ?? Math.min(16 * 1024, headBytesMax),
      bodyBytesMax: http?.maxRequestBodySize ?? 0
    },
    tcp: { keepalive: { timeMs: (tcp?.keepalives ?? tcp?.keepalive)?.time ?? 3 * MINUTE } }
  }
}

/** `config`, with the environment variables that override its fields (the names users of the closest peer know). */
function toProcess(file: ConfigFile, env: Env): ProcessSettings {
  const config = file.config ?? {}
  const grace = Number(env.TERMINATION_GRACE_PERIOD_SECONDS)
  const derived = Number.isFinite(grace) && grace > 0 ? Math.max(grace - (grace <= 10 ? 1 : 5), 1) * SECOND : 5 * SECOND
  const { backend, logging } = config
  return {
    adminAddr: env.ADMIN_ADDR || (config.adminAddr ?? 'localhost:15000'),
    statsAddr: env.STATS_ADDR || (config.statsAddr ?? '[::]:15020'),
    readinessAddr: env.READINESS_ADDR || (config.readinessAddr ?? '[::]:15021'),
    workerThreads: threadCount(env.WORKER_THREADS || config.workerThreads),
    logging: { level: env.LOG_LEVEL || (logging?.level ?? 'info'), format: logging?.format ?? 'text' },
    terminationDeadlineMs: config.connectionTerminationDeadline ?? derived,
    terminationMinDeadlineMs: config.connectionMinTerminationDeadline ?? 0,
    upstream: {
      connectTimeoutMs: backend?.connectTimeout ?? 10 * SECOND,
      poolIdleTimeoutMs: backend?.poolIdleTimeout ?? 90 * SECOND,
      poolMaxSize: backend?.poolMaxSize ?? 1024,
      requestsPerConnectionMax: backend?.maxRequestsPerConnection ?? 0
    }
  }
}

function threadCount(wanted: string | number | undefined): number {
  const processors = availableParallelism()
  const text = String(wanted ?? processors)
  const count = text.endsWith('%') ? Math.round((processors * Number(text.slice(0, -1))) / 100) : Number(text)
  return Number.isFinite(count) ? Math.min(Math.max(Math.floor(count), 1), 256) : processors
}
