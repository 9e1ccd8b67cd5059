import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { type Accepted, objectOf } from '#engine/kubernetes/testing/case.ts'
import { ACCEPTED } from '#engine/kubernetes/testing/tables.ts'
import { TestAuthority } from '#engine/testing/authority.ts'
import { build, configMap, findingsOf, gatewayBackend, grant, secret, service, storeOf } from './cluster.fixture.ts'

const authority = new TestAuthority()
after(() => authority.remove())
const leaf = authority.leaf()
const pem = (path: string) => readFileSync(path, 'utf8')

/** What the tables of accepted objects refer to. */
const REFERRED = [
  gatewayBackend('models', { ai: { provider: { bedrock: { region: 'eu-west-1' } } } }),
  service('checks', 9000),
  service('collector', 4317),
  service('plain', 80),
  secret('users', { '.htaccess': 'ada:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n' }),
  secret('keys', { ada: 'a-key-of-ada', bob: '{"key":"a-key-of-bob","metadata":{"team":"a"}}' }),
  secret('of-team-a', { eve: 'a-key-of-eve' }, { labels: { team: 'a' } }),
  secret('key', { Authorization: 'a-key' }),
  secret('credentials', { accessKey: 'AKIA', secretKey: 'hidden', Authorization: 'a-key' }),
  secret('own', { 'tls.crt': pem(leaf.cert), 'tls.key': pem(leaf.key) }),
  gatewayBackend('collector', { static: { host: 'collector', port: 4317 } }, { namespace: 'telemetry' }),
  grant(
    'telemetry',
    { group: 'weir.dev', kind: 'GatewayPolicy', namespace: 'default' },
    { group: 'weir.dev', kind: 'GatewayBackend', name: 'collector' }
  ),
  configMap('authorities', { 'ca.crt': authority.rootText })
]

/** Signatures of AWS are for what AWS has. */
const isForAws = (one: Accepted) => /"(aws|cloudD)"/.test(JSON.stringify(one.spec))

function findingsWith(one: Accepted): string[] {
  const object = objectOf(one, 'subject') as unknown as KubernetesObject
  const isBackend = one.kind === 'GatewayBackend'
  const name = isBackend ? 'default.subject' : isForAws(one) ? 'default.models' : 'default.plain_80'
  return findingsOf(build(storeOf(...REFERRED, object), [name]))
}

test('every object that API servers take is part of a configuration that compiles', () => {
  for (const one of ACCEPTED.filter(({ kind }) => kind !== 'GatewayParameters')) {
    assert.deepEqual(findingsWith(one), [], `${one.kind}: ${one.name}`)
  }
})
