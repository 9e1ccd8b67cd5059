/** The policy `auth` on plain servers, through the whole gateway: what servers are shown, and who else sees it. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createServer2 } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { freePort } from '#engine/testing/program.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { ask, at, fileOf, gatewayOf, listening, type Place, serverOf } from './auth.fixture.ts'

test('a key of each level takes the place of what the client says; the most precise one holds', async (t) => {
  const { port, seen } = await serverOf(t)
  const levels: [Place, string][] = [
    [{ gateway: { auth: { key: 'g' } }, backends: [at(port)] }, 'Bearer g'],
    [{ gateway: { auth: { key: 'g' } }, listener: { backendAuth: { key: 'l' } }, backends: [at(port)] }, 'Bearer l'],
    [{ listener: { auth: { key: 'l' } }, route: { auth: { key: 'r' } }, backends: [at(port)] }, 'Bearer r'],
    [{ route: { auth: { key: 'r' } }, backends: [at(port, { key: 'Basic dTpw' })] }, 'Basic dTpw'],
    [
      {
        backends: [{ backend: 'n' }],
        named: [{ name: 'n', ...at(port, { secretRef: { name: 's' } }) }],
        secrets: [{ name: 's', entries: { Authorization: 'from-secret' } }]
      },
      'Bearer from-secret'
    ]
  ]
  for (const [place, wanted] of levels) {
    const gateway = await gatewayOf(t, place)
    equal((await ask(gateway.port, { authorization: 'Bearer of-the-client', 'x-api-key': 'client' })).status, 200)
    const { headers } = seen.at(-1)!
    deepEqual([headers.authorization, headers['x-api-key']], [wanted, 'client'])
  }
  const elsewhere = await gatewayOf(t, {
    backends: [at(port, { key: 'k', location: { header: { name: 'X-Key', prefix: 'v1 ' } } })]
  })
  await ask(elsewhere.port, { authorization: 'Bearer of-the-client', 'x-key': 'of-the-client' })
  const { headers } = seen.at(-1)!
  deepEqual([headers.authorization, headers['x-key']], ['Bearer of-the-client', 'v1 k'])
})

test('what one backend is shown reaches neither the next one nor expressions behind the answer', async (t) => {
  const first = await serverOf(t, () => 503)
  const second = await serverOf(t)
  const echo = { response: { set: { 'x-seen': 'default(request.headers["authorization"], "nothing")' } } }
  const route = { retry: { attempts: 3, codes: [503] }, transformation: echo }
  const backends = [{ ...at(first.port, { key: 'canary' }), weight: 1000 }, at(second.port)]
  const { port } = await gatewayOf(t, { route, backends })
  for (let i = 0; i < 20; i++) {
    const answer = await ask(port, i % 2 === 0 ? { authorization: 'Bearer client' } : {})
    equal(answer.headers.get('x-seen'), i % 2 === 0 ? 'Bearer client' : 'nothing')
  }
  ok(first.seen.length > 0 && second.seen.length > 0)
  equal(
    first.seen.every(({ headers }) => headers.authorization === 'Bearer canary'),
    true
  )
  equal(JSON.stringify(second.seen).includes('canary'), false)
})

test('passthrough puts back what a policy has taken, once; without it nothing comes back', async (t) => {
  const { port, seen } = await serverOf(t)
  const basic = { users: ['a:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M='] }
  const apiKey = { location: { header: { name: 'x-key' } }, keys: [{ key: 'k' }] }
  const route = { basicAuth: basic, apiKey }
  const authorization = `Basic ${Buffer.from('a:test').toString('base64')}`
  for (const auth of [undefined, { passthrough: {} }]) {
    const gateway = await gatewayOf(t, { route, backends: [at(port, auth)] })
    equal((await ask(gateway.port, { authorization, 'x-key': 'k' })).status, 200)
    const { headers } = seen.at(-1)!
    deepEqual(
      [headers.authorization, headers['x-key']],
      auth === undefined ? [undefined, undefined] : [authorization, 'k']
    )
  }
  // No policy has claimed these: they are the client's own matter, two lines as they came.
  const open = await gatewayOf(t, { backends: [at(port, { passthrough: {} })] })
  const raw = 'GET / HTTP/1.1\r\nHost: a\r\nAuthorization: one\r\nAuthorization: two\r\nConnection: close\r\n\r\n'
  await exchangeRaw(open.port, raw)
  equal(seen.at(-1)!.headers.authorization, 'one')
})

test('a key goes to no host that a client chooses', async (t) => {
  const { port, seen } = await serverOf(t)
  const other = await serverOf(t)
  const dynamic = { allowAddresses: ['127.0.0.0/8'] }
  const key = { policies: { auth: { key: 'k' } } }
  await rejects(startGateway(fileOf({ backends: [{ dynamic, ...key }] })), /auth: needs dynamic\.allowHosts on this/)
  await rejects(
    startGateway(fileOf({ gateway: { auth: { gcp: {} } }, backends: [{ dynamic }] })),
    /policies\.auth: needs dynamic\.allowHosts/
  )
  const allowHosts = [`localhost:${port}`, `*.localhost:${port}`]
  const gateway = await gatewayOf(t, { backends: [{ dynamic: { ...dynamic, allowHosts }, ...key }] })
  const to = async (host: string) =>
    Number(
      (await exchangeRaw(gateway.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)).slice(9, 12)
    )
  equal(await to(`LOCALHOST:${port}`), 200)
  equal(seen.at(-1)!.headers.authorization, 'Bearer k')
  for (const host of [`127.0.0.1:${port}`, `localhost:${other.port}`, 'localhost', `evil-localhost:${port}`]) {
    equal(await to(host), 403, host)
  }
  deepEqual([seen.length, other.seen.length], [1, 0])
})

/** A token endpoint, and the policy that asks it. */
async function idTokens(t: TestContext) {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const private_key = privateKey.export({ type: 'pkcs8', format: 'pem' })
  const state = { requests: [] as string[], isDown: false }
  const tokens = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += String(piece)
    state.requests.push(body)
    const payload = Buffer.from(JSON.stringify({ exp: 4e9 })).toString('base64url')
    if (state.isDown) response.writeHead(500).end('canary')
    else response.end(JSON.stringify({ id_token: `e30.${payload}.sig` }))
  })
  const token_uri = `http://127.0.0.1:${await listening(t, tokens)}/`
  const auth = (client_email: string, more: object = {}) => {
    const inline = JSON.stringify({ type: 'service_account', client_email, token_uri, private_key })
    return { gcp: { type: 'IdToken', credential: { inline }, ...more } }
  }
  return { state, auth }
}

