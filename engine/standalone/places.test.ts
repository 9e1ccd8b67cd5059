/** Parts of the Snapshot and where the file has them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { policies } from '#policies/index.ts'
import { loadConfig } from './load.ts'

const FILE = `policies:
  - csrf: {}
  - phase: PreRouting
    cors: { allowOrigins: ["*"] }
  - targetRefs: [{ kind: HTTPRoute, name: shop }]
    timeouts: { request: 5s }
backends:
  - name: notes
    host: localhost:9000
binds:
  - port: 8080
    listeners:
      - policies:
          authorization:
            rules:
              - 'request.method == "GET"'
              - deny: 'request.path == "/x"'
        routes:
          - name: shop
            matches:
              - path: { exact: /a }
              - path: { pathPrefix: /b }
            policies:
              requestHeaderModifier: { set: { a: b } }
              localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1s }]
            backends: [{ backend: notes }]
llm:
  port: 8081
  models: [{ name: m, provider: openAI, params: { apiKey: k } }]
`

const load = (text: string) => {
  const loaded = loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends })
  assert.ok(loaded.ok, JSON.stringify(!loaded.ok && loaded.errors))
  return loaded
}

test('listeners, routes, matches, policies, rules and backends have their places', () => {
  const { places: placesOf } = load(FILE)
  const places = placesOf()
  const listener = 'binds[0].listeners[0]'
  const found = {
    'gateway.policies.csrf': '2:5',
    'gateway.preRouting.cors': '4:5',
    'backends.notes': '9:5',
    [listener]: '13:9',
    [`${listener}.policies.authorization`]: '14:11',
    [`${listener}.policies.authorization.rules[0]`]: '16:17',
    [`${listener}.policies.authorization.rules[1]`]: '17:17',
    [`${listener}.routes[0]`]: '19:13',
    [`${listener}.routes[0].matches[1]`]: '22:17',
    // Written elsewhere, for a target; under another name; by an alias for a part of it.
    [`${listener}.routes[0].policies.timeouts`]: '6:5',
    [`${listener}.routes[0].policies.rateLimit`]: '25:15',
    [`${listener}.routes[0].policies.headerModifiers.request`]: '24:15',
    [`${listener}.routes[0].policies.headerModifiers`]: '24:15',
    // What a shortcut stands for has its place.
    'binds[1].listeners[0].routes[0]': '27:1'
  }
  for (const [path, place] of Object.entries(found)) assert.equal(places.find(path), `weir.yaml:${place}`, path)
})
