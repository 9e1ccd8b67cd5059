/** Keys of issuers that are backends of the file, fetched by the policies of the backend. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { hour, KeyServer, keySet, signingKey, token } from '#engine/testing/tokens.ts'

const first = signingKey('ES256')
const second = signingKey('ES256')
const ISSUER = 'https://issuer.example'
const REMOTE = { backendRef: { name: 'idp' }, jwksPath: 'realms/a/jwks.json?tenant=canary' }
const KEYS_PLACE = 'idp/realms/a/jwks.json'

const configOf = (idp: object, policies: object) =>
  JSON.stringify({
    backends: [{ name: 'idp', ...idp }],
    binds: [{ port: 0, listeners: [{ routes: [{ policies: { ...policies, directResponse: { status: 204 } } }] }] }]
  })

const jwt = (more: object = {}) => ({ jwtAuthentication: { issuer: ISSUER, jwks: { remote: REMOTE }, ...more } })

async function gateway(t: TestContext, text: string): Promise<TestGateway> {
  const started = await startGateway(text)
  t.after(() => started.close())
  return started
}

async function keyServer(t: TestContext, body: KeyServer['body'] = keySet([first])): Promise<KeyServer> {
  const server = await new KeyServer('').start()
  server.body = body
  t.after(() => server.stop())
  return server
}

const at = ({ port }: KeyServer) => ({ host: `127.0.0.1:${port}` })

async function statusOf({ port }: TestGateway, text: string): Promise<number> {
  const head = `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${text}\r\n\r\n`
  return Number((await exchangeRaw(port, head)).slice(9, 12))
}

test('keys come from the path at the backend, for jwtAuthentication and mcpAuthentication', async (t) => {
  const seen: unknown[] = []
  const server = await keyServer(t, (response) => {
    const { url, headers, method } = response.req
    seen.push([method, url, headers.host, headers.accept])
    response.end(keySet([first]))
  })
  const mcp = { mcpAuthentication: { issuer: ISSUER, audiences: ['m'], jwks: { remote: REMOTE } } }
  for (const policies of [jwt(), mcp]) {
    const weir = await gateway(t, configOf(at(server), policies))
    assert.equal(await statusOf(weir, await token(first, hour({ aud: 'm' }))), 204)
    assert.equal(await statusOf(weir, await token(second, hour({ aud: 'm' }))), 401)
  }
  const accept = 'application/jwk-set+json, application/json'
  const request = ['GET', '/realms/a/jwks.json?tenant=canary', `127.0.0.1:${server.port}`, accept]
  assert.deepEqual([seen[0], seen.at(-1)], [request, request])
})

test('the TLS policy of the backend holds: a certificate of another authority gives no keys', async (t) => {
  const ours = authority('ours')
  const folder = mkdtempSync(join(tmpdir(), 'weir-jwks-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const server = createServer(ours.issue('/CN=idp', ['DNS:idp.example']), (_request, response) =>
    response.end(keySet([first]))
  )
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const backend = (ca: string) => {
    const root = join(folder, 'ca.pem')
    writeFileSync(root, ca)
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    return { host, policies: { tls: { root, sni: 'idp.example' } } }
  }
  const text = await token(first)
  assert.equal(await statusOf(await gateway(t, configOf(backend(ours.cert), jwt())), text), 204)
  const weir = await gateway(t, configOf(backend(authority('theirs').cert), jwt()))
  assert.equal(await statusOf(weir, text), 503)
  assert.match(
    weir.logged[0]!,
    new RegExp(`^warn: cannot fetch the keys of ${KEYS_PLACE}: .*; tokens of this issuer get 503$`)
  )
})

test('a backend that is away, or answers otherwise: 503 with a reason that quotes nothing', async (t) => {
  const gone = await keyServer(t)
  const backend = at(gone)
  await gone.stop()
  const redirect = await keyServer(t, (response) => response.writeHead(302, { location: 'http://canary/' }).end())
  const rows: [object, RegExp][] = [
    [backend, /ECONNREFUSED|connection/i],
    [at(redirect), /the answer has status 302: redirects are not followed, give the final path as jwksPath/],
    [at(await keyServer(t, '<html>canary')), /the key set is not JSON/],
    [at(await keyServer(t, 'x'.repeat(196_609))), /the answer is longer than 196608 bytes/]
  ]
  for (const [idp, reason] of rows) {
    const weir = await gateway(t, configOf(idp, jwt()))
    assert.equal(await statusOf(weir, await token(first)), 503)
    assert.match(weir.logged[0]!, reason)
    assert.ok(weir.logged[0]!.startsWith(`warn: cannot fetch the keys of ${KEYS_PLACE}: `), weir.logged[0])
    assert.ok(!weir.logged.join().includes('canary'))
  }
})

test('over a reload keys stay as long as the backend is the same server', async (t) => {
  const server = await keyServer(t)
  const other = await keyServer(t, keySet([second]))
  const weir = await gateway(t, configOf(at(server), jwt()))
  const text = await token(first)
  assert.equal(await statusOf(weir, text), 204)
  await weir.reload(configOf(at(server), jwt({ mode: 'Optional' })))
  assert.deepEqual([await statusOf(weir, text), server.requests], [204, 1])
  await weir.reload(configOf(at(other), jwt()))
  assert.deepEqual([await statusOf(weir, text), await statusOf(weir, await token(second))], [401, 204])
})
