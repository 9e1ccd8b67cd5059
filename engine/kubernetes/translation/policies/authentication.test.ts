import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { objectOf } from '#engine/schema/placed.ts'
import {
  build,
  findingsOf,
  gatewayBackend,
  gatewayPolicy,
  OPTIONS,
  service,
  storeOf,
  target
} from './cluster.fixture.ts'
import { authenticationAround, authenticationOf, translateBackend } from './index.ts'

const jwks = { backendRef: { group: '', kind: 'Service', name: 'keys', port: 80 }, jwksPath: 'jwks.json' }
const authentication = (issuer: string) => ({ mcp: { authentication: { issuer: `https://${issuer}.example`, jwks } } })
const tools = (name: string, own?: string) =>
  gatewayBackend(name, {
    mcp: { targets: [{ name: 'one', static: { host: 'one', port: 80 } }] },
    ...(own === undefined ? {} : { policies: authentication(own) })
  })
const KEYS = service('keys', 80)
const to = (kind: string, name: string) => ({
  group: kind === 'GatewayBackend' ? 'weir.dev' : 'gateway.networking.k8s.io',
  kind,
  name
})
const policy = (name: string, kind: string, of: string, issuer: string) =>
  gatewayPolicy(name, { targetRefs: [to(kind, of)], backend: authentication(issuer) })

function issuersOf(names: readonly string[], ...objects: readonly KubernetesObject[]) {
  const store = storeOf(KEYS, ...objects)
  const { sets, isOpen, isAmbiguous } = authenticationOf(names, [target('HTTPRoute', 'shop')], store, OPTIONS)
  const around = isOpen ? authenticationAround([target('Gateway', 'edge')], store, OPTIONS) : null
  const found = [...sets.value, ...(around === null ? [] : [around.value])]
  return [found.map(({ mcpAuthentication }) => objectOf(mcpAuthentication).issuer), isAmbiguous]
}

test('what a backend says of its authentication is a policy of the rules that lead to it, and not of the backend', () => {
  const store = storeOf(KEYS, tools('tools', 'own'))
  const { sets } = authenticationOf(['default.tools'], [target('HTTPRoute', 'shop')], store, OPTIONS)
  assert.deepEqual(sets.value, [
    {
      mcpAuthentication: {
        issuer: 'https://own.example',
        jwks: { remote: { backendRef: { name: 'default.keys_80' }, jwksPath: 'jwks.json' } }
      }
    }
  ])
  const at = ['spec', 'policies', 'mcp', 'authentication']
  assert.deepEqual(
    sets.origins.map(([path, { path: from }]) => [path, from]),
    [
      [[0, 'mcpAuthentication'], at],
      [
        [0, 'mcpAuthentication', 'jwks', 'remote'],
        [...at, 'jwks']
      ]
    ]
  )
  const { entry, backends } = translateBackend(tools('tools', 'own'), store, OPTIONS)
  assert.equal(entry.value.policies, undefined)
  assert.deepEqual([...backends], ['default.keys_80'])
  assert.deepEqual(findingsOf(build(store, ['default.tools'])), [])
})

test('the backend wins over a policy for it, that over one for the route, and that over one for the Gateway', () => {
  const gateway = policy('a', 'Gateway', 'edge', 'gateway')
  const route = policy('b', 'HTTPRoute', 'shop', 'route')
  const backend = policy('c', 'GatewayBackend', 'tools', 'policy')
  const names = ['default.tools']
  const issuer = (name: string) => [[`https://${name}.example`], false]
  assert.deepEqual(issuersOf(names, tools('tools', 'own'), gateway, route, backend), issuer('own'))
  assert.deepEqual(issuersOf(names, tools('tools'), gateway, route, backend), issuer('policy'))
  assert.deepEqual(issuersOf(names, tools('tools'), gateway, route), issuer('route'))
  assert.deepEqual(issuersOf(names, tools('tools'), gateway), issuer('gateway'))
  assert.deepEqual(issuersOf(names, tools('tools')), [[], false])
})

test('rules that lead to no MCP servers have none', () => {
  const plain = gatewayBackend('plain', { static: { host: 'a', port: 80 } })
  const gateway = policy('a', 'Gateway', 'edge', 'gateway')
  assert.deepEqual(issuersOf(['default.plain', 'default.keys_80', 'default.none'], plain, gateway), [[], false])
})

test('a rule whose backends differ in it is closed: a token for one is not enough for the other', () => {
  const both = ['default.tools', 'default.more']
  assert.deepEqual(issuersOf(both, tools('tools', 'one'), tools('more', 'one')), [['https://one.example'], false])
  assert.deepEqual(issuersOf(both, tools('tools', 'one'), tools('more', 'two')), [['https://closed.invalid'], true])
  assert.deepEqual(issuersOf(both, tools('tools'), tools('more', 'two')), [['https://two.example'], false])
})

test('one whose keys cannot be found is closed', () => {
  const route = policy('b', 'HTTPRoute', 'shop', 'route')
  const { sets } = authenticationOf(
    ['default.tools'],
    [target('HTTPRoute', 'shop')],
    storeOf(tools('tools'), route),
    OPTIONS
  )
  assert.deepEqual(
    sets.value.map(({ mcpAuthentication }) => objectOf(mcpAuthentication).issuer),
    ['https://closed.invalid']
  )
})
