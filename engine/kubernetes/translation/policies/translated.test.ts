/** Policies and backends of objects, as the data plane of a Gateway carries them out. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  listenerSet,
  object,
  policy,
  secret,
  service,
  statusOf,
  target,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import type { Translation } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { startGateway } from '#engine/testing/gateway.ts'

const backend = (name: string, spec: Raw) => object('GatewayBackend', name, { spec })
const toBackend = (path: string, name: string, more: Raw = {}): Raw => ({
  matches: [{ path: { type: 'PathPrefix', value: path } }],
  backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name }],
  ...more
})
const EDGE = gateway('edge', [http('web', 80)])
const answers = (body: string) => ({ traffic: { directResponse: { status: 200, body } } })

/** Asks a data plane that runs what is translated; `path` is of its only port. */
async function startedGateway(t: TestContext, translation: Translation) {
  const draft = draftOf(translation)
  const binds = draft.binds.map((bind) => ({ ...bind, port: 0 }))
  const weir = await startGateway('{ binds: [] }', { edit: (file) => ({ ...file, ...draft, binds }) })
  t.after(() => weir.close())
  return async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await fetch(`http://127.0.0.1:${weir.port}${path}`, { headers })
    return `${answer.status} ${await answer.text()}`
  }
}

test('the most precise policy holds: a rule, a route, a listener, a Gateway', async (t) => {
  const rules = [toBackend('/a', 'none', { name: 'a' }), toBackend('/b', 'none', { name: 'b' })]
  const translation = translate(
    EDGE,
    backend('none', { static: { host: '127.0.0.1', port: 1 } }),
    httpRoute('shop', 'edge', rules),
    httpRoute('other', 'edge', [toBackend('/c', 'none')]),
    policy('of-gateway', { targetRefs: [target('Gateway', 'edge')], ...answers('gateway') }),
    policy('of-route', { targetRefs: [target('HTTPRoute', 'shop')], ...answers('route') }),
    policy('of-rule', { targetRefs: [target('HTTPRoute', 'shop', { sectionName: 'b' })], ...answers('rule') })
  )
  const ask = await startedGateway(t, translation)
  assert.deepEqual([await ask('/a'), await ask('/b'), await ask('/c')], ['200 route', '200 rule', '200 gateway'])
  const listener = policy('of-listener', {
    targetRefs: [target('Gateway', 'edge', { sectionName: 'web' })],
    ...answers('listener')
  })
  const gatewayPolicy = policy('of-gateway', { targetRefs: [target('Gateway', 'edge')], ...answers('gateway') })
  const route = httpRoute('other', 'edge', [toBackend('/c', 'none')])
  const none = backend('none', { static: { host: '127.0.0.1', port: 1 } })
  const askListener = await startedGateway(t, translate(EDGE, none, route, gatewayPolicy, listener))
  assert.equal(await askListener('/c'), '200 listener')
})

test('a ListenerSet is between its Gateway and its listeners', async (t) => {
  const objects = (...names: string[]) => [
    gateway('edge', [], { allowedListeners: { namespaces: { from: 'Same' } } }),
    listenerSet('more', 'edge', [http('one', 80)]),
    backend('none', { static: { host: '127.0.0.1', port: 1 } }),
    httpRoute('shop', { kind: 'ListenerSet', group: 'gateway.networking.k8s.io', name: 'more' }, [
      toBackend('/', 'none')
    ]),
    ...[
      policy('gateway', { targetRefs: [target('Gateway', 'edge')], ...answers('gateway') }),
      policy('set', { targetRefs: [target('ListenerSet', 'more')], ...answers('set') }),
      policy('listener', {
        targetRefs: [target('ListenerSet', 'more', { sectionName: 'one' })],
        ...answers('listener')
      })
    ].filter(({ metadata }) => names.includes(metadata.name))
  ]
  const ask = async (...names: string[]) => (await startedGateway(t, translate(...objects(...names))))('/')
  assert.equal(await ask('gateway'), '200 gateway')
  assert.equal(await ask('gateway', 'set'), '200 set')
  assert.equal(await ask('gateway', 'set', 'listener'), '200 listener')
})

const KEYS = backend('keys', { static: { host: '127.0.0.1', port: 1 } })
const jwks = { backendRef: { group: 'weir.dev', kind: 'GatewayBackend', name: 'keys' }, jwksPath: 'jwks.json' }
const authentication = { backend: { mcp: { authentication: { issuer: 'https://a.example', jwks } } } }

test('MCP authentication of a Gateway or of a listener is for the rules that lead to MCP servers', async (t) => {
  const objects = [
    EDGE,
    KEYS,
    backend('tools', { mcp: { targets: [{ name: 'one', static: { host: '127.0.0.1', port: 1 } }] } }),
    backend('plain', { static: { host: '127.0.0.1', port: 1 } }),
    httpRoute('shop', 'edge', [toBackend('/mcp', 'tools'), toBackend('/', 'plain')]),
    policy('answer', { targetRefs: [target('HTTPRoute', 'shop')], ...answers('open') })
  ]
  for (const more of [{}, { sectionName: 'web' }]) {
    const own = policy('a', { targetRefs: [target('Gateway', 'edge', more)], ...authentication })
    const ask = await startedGateway(t, translate(...objects, own))
    assert.match(await ask('/mcp'), /^401 /)
    assert.equal(await ask('/'), '200 open')
  }
  const ask = await startedGateway(t, translate(...objects))
  assert.equal(await ask('/mcp'), '200 open')
})

