import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Explanation } from '#engine/explain/explanation.ts'
import { listenersOf, markOfListener, markOfRoute, matchText, searched } from './graph.ts'

const route = (name: string, more: object = {}) => ({
  ...{ name, hostnames: [], policies: {}, backends: [] },
  matches: [{ path: { prefix: `/${name}` }, headers: [], query: [] }],
  ...more
})

const snapshot = {
  gateway: { policies: { cors: { from: 'gateway' }, rateLimit: {} }, preRouting: { jwt: {} }, frontend: {} },
  backends: {
    shop: { kind: 'static', host: 'shop.internal', port: 80, unixPath: null, policies: { timeouts: {} } },
    local: { kind: 'static', host: '', port: 0, unixPath: '/run/a', policies: {} }
  },
  binds: [
    {
      port: 8080,
      listeners: [
        {
          ...{
            name: 'public',
            hostname: '*',
            protocol: 'HTTP',
            policies: { cors: { from: 'listener' } },
            preRouting: {}
          },
          routes: [
            route('cart', {
              policies: { authorization: {} },
              backends: [
                { backend: 'shop', weight: 3, policies: { retry: {} } },
                { backend: 'gone', weight: 1, policies: {} }
              ]
            }),
            route('api', { hostnames: ['api.example'], rule: '1' })
          ],
          tcpRoutes: []
        },
        {
          ...{ name: 'raw', hostname: '*', protocol: 'TCP', policies: {}, preRouting: {}, routes: [] },
          tcpRoutes: [{ name: 'db', hostnames: [], backends: [{ backend: 'local', weight: 1, policies: {} }] }]
        }
      ]
    }
  ]
}
const listeners = listenersOf({ hash: 'a', version: 1, acceptedAt: '', snapshot })
const [open, raw] = [listeners[0]!, listeners[1]!]

test('a route has the policies of all levels, the most precise of each name', () => {
  const [cart, api] = [open.routes[0]!, open.routes[1]!]
  deepEqual(
    cart.policies.map(({ name, level }) => `${name} of ${level}`),
    ['cors of listener', 'rateLimit of gateway', 'authorization of route']
  )
  deepEqual(cart.policies[0]!.value, { from: 'listener' })
  deepEqual([open.before.map(({ name }) => name), api.name, api.matches], [['jwt'], 'api/1', ['/api/*']])
})

test('backends have their share, where they are, and what is around them; one that is missing is told so', () => {
  deepEqual(open.routes[0]!.backends, [
    { name: 'shop', kind: 'static', share: 0.75, address: 'shop.internal:80', policies: ['timeouts', 'retry'] },
    { name: 'gone', kind: 'missing', share: 0.25, address: null, policies: [] }
  ])
  deepEqual(raw.routes[0]!.backends[0]!.address, 'unix:/run/a')
})

test('a match is one line without values', () => {
  const value = { exact: 'secret' }
  equal(
    matchText({
      path: { exact: '/a' },
      method: 'GET',
      headers: [{ name: 'x-key', value }],
      query: [{ name: 'k', value }]
    }),
    'GET /a with header x-key, parameter k'
  )
  equal(matchText({ path: { prefix: '/' }, headers: [], query: [] }), '/*')
  equal(matchText({ path: { regex: '/v[12]' }, headers: [], query: [] }), '~ /v[12]')
})

test('a search keeps routes that have the text', () => {
  const names = (text: string) =>
    searched(listeners, text).map(({ name, routes }) => `${name}: ${routes.map((one) => one.name)}`)
  deepEqual(names('AUTHORIZ'), ['public: cart'])
  deepEqual(names('local'), ['raw: db'])
  deepEqual(names('8080').length, 2)
  deepEqual(names('nothing'), [])
})

test('an explanation marks what a request goes through, and why not the rest', () => {
  const explanation = {
    listener: { name: 'public', port: 8080 },
    otherListeners: [{ name: 'raw', why: 'it takes connections' }],
    route: { name: 'cart' },
    otherRoutes: [{ name: 'api/1', why: 'its path is /api' }]
  } as unknown as Explanation
  deepEqual(markOfListener(explanation, open), { kind: 'hit' })
  deepEqual(markOfListener(explanation, raw), { kind: 'miss', why: 'it takes connections' })
  deepEqual(markOfRoute(explanation, open, open.routes[0]!), { kind: 'hit' })
  deepEqual(markOfRoute(explanation, open, open.routes[1]!), { kind: 'miss', why: 'its path is /api' })
  deepEqual([markOfRoute(explanation, raw, raw.routes[0]!), markOfListener(null, open)], [null, null])
})
