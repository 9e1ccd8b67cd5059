/** docs/specification.md#attachment-and-merging, row by row. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicySetsPart } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, valueAt } from '#engine/schema/placed.ts'
import {
  build,
  findingsOf,
  GATEWAY,
  gatewayBackend,
  gatewayPolicy,
  OPTIONS,
  object,
  service,
  storeOf,
  target
} from './cluster.fixture.ts'
import { frontendOf, mergeLevels, policiesOf, translateBackend, withServicePolicies } from './index.ts'

const API = 'gateway.networking.k8s.io'
const to = (kind: string, name: string, sectionName?: string) => ({
  group: kind === 'Service' ? '' : kind === 'GatewayBackend' ? 'weir.dev' : API,
  kind,
  name,
  ...(sectionName === undefined ? {} : { sectionName })
})
const ROUTE = to('HTTPRoute', 'shop')
const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })
const host = (sni: string) => ({ tls: { sni } })
const rewrite = (mode: string) => ({ hostRewrite: mode })
const allow = (expression: string) => ({ authorization: { policy: { matchExpressions: [expression] } } })

test('policies of one target merge by their top-level fields, not inside of them', () => {
  const store = storeOf(
    gatewayPolicy('a', { targetRefs: [ROUTE], backend: { tcp: { connectTimeout: '1s' } } }),
    gatewayPolicy('b', { targetRefs: [ROUTE], backend: { tls: { sni: 'b.example', alpnProtocols: ['h2'] } } })
  )
  assert.deepEqual(policiesOf(target('HTTPRoute', 'shop'), store, OPTIONS).sets.value, [
    { tcp: { connectTimeout: '1s' }, tls: { sni: 'b.example', alpnProtocols: ['h2'] } }
  ])
})

test('of two that say the same of one target the oldest holds, then the first by name; the other is told', () => {
  const older = gatewayPolicy('z', { targetRefs: [ROUTE], traffic: rewrite('Auto') }, at(1))
  const newer = gatewayPolicy('a', { targetRefs: [ROUTE], traffic: { ...rewrite('None'), csrf: {} } }, at(2))
  const found = policiesOf(target('HTTPRoute', 'shop'), storeOf(newer, older), OPTIONS)
  assert.deepEqual(found.sets.value, [{ hostRewrite: 'Auto', csrf: {} }])
  assert.deepEqual(
    found.faults.map(({ type, message, place }) => [type, message, place.key, place.path.join('.')]),
    [
      [
        'Conflicted',
        'GatewayPolicy default/z says it of the same target, and is older or the first by name',
        'GatewayPolicy/default/a',
        'spec.traffic.hostRewrite'
      ]
    ]
  )
  const [b, c] = ['b', 'c'].map((name) =>
    gatewayPolicy(name, { targetRefs: [ROUTE], traffic: rewrite(name === 'b' ? 'None' : 'Auto') }, at(1))
  )
  assert.deepEqual(policiesOf(target('HTTPRoute', 'shop'), storeOf(c!, b!), OPTIONS).sets.value, [rewrite('None')])
})

test('rules of authorization of several policies add up, whatever form they have', () => {
  const spec = (action: string, ...matchExpressions: string[]) => ({
    targetRefs: [ROUTE],
    traffic: { authorization: { action, policy: { matchExpressions } } }
  })
  const store = storeOf(
    gatewayPolicy('a', spec('Allow', 'request.path == "/a"', 'true'), at(1)),
    gatewayPolicy('b', spec('Deny', 'request.path == "/b"'), at(2)),
    gatewayPolicy('c', spec('Require', 'a', 'b'), at(3))
  )
  const { sets, faults } = policiesOf(target('HTTPRoute', 'shop'), store, OPTIONS)
  assert.deepEqual(
    faults.filter(({ type }) => type === 'Conflicted'),
    []
  )
  const { rules } = objectOf(sets.value[0]?.authorization)
  // Expressions that cannot be read refuse their policy: it is closed.
  assert.deepEqual(rules, [
    { allow: 'request.path == "/a"' },
    { allow: 'true' },
    { deny: 'request.path == "/b"' },
    { deny: 'true' }
  ])
  const places = sets.origins.filter(([path]) => path.at(-2) === 'rules')
  assert.deepEqual(
    places.map(([path, from]) => [path.at(-1), from.key, from.path.join('.')]),
    [
      [0, 'GatewayPolicy/default/a', 'spec.traffic.authorization.policy.matchExpressions.0'],
      [1, 'GatewayPolicy/default/a', 'spec.traffic.authorization.policy.matchExpressions.1'],
      [2, 'GatewayPolicy/default/b', 'spec.traffic.authorization.policy.matchExpressions.0'],
      [3, 'GatewayPolicy/default/c', 'spec.traffic.authorization']
    ]
  )
})

test('of what is required one is enough, as in the form of the resource', () => {
  const required = { action: 'Require', policy: { matchExpressions: ['request.path == "/a"', 'true'] } }
  const store = storeOf(
    gatewayPolicy('a', { targetRefs: [ROUTE], traffic: { authorization: required } }, at(1)),
    gatewayPolicy('b', { targetRefs: [ROUTE], traffic: allow('true') }, at(2))
  )
  const [set] = policiesOf(target('HTTPRoute', 'shop'), store, OPTIONS).sets.value
  assert.deepEqual(objectOf(set?.authorization).rules, [
    { require: '(request.path == "/a") || (true)' },
    { allow: 'true' }
  ])
})

test('traffic policies: a rule wins over its route, a listener over its ListenerSet', () => {
  const store = storeOf(
    gatewayPolicy('route', { targetRefs: [ROUTE], traffic: { ...rewrite('Auto'), csrf: {} } }),
    gatewayPolicy('rule', { targetRefs: [to('HTTPRoute', 'shop', 'rule-1')], traffic: rewrite('None') }),
    gatewayPolicy('set', { targetRefs: [to('ListenerSet', 'more')], traffic: { ...rewrite('Auto'), csrf: {} } }),
    gatewayPolicy('one', { targetRefs: [to('ListenerSet', 'more', 'one')], traffic: rewrite('None') })
  )
  const of = (kind: 'HTTPRoute' | 'ListenerSet', name: string, sectionName: string) => {
    const levels = [target(kind, name), target(kind, name, sectionName)].map((one) => policiesOf(one, store, OPTIONS))
    return mergeLevels(
      levels.map(({ sets }) => sets),
      OPTIONS
    )
  }
  assert.deepEqual(of('HTTPRoute', 'shop', 'rule-1').value, [{ csrf: {}, hostRewrite: 'None' }])
  assert.deepEqual(of('HTTPRoute', 'shop', 'rule-2').value, [{ hostRewrite: 'Auto', csrf: {} }])
  assert.deepEqual(of('ListenerSet', 'more', 'one').value, [{ csrf: {}, hostRewrite: 'None' }])
})

test('each level has a place of its own in the configuration, where the engine merges the rest', () => {
  const store = storeOf(
    service('plain', 80),
    gatewayPolicy('gateway', { targetRefs: [to('Gateway', 'edge')], traffic: rewrite('Auto') }),
    gatewayPolicy('listener', {
      targetRefs: [to('Gateway', 'edge', 'https')],
      traffic: { timeouts: { request: '1s' } }
    }),
    gatewayPolicy('early', {
      targetRefs: [to('Gateway', 'edge')],
      traffic: { phase: 'PreRouting', csrf: {} },
      backend: host('a.example')
    }),
    gatewayPolicy('route', { targetRefs: [ROUTE], traffic: rewrite('None') })
  )
  const built = build(store, ['default.plain_80'])
  assert.deepEqual(findingsOf(built), [])
  const listener = objectOf(valueAt(built.value, ['binds', 0, 'listeners', 0]))
  const route = objectOf(valueAt(listener, ['routes', 0]))
  assert.deepEqual(built.value.policies, [
    { phase: 'PreRouting', csrf: {} },
    { hostRewrite: 'Auto', tls: { sni: 'a.example' } }
  ])
  assert.deepEqual(listener.policies, [{ timeouts: { request: '1s' } }])
  assert.deepEqual(route.policies, { hostRewrite: 'None' })
})

test('the phases merge separately', () => {
  const early = (name: string, mode: string, phase: string) =>
    gatewayPolicy(name, { targetRefs: [to('Gateway', 'edge')], traffic: { phase, cors: { allowOrigins: [mode] } } })
  const store = storeOf(early('a', 'https://a.example', 'PreRouting'), early('b', 'https://b.example', 'PostRouting'))
  const { sets, faults } = policiesOf(target('Gateway', 'edge'), store, OPTIONS)
  assert.deepEqual(sets.value, [
    { phase: 'PreRouting', cors: { allowOrigins: ['https://a.example'] } },
    { cors: { allowOrigins: ['https://b.example'] } }
  ])
  assert.deepEqual(faults, [])
})

test('frontend policies are for the Gateway', () => {
  const store = storeOf(
    gatewayPolicy('a', {
      targetRefs: [to('Gateway', 'edge')],
      frontend: { http: { http1MaxHeaders: 50 }, tcp: { keepalive: { time: '60s' } } }
    })
  )
  const { frontend } = frontendOf(GATEWAY, store, OPTIONS)
  assert.deepEqual(frontend.value, { http: { http1MaxHeaders: 50 }, tcp: { keepalive: { time: '60s' } } })
})

test('backend policies: a GatewayBackend wins over a GatewayPolicy for it, field by field', () => {
  const backend = gatewayBackend('b', {
    static: { host: 'b.example', port: 443 },
    policies: { tls: { sni: 'own.example' } }
  })
  const store = storeOf(
    backend,
    gatewayPolicy('a', {
      targetRefs: [to('GatewayBackend', 'b')],
      backend: { tls: { sni: 'policy.example', alpnProtocols: ['h2'] }, tcp: { connectTimeout: '1s' } }
    })
  )
  const { entry } = translateBackend(backend, store, OPTIONS)
  assert.deepEqual(entry.value.policies, { tls: { sni: 'own.example' }, tcp: { connectTimeout: '1s' } })
})

test('a port of a Service is named by its number or by its name', () => {
  const store = storeOf(
    object('v1', 'Service', 'checks', {
      spec: {
        ports: [
          { name: 'grpc', port: 9000 },
          { name: 'web', port: 9001 }
        ]
      }
    }),
    gatewayPolicy('number', {
      targetRefs: [to('Service', 'checks', '9000')],
      backend: { tcp: { connectTimeout: '1s' } }
    }),
    gatewayPolicy('name', { targetRefs: [to('Service', 'checks', 'grpc')], backend: host('a.example') }),
    gatewayPolicy('other', { targetRefs: [to('Service', 'checks', '9001')], backend: { http: { version: 'HTTP2' } } })
  )
  const expected = [{ tls: { sni: 'a.example' }, tcp: { connectTimeout: '1s' } }]
  assert.deepEqual(policiesOf(target('Service', 'checks', '9000'), store, OPTIONS).sets.value, expected)
  assert.deepEqual(policiesOf(target('Service', 'checks', '9001'), store, OPTIONS).sets.value, [
    { http: { version: 'HTTP2' } }
  ])
  assert.deepEqual(policiesOf(target('Service', 'checks'), store, OPTIONS).sets.value, [])
})

test('policies of a Service and of its port are those of the backend that it is; a BackendTLSPolicy wins', () => {
  const checks = to('Service', 'checks')
  const store = storeOf(
    service('checks', 9000),
    gatewayPolicy('whole', { targetRefs: [checks], backend: { ...host('a.example'), tcp: { connectTimeout: '1s' } } }),
    gatewayPolicy('port', { targetRefs: [{ ...checks, sectionName: '9000' }], backend: host('b.example') })
  )
  const built = build(store, ['default.checks_9000'])
  assert.deepEqual(findingsOf(built), [])
  const [entry] = built.value.backends as Record<string, unknown>[]
  assert.deepEqual(entry?.policies, { tcp: { connectTimeout: '1s' }, tls: { sni: 'b.example' } })
  const port = { namespace: 'default', name: 'checks', port: 9000 }
  const own = { value: { name: 'a', policies: { backendTLS: { hostname: 'c.example' } } }, origins: [] }
  assert.deepEqual(withServicePolicies(own, port, store, OPTIONS).entry.value.policies, {
    tcp: { connectTimeout: '1s' },
    backendTLS: { hostname: 'c.example' }
  })
})

test('an MCP target: a GatewayPolicy, then what the backend says, then its own; the later wins by field', () => {
  const backend = gatewayBackend('tools', {
    mcp: {
      targets: [
        { name: 'one', static: { host: 'one', port: 80, policies: { tcp: { connectTimeout: '3s' } } } },
        { name: 'two', static: { host: 'two', port: 80 } }
      ]
    },
    policies: { tls: { sni: 'backend.example' } }
  })
  const store = storeOf(
    backend,
    gatewayPolicy('whole', {
      targetRefs: [to('GatewayBackend', 'tools')],
      backend: { ...host('whole.example'), tcp: { connectTimeout: '1s' }, auth: { key: 'whole' } }
    }),
    gatewayPolicy('part', {
      targetRefs: [to('GatewayBackend', 'tools', 'one'), to('GatewayBackend', 'tools', 'two')],
      backend: { ...host('part.example'), tcp: { connectTimeout: '2s' }, auth: { key: 'part' } }
    })
  )
  const { entry, faults } = translateBackend(backend, store, OPTIONS)
  assert.deepEqual(faults, [])
  assert.deepEqual(entry.value, {
    name: 'default.tools',
    mcp: {
      targets: [
        {
          name: 'one',
          static: { host: 'one', port: 80, policies: { tcp: { connectTimeout: '3s' } } },
          policies: { auth: { key: 'part' } }
        },
        {
          name: 'two',
          static: { host: 'two', port: 80 },
          policies: { tcp: { connectTimeout: '2s' }, auth: { key: 'part' } }
        }
      ]
    },
    policies: { tls: { sni: 'backend.example' }, tcp: { connectTimeout: '1s' }, auth: { key: 'whole' } }
  })
  assert.deepEqual(findingsOf(build(store, ['default.tools'])), [])
})

test('a provider is named by sectionName, in whichever group it is', () => {
  const provider = (name: string) => ({ name, openai: {} })
  const backend = gatewayBackend('models', {
    ai: { groups: [{ providers: [provider('a')] }, { providers: [provider('b')] }] }
  })
  const store = storeOf(
    backend,
    gatewayPolicy('p', { targetRefs: [to('GatewayBackend', 'models', 'b')], backend: { auth: { key: 'of-b' } } })
  )
  const { entry } = translateBackend(backend, store, OPTIONS)
  assert.deepEqual(objectOf(entry.value.ai).groups, [
    { providers: [{ name: 'a', openai: {} }] },
    { providers: [{ name: 'b', openai: {}, policies: { auth: { key: 'of-b' } } }] }
  ])
  assert.deepEqual(findingsOf(build(store, ['default.models'])), [])
})

test('targetSelectors find objects of the namespace by their labels', () => {
  const selector = { group: API, kind: 'HTTPRoute', matchLabels: { team: 'shop' } }
  const store = storeOf(
    gatewayPolicy('a', { targetSelectors: [selector], traffic: rewrite('Auto') }),
    gatewayPolicy('b', { targetSelectors: [{ ...selector, sectionName: 'rule-1' }], traffic: rewrite('None') }),
    gatewayPolicy('c', { targetSelectors: [{ ...selector, matchLabels: { team: 'b' } }], traffic: { csrf: {} } }),
    gatewayPolicy('d', { targetSelectors: [selector], traffic: { csrf: {} } }, { namespace: 'other' })
  )
  const of = (sectionName?: string) => policiesOf(target('HTTPRoute', 'shop', sectionName), store, OPTIONS).sets.value
  assert.deepEqual(of(), [rewrite('Auto')])
  assert.deepEqual(of('rule-1'), [rewrite('None')])
})

const part = (value: Record<string, unknown>): PolicySetsPart => ({
  value: [value],
  origins: Object.keys(value).map((name) => [[0, name], { key: 'HTTPRoute/default/shop', path: ['spec', name] }])
})

test('what filters of a route say under another name goes before the policy, part by part', () => {
  const fields = (value: string) => [{ name: 'x-a', value }]
  const policy = part({
    headerModifiers: { request: { set: fields('policy') }, response: { set: fields('policy') } },
    hostRewrite: 'Auto'
  })
  const filter = part({ requestHeaderModifier: { set: fields('filter') } })
  const merged = mergeLevels([policy, filter], OPTIONS)
  assert.deepEqual(merged.value, [
    {
      headerModifiers: { response: { set: fields('policy') } },
      hostRewrite: 'Auto',
      requestHeaderModifier: { set: fields('filter') }
    }
  ])
  assert.deepEqual(mergeLevels([filter, policy], OPTIONS).value, policy.value)
  assert.deepEqual(
    merged.origins.map(([path]) => path.join('.')),
    ['0.headerModifiers', '0.hostRewrite', '0.requestHeaderModifier']
  )
})
