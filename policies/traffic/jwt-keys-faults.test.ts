/** Issuers whose keys cannot be had: requests get 503 and wait for nothing, and keys that are known stay. */
import { equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { authority } from '#engine/testing/certificates.ts'
import { FAULTS, listening, rawService } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawClient } from '#engine/testing/raw.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'

const key = signingKey('ES256')
const ISSUER = 'https://issuer.example'

async function start(t: TestContext, port: number, tls: object = {}) {
  const remote = { backendRef: { name: 'idp' }, jwksPath: 'jwks.json', cacheDuration: '1s' }
  const policies = { jwtAuthentication: { issuer: ISSUER, jwks: { remote } }, directResponse: { status: 204 } }
  const gateway = await startGateway(
    JSON.stringify({
      backends: [{ name: 'idp', host: `127.0.0.1:${port}`, ...tls }],
      binds: [{ port: 0, listeners: [{ routes: [{ policies }] }] }]
    })
  )
  t.after(() => gateway.close())
  return gateway
}

const headOf = (text: string): string =>
  `GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${text}\r\n\r\n`

async function statusOf({ port }: { readonly port: number }, text: string): Promise<number> {
  return Number((await exchangeRaw(port, headOf(text))).slice(9, 12))
}

const answering = (body: string) => (socket: Socket) =>
  void socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)

/** A deadline is a matter of five seconds, and of fetch-keys.test.ts. */
const BROKEN = FAULTS.flatMap(({ name, http, timeout }) =>
  http === null || timeout !== undefined ? [] : { name, http }
)
const SETS = [
  { name: 'has 10,000 keys', http: answering(`{"keys":[${'{},'.repeat(9_999)}{}]}`), why: /more than 256 keys/ },
  {
    name: 'has 10,000 keys that could verify',
    http: answering(keySet(...Array.from({ length: 10_000 }, () => [key] as const))),
    why: /longer than/
  },
  { name: 'has none', http: answering('{"keys":[]}'), why: /no key/ },
  { name: 'answers in another language', http: answering('<html>'), why: /is not JSON/ }
]

for (const { name, http, why } of [...BROKEN.map((fault) => ({ ...fault, why: /./ })), ...SETS]) {
  test(`an issuer that ${name}: 503, and the keys that are known stay`, async (t) => {
    const text = await token(key)
    const broken = await rawService(t, http)
    const never = await start(t, broken.port)
    equal(await statusOf(never, text), 503)
    await broken.idle()
    match(never.logged[0]!, /^warn: cannot fetch the keys of idp\/jwks\.json: .*; tokens of this issuer get 503$/)
    match(never.logged[0]!, why)

    const second = Promise.withResolvers<void>()
    let fetches = 0
    const later = await rawService(t, (socket) => {
      if (++fetches === 1) answering(keySet([key]))(socket)
      else http(socket)
      if (fetches === 3) second.resolve()
    })
    const known = await start(t, later.port)
    equal(await statusOf(known, text), 204)
    // The third begins when the second has failed.
    await second.promise
    equal(await statusOf(known, text), 204)
    equal(await statusOf(known, await token(key, hour({ sub: 'another' }))), 204)
    match(known.logged.join('\n'), /^warn: cannot fetch the keys of .*; the keys known so far stay in use$/m)
    await known.close()
    await later.idle()
  })
}

test('requests wait for one fetch of an issuer that is slow; one whose client leaves is over', async (t) => {
  const answer = Promise.withResolvers<void>()
  let fetches = 0
  const slow = await rawService(t, (socket) => {
    fetches++
    void answer.promise.then(() => answering(keySet([key]))(socket))
  })
  const gateway = await start(t, slow.port)
  await slow.arrival
  const leaving = await rawClient(gateway.port)
  leaving.send(headOf(await token(key, hour({ sub: 'leaves' }))))
  const waiting = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => ({
      answered: statusOf(gateway, await token(key, hour({ sub: `${i}` })))
    }))
  )
  leaving.close()
  answer.resolve()
  for (const { answered } of waiting) equal(await answered, 204)
  equal(fetches, 1)
  await gateway.close()
})

test('an issuer that wants a certificate of the gateway gives keys to one that has it', async (t) => {
  const [ours, theirs] = [authority('ours'), authority('theirs')]
  const folder = mkdtempSync(join(tmpdir(), 'weir-jwks-mtls-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const options = { ca: ours.cert, requestCert: true, rejectUnauthorized: true }
  const server = createServer({ ...ours.issue('/CN=idp', ['DNS:idp.example']), ...options }, (_, response) =>
    response.end(keySet([key]))
  )
  server.on('tlsClientError', () => {})
  const port = await listening(t, server)
  const root = file('ca.pem', ours.cert)
  const pairOf = (name: string, issuer: typeof ours) => {
    const pair = issuer.issue('/CN=gateway')
    return { cert: file(`${name}.pem`, pair.cert), key: file(`${name}.key`, pair.key) }
  }
  for (const [what, pair, status] of [
    ['ours', pairOf('ours', ours), 204],
    ['theirs', pairOf('theirs', theirs), 503],
    ['none', {}, 503]
  ] as const) {
    const gateway = await start(t, port, { policies: { tls: { root, sni: 'idp.example', ...pair } } })
    equal(await statusOf(gateway, await token(key)), status, what)
    ok(status === 204 || gateway.logged[0]!.startsWith('warn: cannot fetch the keys of idp/jwks.json: '))
    await gateway.close()
  }
})
