/** Destinations of connections that are passed on: which of their addresses are tried. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { TcpSession } from '#engine/contract/tcp.ts'
import type { Connected, SocketLayer } from '#engine/socket/socket-layer.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { DestinationState } from './destination.ts'
import { MeshTls } from './mesh.ts'
import { Resolver } from './resolver.ts'
import { TcpEndpoint } from './tcp.ts'

/** An endpoint with `count` addresses, of which the last one alone answers, and the addresses as they are dialled. */
async function endpointOf(count: number) {
  const addresses = Array.from({ length: count }, (_, i) => ({ ip: `10.0.0.${i + 1}`, family: 4 }) as const)
  const resolver = new Resolver('db.test', async () => ({ addresses, ttlMs: 60_000 }))
  await resolver.resolve()
  const dialled: string[] = []
  const connect: SocketLayer['connect'] = (address, done: Connected) => {
    const ip = 'ip' in address ? address.ip : ''
    dialled.push(ip)
    if (ip === addresses.at(-1)!.ip) done(null, {} as Wire)
    else done('ECONNREFUSED', null)
    return () => {}
  }
  const to = { host: 'db.test', port: 5432, unixPath: null }
  const options = { guarded: false, allow: [], connectTimeoutMs: 1_000, tls: null }
  const observer = { connected() {}, connectFailed() {} }
  const shared = { sockets: { connect } as SocketLayer, mesh: new MeshTls(), timers: new TimerWheel(), observer }
  return { endpoint: new TcpEndpoint(new DestinationState(to, options, { resolver }), shared), dialled }
}

test('a backend has all its attempts, however many the one before it has used', async () => {
  const { endpoint, dialled } = await endpointOf(2)
  const session = { attempts: 4, localPort: 1, release: null } as unknown as TcpSession
  const ends: (string | null)[] = []
  endpoint.connect(session, '', (reason) => ends.push(reason))
  deepEqual([dialled, ends], [['10.0.0.1', '10.0.0.2'], [null]])
  equal(session.attempts, 6)
})

test('four addresses of a backend are tried and no more', async () => {
  const { endpoint, dialled } = await endpointOf(6)
  const ends: (string | null)[] = []
  endpoint.connect({ attempts: 0, localPort: 1 } as TcpSession, '', (reason) => ends.push(reason))
  deepEqual([dialled.length, ends], [4, ['CONNECT_FAILURE']])
})