test('a rule whose MCP backends want different authentication is closed, and its route says so', async (t) => {
  const tools = (name: string, issuer: string) =>
    backend(name, {
      mcp: { targets: [{ name: 'one', static: { host: '127.0.0.1', port: 1 } }] },
      policies: { mcp: { authentication: { issuer, jwks } } }
    })
  const rule = {
    backendRefs: ['a', 'b'].map((name) => ({ group: 'weir.dev', kind: 'GatewayBackend', name }))
  }
  const translation = translate(
    EDGE,
    KEYS,
    tools('a', 'https://a.example'),
    tools('b', 'https://b.example'),
    httpRoute('shop', 'edge', [rule])
  )
  assert.match(await (await startedGateway(t, translation))('/'), /^401 /)
  assert.deepEqual(conditionTexts(statusOf(translation, 'HTTPRoute', 'shop').parents?.[0]), [
    'Accepted=True Accepted',
    'ResolvedRefs=False UnsupportedValue'
  ])
})

test('what guards a route is closed until its Secret is there; the rest of the Gateway goes on', async (t) => {
  const objects = (...more: KubernetesObject[]) => [
    EDGE,
    backend('plain', { static: { host: '127.0.0.1', port: 1 } }),
    httpRoute('shop', 'edge', [toBackend('/', 'plain')]),
    httpRoute('open', 'edge', [toBackend('/open', 'plain')]),
    policy('answer', { targetRefs: [target('Gateway', 'edge')], ...answers('open') }),
    policy('guard', {
      targetRefs: [target('HTTPRoute', 'shop')],
      traffic: { apiKeyAuthentication: { secretRef: { name: 'keys' } } }
    }),
    ...more
  ]
  const closed = translate(...objects())
  const ask = await startedGateway(t, closed)
  assert.match(await ask('/', { authorization: 'Bearer a-key-of-ada' }), /^401 /)
  assert.equal(await ask('/open'), '200 open')
  assert.deepEqual(conditionTexts(statusOf(closed, 'GatewayPolicy', 'guard').ancestors?.[0]), [
    'Accepted=False Invalid',
    'Attached=False Pending',
    'ResolvedRefs=False RefNotFound'
  ])
  const open = translate(...objects(secret('keys', { ada: 'a-key-of-ada' })))
  const askOpen = await startedGateway(t, open)
  assert.equal(await askOpen('/', { authorization: 'Bearer a-key-of-ada' }), '200 open')
  assert.match(await askOpen('/', { authorization: 'Bearer another' }), /^401 /)
  assert.deepEqual(conditionTexts(statusOf(open, 'GatewayPolicy', 'guard').ancestors?.[0]), [
    'Accepted=True Accepted',
    'Attached=True Attached'
  ])
})

test('a policy of a Gateway whose mistake only compiling finds is closed or left out, and the rest goes on', async (t) => {
  const edge = { targetRefs: [target('Gateway', 'edge')] }
  const translation = translate(
    EDGE,
    backend('plain', { static: { host: '127.0.0.1', port: 1 } }),
    httpRoute('shop', 'edge', [toBackend('/', 'plain')]),
    httpRoute('own', 'edge', [toBackend('/own', 'plain')]),
    secret('users', { '.htaccess': 'no colon' }),
    policy('answer', { ...edge, ...answers('open') }),
    policy('guard', { ...edge, traffic: { basicAuthentication: { secretRef: { name: 'users' } } } }),
    policy('early', { ...edge, traffic: { phase: 'PreRouting', hostRewrite: 'Auto' } }),
    policy('own', {
      targetRefs: [target('HTTPRoute', 'own')],
      traffic: { basicAuthentication: { mode: 'Optional', users: ['ada:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M='] } }
    })
  )
  const ask = await startedGateway(t, translation)
  assert.match(await ask('/'), /^401 /)
  assert.equal(await ask('/own'), '200 open')
  for (const name of ['guard', 'early']) {
    const { conditions = [] } = statusOf(translation, 'GatewayPolicy', name).ancestors?.[0] ?? {}
    assert.deepEqual([conditions[0]?.status, conditions[0]?.reason], ['False', 'Invalid'], name)
  }
})

test('policies of a Service, of a GatewayBackend and of a selector reach the Gateways that use them', () => {
  const serviceRef = { group: '', kind: 'Service', name: 'plain' }
  const rules = [
    { matches: [{ path: { value: '/a' } }], backendRefs: [{ name: 'plain', port: 80 }] },
    toBackend('/b', 'tools')
  ]
  const translation = translate(
    EDGE,
    service('plain'),
    backend('tools', {
      mcp: { targets: [{ name: 'found', selector: { services: { matchLabels: { role: 'mcp' } } } }] }
    }),
    object('Service', 'server', { spec: { ports: [{ port: 8080 }] } }, { labels: { role: 'mcp' } }),
    httpRoute('shop', 'edge', rules),
    policy('a', { targetRefs: [serviceRef], backend: { tcp: { connectTimeout: '1s' } } }),
    policy('b', {
      targetRefs: [target('GatewayBackend', 'tools', { sectionName: 'found' })],
      backend: { auth: { key: 'a-key' } }
    })
  )
  for (const name of ['a', 'b']) {
    assert.deepEqual(
      conditionTexts(statusOf(translation, 'GatewayPolicy', name).ancestors?.[0]),
      ['Accepted=True Accepted', 'Attached=True Attached'],
      name
    )
  }
  const { backends } = draftOf(translation)
  const tools = backends['demo.tools'] as unknown as { targets: { host: string; auth: { kind: string } }[] }
  assert.deepEqual(
    tools.targets.map(({ host, auth }) => [host, auth.kind]),
    [['server.demo.svc.cluster.local', 'key']]
  )
  assert.deepEqual([...translation.gateways.get('demo/edge')!.services].sort(), ['demo/plain', 'demo/server'])
  assert.match(JSON.stringify(backends['demo.plain_80']), /"connectTimeoutMs":1000/)
})
