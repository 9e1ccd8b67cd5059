import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { GatewayOutput } from '#engine/kubernetes/translation/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import { servedTogether } from './together.ts'

/** A Gateway with what a file says. */
function gateway(name: string, config: object): GatewayOutput {
  const loaded = loadConfig(JSON.stringify(config), { file: name, env: {}, policies, backends })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors))
  return {
    gateway: { apiVersion: 'v1', kind: 'Gateway', metadata: { name, namespace: 'demo' } },
    draft: loaded.snapshot,
    places: () => [
      ['binds[0].listeners[0]', `Gateway demo/${name}: spec.listeners[0]`],
      ['backends.shop', `Service demo/${name}`]
    ],
    services: new Set([`demo/${name}`]),
    warnings: []
  }
}

const ADDS_UP = new Set(['authorization'])
const bind = (port: number, more: object = {}) => ({
  port,
  listeners: [{ name: 'http', ...more, routes: [{ name: 'r', backends: [{ backend: 'shop' }] }] }]
})
const shop = { name: 'shop', host: 'shop.example:80' }
const namesOf = (all: ReturnType<typeof serve>['leftOut']) => all.map(({ gateway: { metadata } }) => metadata.name)
const serve = (...all: GatewayOutput[]) => servedTogether(all, ADDS_UP)

test('one Gateway is its Snapshot, none is nothing', () => {
  const one = gateway('a', { binds: [bind(1)], backends: [shop] })
  assert.equal(serve(one).draft, one.draft)
  assert.equal(serve().draft, null)
})

test('Gateways with other ports are served together, with their places', () => {
  const both = serve(
    gateway('a', { binds: [bind(1)], backends: [shop] }),
    gateway('b', { binds: [bind(2)], backends: [shop] })
  )
  assert.deepEqual(both.leftOut, [])
  assert.deepEqual(
    both.draft?.binds.map(({ port }) => port),
    [1, 2]
  )
  assert.deepEqual(both.places().slice(2), [
    ['binds[1].listeners[0]', 'Gateway demo/b: spec.listeners[0]'],
    ['backends.shop', 'Service demo/b']
  ])
  assert.deepEqual([...both.services], ['demo/a', 'demo/b'])
})

test('a port that is taken, other settings and other backends of one name leave the later Gateway out', () => {
  const first = gateway('a', { binds: [bind(1)], backends: [shop] })
  const { draft, leftOut } = serve(
    first,
    gateway('port', { binds: [bind(1)], backends: [shop] }),
    gateway('logs', { frontendPolicies: { accessLog: { remove: ['http.path'] } }, binds: [bind(2)], backends: [shop] }),
    gateway('backend', { binds: [bind(3)], backends: [{ ...shop, host: 'other.example:80' }] })
  )
  assert.equal(draft, first.draft)
  assert.deepEqual(namesOf(leftOut), ['port', 'logs', 'backend'])
  assert.deepEqual(
    leftOut.map(({ reason }) => reason),
    [
      'port 1 is that of Gateway demo/a',
      'it says something else of connections and logs than Gateway demo/a',
      'its policies for backend shop differ from those of another Gateway'
    ]
  )
})

test('policies of one Gateway do not act on another: each listener gets its own', () => {
  const cors = (origin: string) => ({ cors: { allowOrigins: [origin] } })
  const timeout = { timeouts: { request: '1s' } }
  const both = serve(
    gateway('a', { policies: cors('https://a.example'), binds: [bind(1)], backends: [shop] }),
    gateway('b', { policies: timeout, binds: [bind(2, { policies: cors('https://b.example') })], backends: [shop] })
  )
  assert.deepEqual(both.leftOut, [])
  assert.deepEqual(both.draft?.gateway.policies, {})
  const [a, b] = both.draft!.binds.map(({ listeners }) => listeners[0]!.policies)
  assert.deepEqual(Object.keys(a!), ['cors'])
  assert.deepEqual(Object.keys(b!).toSorted(), ['cors', 'timeouts'])
  assert.notDeepEqual(a!.cors, b!.cors)
})

test('rules that add up cannot be put on listeners that have some', () => {
  const rules = { authorization: { rules: ['request.path != "/x"'] } }
  const { leftOut } = serve(
    gateway('a', { binds: [bind(1)], backends: [shop] }),
    gateway('b', { policies: rules, binds: [bind(2, { policies: rules })], backends: [shop] })
  )
  assert.deepEqual(namesOf(leftOut), ['b'])
  const alone = gateway('b', { policies: rules, binds: [bind(2)], backends: [shop] })
  assert.deepEqual(serve(gateway('a', { binds: [bind(1)], backends: [shop] }), alone).leftOut, [])
})

test('a backend of one route alone gets another name where its name is taken', () => {
  const inline = (port: number, host: string) => ({
    binds: [{ port, listeners: [{ name: 'http', routes: [{ name: 'r', backends: [{ host }] }] }] }]
  })
  const both = serve(gateway('a', inline(1, 'a.example:80')), gateway('b', inline(2, 'b.example:80')))
  assert.deepEqual(both.leftOut, [])
  const used = both.draft!.binds.map(({ listeners }) => listeners[0]!.routes[0]!.backends[0]!.backend)
  assert.deepEqual(used, ['http/r/0', 'demo/b/http/r/0'])
  assert.deepEqual(Object.keys(both.draft!.backends).toSorted(), used.toSorted())
})
