/** Snapshots for tests: everything that a test does not name has a plain default. */
import { CLEAR_TEXT, PROTOCOL_DEFAULTS } from '#engine/ir/plain.ts'
import type { Bind, Listener, RouteSpec, Snapshot, WeightedBackend } from '#engine/ir/snapshot.ts'

export function snapshotOf(binds: readonly Bind[], backends: Snapshot['backends'] = {}): Snapshot {
  return {
    version: 1,
    hash: '000000000000',
    acceptedAt: '2025-01-01T00:00:00.000Z',
    gateway: { policies: {}, preRouting: {}, frontend: {} },
    binds,
    backends,
    frontend: {
      http: {
        maxBufferBytes: 2 << 20,
        headersMax: 100,
        idleTimeoutMs: 600_000,
        headTimeoutMs: 10_000,
        bodyTimeoutMs: 30_000,
        sendTimeoutMs: 30_000,
        headBytesMax: 65_536,
        uriBytesMax: 8_192,
        bodyBytesMax: 0
      },
      tcp: { keepalive: { timeMs: 180_000 } },
      ...PROTOCOL_DEFAULTS
    },
    process: {
      adminAddr: 'off',
      statsAddr: 'off',
      readinessAddr: 'off',
      workerThreads: 1,
      bufferedBytesMax: 1_073_741_824,
      logging: { level: 'info', format: 'text' },
      terminationDeadlineMs: 60_000,
      terminationMinDeadlineMs: 0,
      upstream: { connectTimeoutMs: 10_000, poolIdleTimeoutMs: 90_000, poolMaxSize: 1024, requestsPerConnectionMax: 0 }
    }
  }
}

export function bindOf(listeners: readonly Partial<Listener>[], port = 80): Bind {
  const defaults = { hostname: '*', ...CLEAR_TEXT, policies: {}, preRouting: {}, routes: [] }
  return { port, transport: 'auto', listeners: listeners.map((l, i) => ({ name: `listener${i}`, ...defaults, ...l })) }
}

export function routeOf(route: Partial<RouteSpec>): RouteSpec {
  const matches = [{ path: { prefix: '/' }, headers: [], query: [] }]
  return { name: 'route', hostnames: [], matches, policies: {}, backends: [], ...route }
}

export function toBackend(backend: string, weight = 1, policies: WeightedBackend['policies'] = {}): WeightedBackend {
  return { backend, weight, policies }
}
