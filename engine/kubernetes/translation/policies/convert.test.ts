import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { objectOf } from '#engine/schema/placed.ts'
import { z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import {
  build,
  configMap,
  findingsOf,
  gatewayBackend,
  gatewayPolicy,
  grant,
  OPTIONS,
  secret,
  service,
  storeOf,
  target
} from './cluster.fixture.ts'
import { Converter } from './convert.ts'
import { policiesOf, secretEntries, translateBackend } from './index.ts'
import { schemasOf } from './schemas.ts'

const ROUTE = { group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: 'shop' }
const SERVICE = { group: '', kind: 'Service', name: 'checks', port: 9000 }

const found = (spec: object, ...objects: readonly KubernetesObject[]) =>
  policiesOf(
    target('HTTPRoute', 'shop'),
    storeOf(gatewayPolicy('a', { targetRefs: [ROUTE], ...spec }), ...objects),
    OPTIONS
  )

test('a reference to a Service or a GatewayBackend becomes the name of a backend, which is needed then', () => {
  const checks = service('checks', 9000)
  const own = found({ traffic: { extAuth: { backendRef: SERVICE, grpc: {} } } }, checks)
  assert.deepEqual(own.sets.value, [{ extAuth: { backendRef: { name: 'default.checks_9000' }, grpc: {} } }])
  assert.deepEqual([...own.backends], ['default.checks_9000'])
  const ref = { group: 'weir.dev', kind: 'GatewayBackend', name: 'checks' }
  const named = found(
    { traffic: { extAuth: { backendRef: ref, grpc: {} } } },
    gatewayBackend('checks', { static: { host: 'checks', port: 1 } })
  )
  assert.deepEqual([...named.backends], ['default.checks'])
})

test('a reference into another namespace needs a ReferenceGrant there, for this kind of object', () => {
  const spec = { traffic: { extProc: { backendRef: { ...SERVICE, namespace: 'other' } } } }
  const checks = service('checks', 9000, { namespace: 'other' })
  const to = { group: '', kind: 'Service' }
  const from = (kind: string, namespace = 'default') => ({ group: 'weir.dev', kind, namespace })
  const reasons = (...objects: readonly KubernetesObject[]) =>
    found(spec, checks, ...objects).faults.map(({ reason }) => reason)
  assert.deepEqual(reasons(), ['RefNotPermitted'])
  assert.deepEqual(reasons(grant('other', from('GatewayBackend'), to)), ['RefNotPermitted'])
  assert.deepEqual(reasons(grant('other', from('GatewayPolicy', 'third'), to)), ['RefNotPermitted'])
  assert.deepEqual(reasons(grant('default', from('GatewayPolicy'), to)), ['RefNotPermitted'])
  assert.deepEqual(reasons(grant('other', from('GatewayPolicy'), to)), [])
})

test('a Secret becomes an entry of secrets, whose texts are paths', () => {
  const users = secret('users', { '.htaccess': 'ada:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=' })
  const { sets, secrets } = found({ traffic: { basicAuthentication: { secretRef: { name: 'users' } } } }, users)
  assert.deepEqual(sets.value, [{ basicAuthentication: { secretRef: { name: 'default.users' } } }])
  const [entry] = secretEntries(secrets, storeOf(users)).entries
  assert.deepEqual(entry?.value, {
    name: 'default.users',
    labels: { 'weir.dev/namespace': 'default' },
    entries: { '.htaccess': { file: '/Secret/default/users/.htaccess' } }
  })
})

test('a Secret of another namespace is not there, and one that holds nothing is of no use', () => {
  const spec = { traffic: { basicAuthentication: { secretRef: { name: 'users' } } } }
  const messages = (...objects: readonly KubernetesObject[]) =>
    found(spec, ...objects).faults.map(({ message }) => message)
  const elsewhere = secret('users', { '.htaccess': 'a' }, { namespace: 'other' })
  assert.deepEqual(messages(elsewhere), ['there is no Secret default/users'])
  assert.deepEqual(messages(secret('users', {})), ['Secret default/users holds nothing'])
  assert.deepEqual(messages(configMap('users', { '.htaccess': 'a' })), ['there is no Secret default/users'])
})

test('authorities stand in a Secret or in a ConfigMap; of both of one name the Secret holds', () => {
  const spec = { backend: { tls: { caCertificateRefs: [{ name: 'roots' }] } } }
  const names = (...objects: readonly KubernetesObject[]) => {
    const { sets, secrets } = found(spec, ...objects)
    return [sets.value, [...secrets]]
  }
  const named = (name: string) => [[{ tls: { caCertificateRefs: [{ name }] } }], [name]]
  const map = configMap('roots', { 'ca.crt': 'pem' })
  assert.deepEqual(names(map), named('default.roots_configmap'))
  assert.deepEqual(names(map, secret('roots', { 'ca.crt': 'pem' })), named('default.roots'))
})

test('a selector finds the Secrets of its own namespace alone, whatever labels others give themselves', () => {
  const labels = { team: 'a' }
  const spec = { traffic: { apiKeyAuthentication: { secretSelector: { matchLabels: labels } } } }
  const pretended = { ...labels, 'weir.dev/namespace': 'default' }
  const objects = [
    secret('one', { ada: 'a-key-of-ada' }, { labels }),
    secret('two', { bob: 'a-key-of-bob' }, { labels: { team: 'b' } }),
    secret('three', { eve: 'a-key-of-eve' }, { labels: pretended, namespace: 'other' }),
    service('plain', 80)
  ]
  const own = found(spec, ...objects)
  assert.deepEqual([...own.secrets], ['default.one'])
  const inNamespace = { matchLabels: { ...labels, 'weir.dev/namespace': 'default' } }
  assert.deepEqual(own.sets.value, [{ apiKeyAuthentication: { secretSelector: inNamespace } }])
  // Those of another namespace are there for a policy of that one.
  const store = storeOf(gatewayPolicy('a', { targetRefs: [ROUTE], ...spec }), ...objects)
  const { compiled } = build(store, ['default.plain_80'])
  assert.ok('snapshot' in compiled)
  const entries = secretEntries(['default.one', 'other.three'], store).entries.map(({ value }) =>
    objectOf(value.labels)
  )
  assert.deepEqual(
    entries.map((all) => all['weir.dev/namespace']),
    ['default', 'other']
  )
  assert.deepEqual(
    found({ traffic: { apiKeyAuthentication: { secretSelector: { matchLabels: { no: 'one' } } } } }).faults.map(
      ({ reason }) => reason
    ),
    ['RefNotFound']
  )
})

test('a match of a header field is a value, exact or as an expression', () => {
  const webhook = {
    backendRef: SERVICE,
    forwardHeaderMatches: [
      { name: 'x-a', value: 'one' },
      { type: 'RegularExpression', name: 'x-b', value: 't.*' }
    ]
  }
  const { sets } = found({ backend: { ai: { promptGuard: { request: [{ webhook }] } } } }, service('checks', 9000))
  const [guard] = objectOf(objectOf(sets.value[0]?.ai).promptGuard).request as [{ webhook: unknown }]
  assert.deepEqual(guard.webhook, {
    backendRef: { name: 'default.checks_9000' },
    forwardHeaderMatches: [
      { name: 'x-a', value: { exact: 'one' } },
      { name: 'x-b', value: { regex: 't.*' } }
    ]
  })
})

test('what is wrong with a converted value is said of the place in the object', () => {
  const broken = secret('users', { '.htaccess': 'no colon' })
  const spec = { targetRefs: [ROUTE], traffic: { basicAuthentication: { secretRef: { name: 'users' } } } }
  const store = storeOf(gatewayPolicy('a', spec), broken, service('plain', 80))
  const [finding = ''] = findingsOf(build(store, ['default.plain_80']))
  assert.match(finding, /^GatewayPolicy\/default\/a spec\.traffic\.basicAuthentication\.secretRef\.name: /)
})

test('a GatewayBackend is an entry with its name; one that is refused answers 500, and the others stand', () => {
  const made = translateBackend(gatewayBackend('a', { static: { host: 'a.example', port: 80 } }), storeOf(), OPTIONS)
  assert.deepEqual(made.entry.value, { name: 'default.a', static: { host: 'a.example', port: 80 } })
  assert.equal(made.isRefused, false)
  const wrong = translateBackend(gatewayBackend('b', { static: { host: 'b.example', port: 0 } }), storeOf(), OPTIONS)
  assert.equal(wrong.isRefused, true)
  assert.deepEqual(
    wrong.faults.map(({ reason, place }) => [reason, place.path]),
    [['Invalid', ['spec', 'static', 'port']]]
  )
  assert.deepEqual(Object.keys(wrong.entry.value), ['name', 'invalid'])
})

test('what a lazy schema stands for is made once', () => {
  let count = 0
  const inner = () => z.object({ ref: inResources(z.object({ name: z.string() }), 'LocalObjectReference') })
  const entry = z.lazy(() => {
    count++
    return inner()
  })
  const converter = new Converter({
    resources: schemasOf(OPTIONS).resources,
    words: new Proxy({} as never, { get: () => (value: unknown) => value }),
    moved: () => {}
  })
  const value = Array.from({ length: 100 }, (_, i) => ({ ref: { name: `n${i}` } }))
  assert.deepEqual(converter.convert(z.array(entry.optional()), value), value)
  assert.equal(count, 1)
})
