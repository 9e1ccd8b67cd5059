import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ManualTime } from '#engine/testing/manual-time.ts'
import type { ApiConnection, Presented } from './connection.ts'
import { inCluster } from './in-cluster.ts'
import { connectionOf } from './kubeconfig.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

const kubeconfig = (cluster: object = {}, user: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Config',
  preferences: {},
  'current-context': 'dev',
  contexts: [
    { name: 'dev', context: { cluster: 'near', user: 'me', namespace: 'demo' } },
    { name: 'live', context: { cluster: 'far', user: 'me' } }
  ],
  clusters: [
    { name: 'near', cluster: { server: 'https://127.0.0.1:6443', ...cluster } },
    { name: 'far', cluster: { server: 'https://far.example/clusters/one' } }
  ],
  users: [{ name: 'me', user }]
})

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'weir-kubeconfig-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

const OPTIONS = { folder: tmpdir(), time: new ManualTime(), env: {}, hasTerminal: false }

/** What a request shows; for credentials that no program makes. */
function shown({ credentials }: ApiConnection): Presented {
  const presented = credentials.present()
  assert.ok(!(presented instanceof Promise))
  return presented
}

test('the current context says where and who, another one when it is chosen', () => {
  const config = kubeconfig({ 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api' }, { token: 'abc' })
  const dev = connectionOf(config, OPTIONS)
  assert.equal(dev.url, 'https://127.0.0.1:6443')
  assert.equal(dev.namespace, 'demo')
  assert.deepEqual(shown(dev), { authorization: 'Bearer abc', tls: { ca: 'CA', servername: 'api' } })
  const live = connectionOf(config, { ...OPTIONS, context: 'live' })
  assert.equal(live.url, 'https://far.example/clusters/one')
  assert.equal(live.namespace, null)
})

test('certificates in place and in files, also of relative paths', (t) => {
  const path = folder(t)
  writeFileSync(join(path, 'key.pem'), 'KEY')
  const user = { 'client-certificate-data': base64('CERT'), 'client-key': 'key.pem' }
  const config = kubeconfig({ 'insecure-skip-tls-verify': true }, user)
  const tls = { cert: 'CERT', key: 'KEY', rejectUnauthorized: false }
  assert.deepEqual(shown(connectionOf(config, { ...OPTIONS, folder: path })), { authorization: null, tls })
})

test('a file of a token is read again: after a minute, and at once when the token was refused', (t) => {
  const path = folder(t)
  const file = join(path, 'token')
  writeFileSync(file, 'one\n')
  const time = new ManualTime()
  const config = kubeconfig({}, { token: 'not this', tokenFile: file })
  const connection = connectionOf(config, { ...OPTIONS, folder: path, time })
  const authorization = () => shown(connection).authorization
  assert.equal(authorization(), 'Bearer one')
  writeFileSync(file, 'two\n')
  assert.equal(authorization(), 'Bearer one')
  time.pass(60_000)
  assert.equal(authorization(), 'Bearer two')
  writeFileSync(file, 'three\n')
  connection.credentials.refused(shown(connection))
  assert.equal(authorization(), 'Bearer three')
  rmSync(file)
  time.pass(60_000)
  assert.equal(authorization(), 'Bearer three')
})

test('a name and a password', () => {
  const connection = connectionOf(kubeconfig({}, { username: 'a', password: 'b' }), OPTIONS)
  assert.equal(shown(connection).authorization, `Basic ${base64('a:b')}`)
})

test('what is wrong in it is named', () => {
  const cases: readonly (readonly [config: object, message: RegExp])[] = [
    [{}, /^kubeconfig: current-context: is required/],
    [{ 'current-context': 'gone' }, /^kubeconfig: contexts: there is none of the name gone/],
    [{ ...kubeconfig(), clusters: [] }, /^kubeconfig: clusters: there is none of the name near/],
    [{ ...kubeconfig(), users: null }, /^kubeconfig: users: there is none of the name me/],
    [kubeconfig({ server: 'ftp://a' }), /^kubeconfig: clusters: near: server: must be a URL of http or https/],
    [kubeconfig({ server: 7 }), /^kubeconfig: clusters\.0\.cluster\.server: /],
    [kubeconfig({ 'proxy-url': 'http://proxy' }), /proxy-url: is not supported/],
    [kubeconfig({}, { 'auth-provider': { name: 'gcp' } }), /auth-provider: is not run/]
  ]
  for (const [config, message] of cases) assert.throws(() => connectionOf(config, OPTIONS), { message })
})

test('a pod has its address from the environment, and the rest from files that are renewed', (t) => {
  const path = folder(t)
  for (const [name, text] of [
    ['token', 'abc'],
    ['ca.crt', 'CA'],
    ['namespace', 'weir-system\n']
  ] as const)
    writeFileSync(join(path, name), text)
  const env = { KUBERNETES_SERVICE_HOST: 'fd00::1', KUBERNETES_SERVICE_PORT: '443' }
  const connection = inCluster({ env, now: () => 0, folder: path })!
  assert.equal(connection.url, 'https://[fd00::1]:443')
  assert.equal(connection.namespace, 'weir-system')
  assert.deepEqual(shown(connection), { authorization: 'Bearer abc', tls: { ca: 'CA' } })
  writeFileSync(join(path, 'token'), 'def')
  connection.credentials.refused(shown(connection))
  assert.equal(shown(connection).authorization, 'Bearer def')
  assert.equal(inCluster({ env: {}, now: () => 0, folder: path }), null)
  assert.throws(() => inCluster({ env, now: () => 0, folder: join(path, 'nothing') }), /ENOENT/)
})
