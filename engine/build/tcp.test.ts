/** TCP routes: what their backends say of connections holds, and what cannot hold is a mistake. */

import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { Problem } from '#engine/contract/config-error.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { llhttp } from '#engine/http/llhttp.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import type { DialOptions } from '#engine/socket/socket-layer.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { createUpstream } from '#engine/upstream/client.ts'
import { HostLists } from '#engine/upstream/host-lists.ts'
import { MeshTls } from '#engine/upstream/mesh.ts'
import { buildTcp } from './tcp.ts'

const TCP = { connectTimeoutMs: 1_000, keepaliveMs: 5_000, proxyProtocol: null }
const TLS = { hostname: null, ca: null }

function snapshotOf(protocol: 'TCP' | 'TLS', tls: object | null, transport: object): Snapshot {
  const spec = { name: 'r', hostnames: [], backends: [{ backend: 'db', weight: 1, policies: {} }] }
  const listener = { name: 'l', hostname: '*', protocol, tls, routes: [], tcpRoutes: [spec] }
  const db = { kind: 'static', host: '127.0.0.1', port: 1, unixPath: null, transport, policies: {} }
  return {
    binds: [{ port: 5, listeners: [listener] }],
    backends: { db },
    process: { upstream: { connectTimeoutMs: 9 } }
  } as unknown as Snapshot
}

function build(snapshot: Snapshot, lists: HostLists | null = null) {
  const dialled: [tls: unknown, keepaliveMs: number | undefined][] = []
  const connect = (_address: unknown, _done: unknown, tls: unknown, dial?: DialOptions) => {
    dialled.push([tls, dial?.keepaliveMs])
    return () => {}
  }
  const upstream = createUpstream({
    sockets: { connect } as never,
    mesh: new MeshTls(),
    llhttp: llhttp(),
    timers: new TimerWheel(),
    events: {} as ServerEvents,
    idleTimeoutMs: 1,
    poolMax: 1,
    requestsPerConnectionMax: 0,
    observer: { connected() {}, connectFailed() {}, retried() {} },
    lists,
    rows: new SharedRows(SharedRows.create(), () => performance.now()),
    worker: { index: 0, count: 1 }
  })
  const streamOptions: unknown[] = []
  const stream: typeof upstream.stream = (destination, options) => {
    streamOptions.push(options)
    return upstream.stream(destination, options)
  }
  const problems: Problem[] = []
  const deps = { upstream: { ...upstream, stream }, backends, tcpRecorderFor: () => ({ record() {} }) }
  const table = buildTcp(snapshot, deps as never, null, problems)
  return { table, streamOptions, dialled, problems }
}

test('connectTimeout and keepalives of a backend hold for TCP routes to it', () => {
  const { table, streamOptions, dialled, problems } = build(snapshotOf('TCP', null, { tls: null, tcp: TCP }))
  deepEqual(streamOptions, [{ guarded: false, allow: [], connectTimeoutMs: 1_000, keepaliveMs: 5_000, tls: null }])
  const giveUp = table
    .find(5)!
    .find('')!
    .route('')!
    .dial({ attempts: 0, localPort: 5 } as never, () => {})
  deepEqual(dialled, [[null, 5_000]])
  giveUp()
  equal(problems.length, 0)
  equal(table.background.length, 1)
  deepEqual(build(snapshotOf('TCP', null, { tls: null, tcp: null })).streamOptions, [
    { guarded: false, allow: [], connectTimeoutMs: 9, tls: null }
  ])
})

test('TLS of ours begins where that of the client ends, and nowhere else', () => {
  const transport = { tls: { ...TLS, hostname: 'db.test' }, tcp: TCP }
  const options = { guarded: false, allow: [], connectTimeoutMs: 1_000, keepaliveMs: 5_000 }
  const ends = build(snapshotOf('TLS', {}, transport))
  deepEqual(ends.streamOptions, [{ ...options, tls: { serverName: 'db.test', ca: null } }])
  // What is passed on may be TLS already.
  deepEqual(build(snapshotOf('TLS', null, transport)).streamOptions, [{ ...options, tls: null }])
  deepEqual(build(snapshotOf('TCP', null, transport)).streamOptions, [{ ...options, tls: null }])
})

test('what could not be secured is refused where TLS ends, and goes on where it is passed on unread', () => {
  const reasons: unknown[] = []
  const dialled = [{}, null].map((tls) => {
    const snapshot = snapshotOf('TLS', tls, {})
    const unread = { host: '127.0.0.1', port: 1 }
    const db = { kind: 'invalid', reference: 'BackendTLSPolicy demo/db', reason: 'Invalid', unread, policies: {} }
    Object.assign(snapshot.backends, { db })
    const { table, dialled } = build(snapshot)
    const route = table.find(5)!.find('')!.route('')!
    route.dial({ attempts: 0, localPort: 5 } as never, (reason) => reasons.push(reason))
    return dialled.length
  })
  deepEqual([reasons, dialled], [['INVALID_BACKEND'], [0, 1]])
})

test('a reference that cannot be followed is refused for its share of the connections, and nothing else is tried', () => {
  const snapshot = snapshotOf('TCP', null, { tls: null, tcp: null })
  const invalid = {
    kind: 'invalid',
    reference: 'Service demo/db',
    reason: 'BackendNotFound',
    unread: null,
    policies: {}
  }
  const [listener] = snapshot.binds[0]!.listeners as unknown as [{ tcpRoutes: { backends: unknown[] }[] }]
  listener.tcpRoutes[0]!.backends.push({ backend: 'gone', weight: 1, policies: {} })
  Object.assign(snapshot.backends, { gone: invalid })
  const { table, dialled, problems } = build(snapshot)
  const route = table.find(5)!.find('')!.route('')!
  const reasons: unknown[] = []
  for (let i = 0; i < 4; i++) route.dial({ attempts: 0, localPort: 5 } as never, (reason) => reasons.push(reason))
  deepEqual(reasons, ['INVALID_BACKEND', 'INVALID_BACKEND'])
  equal(dialled.length, 2)
  equal(problems.length, 0)
})

test('a Service without endpoints refuses its share of the connections, and nothing else is tried', () => {
  const snapshot = snapshotOf('TCP', null, { tls: null, tcp: null })
  const [listener] = snapshot.binds[0]!.listeners as unknown as [{ tcpRoutes: { backends: unknown[] }[] }]
  listener.tcpRoutes[0]!.backends.push({ backend: 'shop', weight: 3, policies: {} })
  const shop = { ...snapshot.backends.db, host: 'shop.demo.svc.cluster.invalid' }
  Object.assign(snapshot.backends, { shop })
  const lists = new HostLists()
  lists.change({ 'shop.demo.svc.cluster.invalid:1': [] })
  const { table, dialled } = build(snapshot, lists)
  const route = table.find(5)!.find('')!.route('')!
  const reasons: unknown[] = []
  for (let i = 0; i < 8; i++) route.dial({ attempts: 0, localPort: 5 } as never, (reason) => reasons.push(reason))
  deepEqual(reasons, Array(6).fill('NO_ENDPOINT'))
  equal(dialled.length, 2)
})
