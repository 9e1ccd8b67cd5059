import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackendContext } from '#engine/contract/backend.ts'
import { NO_BODIES } from '#engine/contract/body-processor.ts'
import { NO_CHILDREN } from '#engine/contract/children.ts'
import { SPOKEN_DEFAULT } from '#engine/contract/endpoint.ts'
import { NO_CALLS } from '#engine/contract/in-process.ts'
import { NO_PRICES } from '#engine/contract/prices.ts'
import { NO_REVOCATIONS } from '#engine/contract/revocations.ts'
import { NO_REMOTE_SERVICES } from '#engine/contract/service.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { fakeUpstream } from '#engine/testing/upstream.ts'
import { staticBackend } from './static.ts'

const hostname = { kind: 'static', host: 'b.example', port: 8080, unixPath: null, policies: {} }
const address = { ...hostname, host: '192.0.2.7' }
const unix = { ...hostname, host: '', port: 0, unixPath: '/run/b.sock' }

function serve(
  backend: typeof hostname | typeof unix,
  hostRewrite: BackendContext['hostRewrite'],
  upstreamHost: string | null = null
) {
  const upstream = fakeUpstream()
  const fail = () => assert.fail('a static backend always has somewhere to send')
  const context = {
    name: 'b',
    hostRewrite,
    connectTimeoutMs: 7,
    upstream,
    fail,
    reply: fail,
    inProcess: NO_CALLS,
    bodies: NO_BODIES,
    services: NO_REMOTE_SERVICES,
    children: NO_CHILDREN,
    addBackground() {},
    secret: new Uint8Array(32),
    worker: { index: 0, count: 1 },
    revocations: NO_REVOCATIONS,
    owners: null,
    prices: NO_PRICES,
    state: newStateStore(),
    offload: NO_SERVICES.offload,
    maxBufferBytes: 0,
    log() {}
  }
  const ex = fakeExchange()
  ex.upstreamHost = upstreamHost
  staticBackend.compile(backend as never, context).serve(ex)
  assert.equal(upstream.sent.length, 1)
  assert.equal(ex.backend, 'b')
  return { ex, upstream }
}

test('the configured destination is dialled, unguarded, with the configured patience', () => {
  const { upstream } = serve(hostname, 'default')
  assert.deepEqual(upstream.endpoints, [
    {
      destination: { host: 'b.example', port: 8080, unixPath: null },
      options: { guarded: false, allow: [], connectTimeoutMs: 7, tls: null, http: SPOKEN_DEFAULT }
    }
  ])
  assert.deepEqual(upstream.sent, ['b.example:8080'])
})

test('host rewriting: auto for names by default, none for addresses and sockets', () => {
  assert.equal(serve(hostname, 'default').ex.upstreamHost, 'b.example:8080')
  assert.equal(serve(address, 'default').ex.upstreamHost, null)
  assert.equal(serve(unix, 'default').ex.upstreamHost, null)
  assert.equal(serve(hostname, 'none').ex.upstreamHost, null)
  assert.equal(serve(address, 'auto').ex.upstreamHost, '192.0.2.7:8080')
  assert.equal(serve(unix, 'auto').ex.upstreamHost, null)
})

test('a host that a policy has set wins', () => {
  for (const mode of ['auto', 'none', 'default'] as const) {
    assert.equal(serve(hostname, mode, 'set.example').ex.upstreamHost, 'set.example')
  }
})

test('is out of reach while its endpoint is', () => {
  const upstream = fakeUpstream()
  let usable = true
  const endpoint = upstream.endpoint.bind(upstream)
  upstream.endpoint = (destination, options) => ({
    ...endpoint(destination, options),
    get usable() {
      return usable
    }
  })
  const fail = () => assert.fail('nothing is sent')
  const context = {
    name: 'b',
    hostRewrite: 'none',
    connectTimeoutMs: 7,
    upstream,
    fail,
    reply: fail,
    inProcess: NO_CALLS,
    bodies: NO_BODIES,
    services: NO_REMOTE_SERVICES,
    children: NO_CHILDREN,
    addBackground() {},
    secret: new Uint8Array(32),
    worker: { index: 0, count: 1 },
    revocations: NO_REVOCATIONS,
    owners: null,
    prices: NO_PRICES,
    state: newStateStore(),
    offload: NO_SERVICES.offload,
    maxBufferBytes: 0,
    log() {}
  } as const
  const { isUsable } = staticBackend.compile(hostname as never, context)
  assert.equal(isUsable(), true)
  usable = false
  assert.equal(isUsable(), false)
})
