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
import { dynamicBackend } from './dynamic.ts'

function compiled(hostRewrite: BackendContext['hostRewrite'] = 'default') {
  const upstream = fakeUpstream()
  const failed: string[] = []
  const backend = { kind: 'dynamic', allowAddresses: ['10.0.0.0/8'], policies: {} }
  const { serve } = dynamicBackend.compile(backend as never, {
    name: 'proxy',
    hostRewrite,
    connectTimeoutMs: 7,
    upstream,
    fail: (_ex, code) => failed.push(code),
    reply() {},
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
  })
  const request = (authority: string, via: readonly string[] = []) => {
    const ex = fakeExchange({ authority, headers: via.map((value) => ['Via', value] as const) })
    serve(ex)
    return ex
  }
  return { upstream, failed, request }
}

test('the request names the destination; the address guard is on', () => {
  const { upstream, request } = compiled()
  request('a.example')
  request('a.example:8080')
  request('[2001:db8::1]:81')
  assert.deepEqual(
    upstream.endpoints.map(({ destination }) => destination),
    [
      { host: 'a.example', port: 80, unixPath: null },
      { host: 'a.example', port: 8080, unixPath: null },
      { host: '2001:db8::1', port: 81, unixPath: null }
    ]
  )
  for (const { options } of upstream.endpoints) {
    assert.deepEqual(options, {
      guarded: true,
      allow: ['10.0.0.0/8'],
      connectTimeoutMs: 7,
      tls: null,
      http: SPOKEN_DEFAULT
    })
  }
})

test('a destination is looked up once while it is in use, and memory is bounded', () => {
  const { upstream, request } = compiled()
  request('a.example')
  request('a.example')
  assert.equal(upstream.endpoints.length, 1)
  assert.equal(upstream.sent.length, 2)
  for (let i = 0; i < 1024; i++) request(`h${i}.example`)
  request('a.example')
  assert.equal(upstream.endpoints.length, 1026)
})

test('a request whose address names no host is refused and not sent', () => {
  const { upstream, failed, request } = compiled()
  for (const authority of ['', 'a b', 'user@a.example', 'a.example:0', 'a.example:99999', '[::1', 'a..b'])
    request(authority)
  assert.deepEqual([...new Set(failed)], ['BAD_HOST'])
  assert.equal(failed.length, 7)
  assert.equal(upstream.endpoints.length + upstream.sent.length, 0)
})

test('the client spelling of the host passes, unless something says otherwise', () => {
  assert.equal(compiled().request('a.example:80').upstreamHost, null)
  assert.equal(compiled('none').request('a.example:80').upstreamHost, null)
  assert.equal(compiled('auto').request('a.example:80').upstreamHost, 'a.example')
  assert.equal(compiled().request('a.example').backend, 'proxy')
})

test('a request that has been here before is not sent again', () => {
  const { upstream, failed, request } = compiled()
  const first = request('a.example', ['1.0 fred'])
  const own = first.request.getAll('via')!
  assert.match(own, /^1\.0 fred, 1\.1 weir-[0-9a-f]{16}$/)
  request('a.example', ['1.1 weir-0000000000000000'])
  assert.deepEqual([upstream.sent.length, failed], [2, []])
  request('a.example', [own])
  request('a.example', ['1.1 x', `${own}, 1.1 y`])
  assert.deepEqual([upstream.sent.length, failed], [2, ['LOOP_DETECTED', 'LOOP_DETECTED']])
})
