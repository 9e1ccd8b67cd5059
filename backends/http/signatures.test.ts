/** Signature Version 4 on requests to plain servers, recomputed by AWS's own signer. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { signatureProblem } from '#engine/testing/aws.ts'
import { authority } from '#engine/testing/certificates.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { at, fileOf, gatewayOf, listening, type Seen, serverOf } from './auth.fixture.ts'

const KEYS = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws', sessionToken: 'session' }

/** Null: AWS's own signer signs what arrived in the same way. */
const problemOf = ({ method, url, headers, body }: Seen, service = 'execute-api'): Promise<string | null> =>
  signatureProblem({ method, path: url, headers, bytes: body }, KEYS, 'eu-west-1', service)

test("requests of every kind are signed as AWS's own library signs them, bodies included", async (t) => {
  const { port, seen } = await serverOf(t)
  const aws = { ...KEYS, region: 'eu-west-1', service: 'execute-api' }
  const gateway = await gatewayOf(t, { backends: [at(port, { aws })] })
  const url = `http://127.0.0.1:${gateway.port}`
  const forged = { authorization: 'AWS4-HMAC-SHA256 x', 'x-amz-date': '19990101T000000Z', 'x-amz-security-token': 'y' }
  for (const path of [
    '/',
    '/a//b/',
    '/a%20b/%C3%A9',
    '/~x/(1)!*',
    '/a?b=c&a=%2F%3D&b=a',
    '/a?x',
    '/?%E2%9C%93=1&a=b%20c'
  ]) {
    equal((await fetch(url + path, { headers: forged })).status, 200, path)
    equal(await problemOf(seen.at(-1)!), null, path)
  }
  const bodies = ['', 'hello', Buffer.alloc(1_500_000, 'x')]
  for (const body of bodies) {
    await fetch(`${url}/put`, { method: 'PUT', body, headers: { 'x-amz-meta-a': ' two  blanks ' } })
    equal(await problemOf(seen.at(-1)!), null)
    equal(seen.at(-1)!.body.length, body.length)
  }
  // A body whose length is not known ahead gets one.
  const chunked = httpRequest(`${url}/chunked`, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } })
  chunked.write('one')
  chunked.end('two')
  await once(chunked, 'response')
  const last = seen.at(-1)!
  deepEqual([last.headers['content-length'], last.body.toString(), await problemOf(last)], ['6', 'onetwo', null])
})

test('over TLS a body for S3 is sent as it comes, unsigned, beyond what is kept of others', async (t) => {
  const ours = authority('ours')
  const folder = mkdtempSync(join(tmpdir(), 'weir-s3-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const root = join(folder, 'root.pem')
  writeFileSync(root, ours.cert)
  const seen: Seen[] = []
  const arrived = new EventEmitter()
  const server = createTlsServer(ours.issue('/CN=s3', ['DNS:s3.example']), async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) {
      pieces.push(piece as Buffer)
      arrived.emit('piece')
    }
    const { method = '', url = '', headers } = request
    seen.push({ method, url, headers, body: Buffer.concat(pieces) })
    response.end('ok')
  })
  t.after(() => server.closeAllConnections())
  const port = await listening(t, server)
  const gatewayFor = async (service: string) => {
    const tls = { root, sni: 's3.example' }
    const policies = { tls, auth: { aws: { ...KEYS, region: 'eu-west-1', service } } }
    const file = JSON.parse(fileOf({ backends: [{ host: `127.0.0.1:${port}`, policies }] })) as object
    const gateway = await startGateway(JSON.stringify({ ...file, frontendPolicies: { http: { maxBufferSize: 1000 } } }))
    t.after(() => gateway.close())
    return `http://127.0.0.1:${gateway.port}`
  }
  const url = await gatewayFor('s3')
  equal((await fetch(`${url}/a/b%2F?x=1&y`, { method: 'PUT', body: 'x'.repeat(3_000_000) })).status, 200)
  // Of what is sent in pieces the first arrives before the last one is written.
  const chunked = httpRequest(`${url}/chunked`, { method: 'PUT' })
  const first = once(arrived, 'piece')
  chunked.write('one')
  await first
  chunked.end('two'.repeat(1000))
  await once(chunked, 'response')
  equal((await fetch(`${url}/empty`, { method: 'DELETE' })).status, 200)
  for (const one of seen) {
    deepEqual([one.headers['x-amz-content-sha256'], await problemOf(one, 's3')], ['UNSIGNED-PAYLOAD', null])
  }
  deepEqual(
    seen.map(({ headers, body }) => [body.length, headers['transfer-encoding']]),
    [
      [3_000_000, undefined],
      [3003, 'chunked'],
      [0, undefined]
    ]
  )
  // Other services take no such body, so that it has to be kept.
  const other = await gatewayFor('execute-api')
  equal((await fetch(other, { method: 'PUT', body: 'x'.repeat(1001) })).status, 413)
  equal(seen.length, 3)
})

test('a body that is too long to be signed is refused, and is not sent', async (t) => {
  const { port, seen } = await serverOf(t)
  const aws = { ...KEYS, region: 'eu-west-1', service: 'execute-api' }
  const file = JSON.parse(fileOf({ backends: [at(port, { aws })] })) as object
  const gateway = await startGateway(JSON.stringify({ ...file, frontendPolicies: { http: { maxBufferSize: 1000 } } }))
  t.after(() => gateway.close())
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/`, { method: 'POST', body: 'x'.repeat(1001) })
  deepEqual([answer.status, seen.length], [413, 0])
})

test('each retry is signed again, with the keys of a secret', async (t) => {
  let count = 0
  const { port, seen } = await serverOf(t, () => (++count < 3 ? 503 : 200))
  const secrets = [
    {
      name: 'aws',
      entries: { accessKey: KEYS.accessKeyId, secretKey: KEYS.secretAccessKey, sessionToken: KEYS.sessionToken }
    }
  ]
  const auth = { aws: { secretRef: { name: 'aws' }, region: 'eu-west-1', service: 's3' } }
  const route = { retry: { attempts: 3, codes: [503] } }
  const gateway = await gatewayOf(t, { route, secrets, backends: [at(port, auth)] })
  const answer = await fetch(`http://127.0.0.1:${gateway.port}/key%2Fwith/../dots//x`, { method: 'PUT', body: 'again' })
  equal(answer.status, 200)
  equal(seen.length, 3)
  for (const one of seen) equal(await problemOf(one, 's3'), null)
  // Without TLS the body is signed, also for S3.
  match(String(seen[0]!.headers['x-amz-content-sha256']), /^[0-9a-f]{64}$/)
})
