import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { policies } from '#policies/index.ts'
import { build, findingsOf, gatewayPolicy, OPTIONS, service, storeOf, target } from './cluster.fixture.ts'
import { policiesOf } from './index.ts'

const GUARDS = policies.filter(({ closed }) => closed !== undefined && closed !== null)

/** `csrf` guards against nothing else. */
const FROM_ANOTHER_SITE = { origin: 'https://elsewhere.example' }
const credentials = [undefined, 'Bearer a.b.c', `Basic ${btoa('closed:')}`, 'Bearer closed']

test('what is closed lets no request pass, whatever it shows', async (t) => {
  const start = async (guards: object) => {
    const routes = [{ policies: { ...guards, directResponse: { status: 200, body: 'open' } } }]
    const weir = await startGateway(JSON.stringify({ binds: [{ port: 1, listeners: [{ routes }] }] }))
    t.after(() => weir.close())
    return weir
  }
  assert.equal((await fetch(`http://127.0.0.1:${(await start({})).port}/`)).status, 200)
  for (const { name, closed } of GUARDS) {
    const weir = await start({ [name]: closed })
    for (const authorization of credentials) {
      const headers = { ...FROM_ANOTHER_SITE, ...(authorization === undefined ? {} : { authorization }) }
      const { status } = await fetch(`http://127.0.0.1:${weir.port}/`, { method: 'POST', headers })
      assert.ok(status >= 400, `${name} answers ${status} to ${authorization}`)
    }
  }
})

test('all policies that say who may pass have a closed form', () => {
  const names = GUARDS.map(({ name }) => name).sort()
  assert.deepEqual(names, [
    'apiKeyAuthentication',
    'authorization',
    'basicAuthentication',
    'csrf',
    'extAuth',
    'extProc',
    'jwtAuthentication',
    'mcpAuthentication',
    'virtualKeys'
  ])
})

test('a policy that cannot be carried out is closed where it guards, left out otherwise, and says why', () => {
  const route = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'shop' }
  const store = storeOf(
    service('plain', 80),
    gatewayPolicy('broken', {
      targetRefs: [route],
      traffic: {
        basicAuthentication: { secretRef: { name: 'missing' } },
        cors: { allowOrigins: ['https://a.example'] }
      },
      backend: { tls: { caCertificateRefs: [{ name: 'missing' }] }, tcp: { connectTimeout: '1s' } }
    })
  )
  const { sets, faults } = policiesOf(target('HTTPRoute', 'shop'), store, OPTIONS)
  assert.deepEqual(
    sets.value.map((set) => Object.keys(set)),
    [['basicAuthentication', 'tls']]
  )
  assert.deepEqual(
    faults.map(({ type, reason, message, place }) => [type, reason, message, place.path.join('.')]),
    [
      [
        'ResolvedRefs',
        'RefNotFound',
        'there is no Secret default/missing',
        'spec.traffic.basicAuthentication.secretRef'
      ],
      [
        'ResolvedRefs',
        'RefNotFound',
        'there is no Secret or ConfigMap default/missing',
        'spec.backend.tls.caCertificateRefs.0'
      ]
    ]
  )
  const { compiled } = build(store, ['default.plain_80'])
  assert.ok('snapshot' in compiled, 'what is closed compiles')
})

test('a policy that its schema refuses takes nothing else with it', () => {
  const targetRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }]
  const store = storeOf(
    service('plain', 80),
    gatewayPolicy('a-bad-one', {
      targetRefs,
      traffic: { cors: { allowOrigin: ['*'] }, authorization: { policy: { matchExpressions: ['request.('] } } }
    }),
    gatewayPolicy('good', { targetRefs, traffic: { csrf: {} } })
  )
  const built = build(store, ['default.plain_80'])
  assert.deepEqual(Object.keys((built.value.policies as object[])[0]!), ['authorization', 'csrf'])
  const found = findingsOf(built)
  assert.ok(
    found.some((one) => one.startsWith('GatewayPolicy/default/a-bad-one spec.traffic.cors')),
    found.join('\n')
  )
  assert.ok(
    found.every((one) => one.includes('a-bad-one')),
    found.join('\n')
  )
  assert.ok('snapshot' in built.compiled)
})