test('an id token is for the host of the backend; without a token the client is told, and no secret', async (t) => {
  const { port, seen } = await serverOf(t)
  const { state, auth } = await idTokens(t)
  const gateway = await gatewayOf(t, { backends: [at(port, auth('a@b'))] })
  for (const _ of [1, 2]) equal((await ask(gateway.port)).status, 200)
  match(String(seen[0]!.headers.authorization), /^Bearer e30\./)
  const assertion = new URLSearchParams(state.requests[0]).get('assertion')!
  const claims = JSON.parse(Buffer.from(assertion.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
  deepEqual([claims.target_audience, state.requests.length], ['https://127.0.0.1', 1])
  state.isDown = true
  const without = await gatewayOf(t, { backends: [at(port, auth('c@d'))] })
  const answer = await ask(without.port)
  deepEqual([answer.status, seen.length], [503, 2])
  equal((await answer.text()).includes('canary'), false)
})

test('over HTTP/2, and for services of policies', async (t) => {
  const seen: Record<string, unknown>[] = []
  const server = createServer2((request, response) => {
    seen.push(request.headers)
    response.end('ok')
  })
  t.after(() => server.close())
  const port = await listening(t, server)
  const http2 = { ...at(port), policies: { auth: { key: 'k2' }, http: { version: 'HTTP2' } } }
  const gateway = await gatewayOf(t, { backends: [http2] })
  equal((await ask(gateway.port)).status, 200)
  equal(seen[0]!.authorization, 'Bearer k2')
  const judge = await serverOf(t)
  const site = await serverOf(t)
  const asking = await gatewayOf(t, {
    gateway: { auth: { key: 'of-routes' } },
    route: { extAuth: { backendRef: { name: 'judge' }, http: {} } },
    named: [{ name: 'judge', ...at(judge.port, { key: 'of-judge' }) }],
    backends: [at(site.port)]
  })
  equal((await ask(asking.port, { authorization: 'Bearer client' })).status, 200)
  deepEqual(
    [judge.seen[0]!.headers.authorization, site.seen[0]!.headers.authorization],
    ['Bearer of-judge', 'Bearer of-routes']
  )
})

test('a server that cannot be reached is no reason to show its key to the next one', async (t) => {
  const dead = await freePort()
  const { port, seen } = await serverOf(t)
  const backends = [{ ...at(dead, { key: 'canary' }), weight: 1000 }, at(port)]
  const gateway = await gatewayOf(t, { route: { retry: { attempts: 3 } }, backends })
  for (let i = 0; i < 5; i++) equal((await ask(gateway.port)).status, 200)
  equal(JSON.stringify(seen).includes('canary'), false)
})

test('mistakes say what to write', async () => {
  const cases: [Place, RegExp][] = [
    [{ backends: [at(1, { aws: {} })] }, /auth: needs aws\.region and aws\.service here, which its host does not say/],
    [{ backends: [at(1, { aws: { region: 'eu-west-1' } })] }, /auth: needs aws\.service here/],
    [
      { backends: [{ host: 'unix:/a', policies: { auth: { gcp: { type: 'IdToken' } } } }] },
      /auth: needs gcp\.audience here/
    ],
    [
      { backends: [at(1, { passthrough: {}, location: { header: { name: 'a' } } })] },
      /location: is only used with key/
    ],
    [{ backends: [at(1, { secretRef: { name: 's' } })] }, /secretRef\.name: there is no secret 's' in secrets/],
    [
      { backends: [at(1, { secretRef: { name: 's' } })], secrets: [{ name: 's', entries: { Auth: 'canary' } }] },
      /secretRef\.name: secret 's' has no key 'Authorization'; it has: 'Auth'/
    ],
    [
      {
        backends: [at(1, { secretRef: { name: 's' } })],
        secrets: [{ name: 's', entries: { Authorization: 'a\r\nb: c' } }]
      },
      /'Authorization' of secret 's' must be visible ASCII/
    ]
  ]
  for (const [place, wanted] of cases) {
    await rejects(startGateway(fileOf(place)), (error) => {
      match(String(error), wanted)
      equal(String(error).includes('canary'), false)
      return true
    })
  }
  // Hosts of AWS say both.
  const keys = { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'canary-of-aws' }
  const signed = { host: 'abc.execute-api.eu-west-1.amazonaws.com:443', policies: { auth: { aws: keys } } }
  await (await startGateway(fileOf({ backends: [signed] }))).close()
})

test('the example file', async (t) => {
  const { port, seen } = await serverOf(t)
  const example = readFileSync(new URL('../../docs/examples/backend-auth.yaml', import.meta.url), 'utf8')
  const gateway = await startGateway(
    example.replace('port: 8080', 'port: 0').replaceAll('localhost:9001', `127.0.0.1:${port}`)
  )
  t.after(() => gateway.close())
  const orders = (key: string, method: string) =>
    fetch(`http://127.0.0.1:${gateway.port}/orders`, { method, headers: { authorization: `Bearer ${key}` } })
  const acme = 'acme-example-key'
  equal((await orders('initech-example-key', 'POST')).status, 200)
  deepEqual([(await orders(acme, 'POST')).status, (await orders(acme, 'GET')).status], [403, 200])
  equal((await ask(gateway.port, { authorization: 'Bearer profile-example-key' }, '/profile')).status, 200)
  deepEqual(
    seen.map(({ headers }) => headers.authorization),
    ['Bearer example-key', 'Bearer example-key', 'Bearer profile-example-key']
  )
  equal((await ask(gateway.port, {}, '/hooks')).status, 403)
})

test('a token is kept over reloads that need it, and forgotten with the last one that does', async (t) => {
  const { port } = await serverOf(t)
  const { state, auth } = await idTokens(t)
  const withAuth = fileOf({ backends: [at(port, auth('a@b'))] })
  const gateway = await startGateway(withAuth)
  t.after(() => gateway.close())
  const requestsAfter = async (file: string) => {
    await gateway.reload(file)
    equal((await ask(gateway.port)).status, 200)
    return state.requests.length
  }
  equal(await requestsAfter(withAuth), 1)
  equal(await requestsAfter(fileOf({ backends: [at(port, auth('a@b'))], route: { timeouts: { request: '9s' } } })), 1)
  equal(await requestsAfter(fileOf({ backends: [at(port)] })), 1)
  equal(await requestsAfter(withAuth), 2)
})

test('clients that invent hosts cause no token each: a backend of many hosts has one audience', async (t) => {
  const { port, seen } = await serverOf(t)
  const { state, auth } = await idTokens(t)
  const dynamic = { allowAddresses: ['127.0.0.0/8'], allowHosts: [`localhost:${port}`, `*.localhost:${port}`] }
  const backends = (more: object) => [{ dynamic, policies: { auth: auth('a@b', more) } }]
  await rejects(startGateway(fileOf({ backends: backends({}) })), /auth: needs gcp\.audience here: there is no host/)
  const gateway = await gatewayOf(t, { backends: backends({ audience: 'https://all.example' }) })
  const to = (host: string) =>
    exchangeRaw(gateway.port, `GET / HTTP/1.1\r\nHost: ${host}:${port}\r\nConnection: close\r\n\r\n`)
  await Promise.all(Array.from({ length: 50 }, (_, i) => to(`invented${i}.localhost`)))
  match(await to('localhost'), /^HTTP\/1\.1 200 /)
  match(String(seen.at(-1)!.headers.authorization), /^Bearer e30\./)
  equal(state.requests.length, 1)
})
