import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { execInfo, readExecCredential } from './credential.ts'

const V1 = 'client.authentication.k8s.io/v1'
const V1BETA1 = 'client.authentication.k8s.io/v1beta1'
const SECRET = 'very-secret-0123456789abcdef'

const answer = (status: unknown, apiVersion = V1) => JSON.stringify({ apiVersion, kind: 'ExecCredential', status })

test('what a program is told is an ExecCredential of its version, with the cluster when it is asked for', () => {
  assert.deepEqual(JSON.parse(execInfo(V1BETA1, true, null)), {
    apiVersion: V1BETA1,
    kind: 'ExecCredential',
    spec: { interactive: true }
  })
  const cluster = { server: 'https://a', 'tls-server-name': 'b', config: { audience: 'c' } }
  assert.deepEqual(JSON.parse(execInfo(V1, false, cluster)), {
    apiVersion: V1,
    kind: 'ExecCredential',
    spec: { interactive: false, cluster }
  })
})

test('tokens, certificates and times; what is empty or null is absent', () => {
  const read = (status: unknown) => readExecCredential(answer(status), V1)
  assert.deepEqual(read({ token: 'a' }), { token: 'a', certificate: null, expiresAt: null })
  const empty = { expirationTimestamp: null, clientCertificateData: '', clientKeyData: '' }
  assert.deepEqual(read({ token: 'a', ...empty }), { token: 'a', certificate: null, expiresAt: null })
  const expiresAt = Date.UTC(2030, 0, 2, 1, 4, 5, 60)
  assert.equal(read({ token: 'a', expirationTimestamp: '2030-01-02T03:04:05.06+02:00' }).expiresAt, expiresAt)
  const { cert, key } = authority('exec.test').issue('/CN=me')
  const certificate = { cert, key }
  assert.deepEqual(read({ clientCertificateData: cert, clientKeyData: key }).certificate, certificate)
})

test('what is wrong with an answer is said without a word of it', () => {
  const [one, two] = [authority('exec.test').issue('/CN=one'), authority('exec.test').issue('/CN=two')]
  const cases: readonly (readonly [output: string, message: RegExp])[] = [
    ['', /^its answer is no JSON$/],
    [SECRET, /^its answer is no JSON$/],
    ['null', /^its answer is no ExecCredential: all of it: /],
    [JSON.stringify({ apiVersion: V1, kind: SECRET }), /^its answer is no ExecCredential: kind: /],
    [answer({ token: 7 }), /^its answer is no ExecCredential: status\.token: /],
    [answer({ token: SECRET }, V1BETA1), /^its answer is not of apiVersion client.authentication.k8s.io\/v1, which /],
    [answer(undefined), /^its answer has no status$/],
    [answer({}), /^its answer has no token and no client certificate$/],
    [answer({ clientKeyData: SECRET }), /^its answer has a client certificate or its key, and not both$/],
    [answer({ clientKeyData: SECRET, clientCertificateData: SECRET }), /^its client certificate or key is no PEM$/],
    [
      answer({ clientKeyData: one.key, clientCertificateData: two.cert }),
      /^its key is not that of its client certificate$/
    ],
    [answer({ token: `${SECRET}\r\nx: y` }), /^its token has characters that no header can have$/],
    [answer({ token: 'a', expirationTimestamp: SECRET }), /^its expirationTimestamp is no time of RFC 3339$/],
    [answer({ token: 'a', expirationTimestamp: '2030-13-40T00:00:00Z' }), /^its expirationTimestamp is no time/]
  ]
  for (const [output, says] of cases) {
    assert.throws(
      () => readExecCredential(output, V1),
      ({ message }: Error) => {
        assert.match(message, says)
        assert.ok(!message.includes(SECRET), message)
        return true
      }
    )
  }
})
