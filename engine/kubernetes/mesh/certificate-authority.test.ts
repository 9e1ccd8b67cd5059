/** Requests for certificates, and the authority that signs them. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { startMeshAuthority } from '#engine/testing/mesh-authority.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'
import { parseAuthority } from './authority-address.ts'
import { CertificateAuthority } from './certificate-authority.ts'
import { certificateRequest } from './certificate-request.ts'

const URI = 'spiffe://cluster.local/ns/demo/sa/edge'
const root = authority('root.test')

test('a request is one that OpenSSL verifies, with the name of the workload alone', () => {
  const { text } = certificateRequest(URI)
  const shown = execFileSync(systemProgram('openssl'), ['req', '-verify', '-noout', '-text'], {
    input: text,
    stdio: 'pipe'
  }).toString()
  match(shown, /Subject: *\n/)
  match(shown, /X509v3 Subject Alternative Name: critical\s+URI:spiffe:\/\/cluster\.local\/ns\/demo\/sa\/edge\n/)
  match(shown, /ASN1 OID: prime256v1/)
})

test('the authority signs what the token allows, and its refusals are told', async (t) => {
  const server = await startMeshAuthority(root, 'good')
  t.after(() => server.close())
  const signer = new CertificateAuthority({ host: '127.0.0.1', port: server.port })
  const { text: request, key } = certificateRequest(URI)
  const [leaf, top] = await signer.sign({ request, ca: root.cert, token: 'good' })
  const certificate = new X509Certificate(leaf!)
  equal(certificate.subjectAltName, `URI:${URI}`)
  ok(certificate.checkPrivateKey(key))
  equal(top, root.cert)
  const refused = signer.sign({ request, ca: root.cert, token: 'bad' })
  await rejects(refused, /gRPC status 16: request authenticate failure/)
  const other = signer.sign({ request, ca: authority('other.test').cert, token: 'good' })
  await rejects(other, /^Error: 127\.0\.0\.1:\d+: no TLS connection.*unknown authority/)
  equal(server.signed.length, 1)
  server.close()
  await rejects(signer.sign({ request, ca: root.cert, token: 'good' }), /refused the connection/)
})

test('an authority of several clusters is told which one has made the token', async (t) => {
  const server = await startMeshAuthority(root, 'good')
  t.after(() => server.close())
  const { text: request } = certificateRequest(URI)
  for (const cluster of ['', 'arn:aws:eks:eu-1:1:cluster/east']) {
    const signer = new CertificateAuthority({ host: '127.0.0.1', port: server.port }, cluster)
    await signer.sign({ request, ca: root.cert, token: 'good' })
  }
  deepEqual(server.clusters, ['', 'arn:aws:eks:eu-1:1:cluster/east'])
})

test('an authority that gives less than is asked for is asked for what it likes', async (t) => {
  const server = await startMeshAuthority(root, 'good')
  t.after(() => server.close())
  server.validSecondsMax = 3_600n
  const signer = new CertificateAuthority({ host: '127.0.0.1', port: server.port })
  const { text: request } = certificateRequest(URI)
  equal((await signer.sign({ request, ca: root.cert, token: 'good' })).length, 2)
  equal(server.signed.length, 1)
  server.validSecondsMax = -1n
  const refused = signer.sign({ request, ca: root.cert, token: 'good' })
  await rejects(refused, /gRPC status 3: CSR signing error/)
})

test('addresses of authorities have a port, and TLS', () => {
  const good = { host: 'istiod.istio-system.svc', port: 15_012 }
  for (const text of ['istiod.istio-system.svc:15012', 'https://istiod.istio-system.svc:15012']) {
    equal(JSON.stringify(parseAuthority(text)), JSON.stringify(good))
  }
  equal(parseAuthority('[::1]:1')?.host, '::1')
  for (const text of ['istiod', 'http://istiod:15012', 'istiod:0', 'istiod:65536', 'a b:1', '']) {
    equal(parseAuthority(text), null, text)
  }
})
