/** Policies of one reference to a backend: requests that go there, their answers, and other attempts. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { compilePolicy } from '#engine/testing/policy.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { policies } from '#policies/index.ts'

const GET = 'GET /a/b?q=1 HTTP/1.1\r\nHost: a.test\r\nX-Client: 1\r\nConnection: close\r\n\r\n'

/** Answers with its name; the heads of its requests are in `seen`. `status`: of all of its answers. */
async function startNamed(name: string, seen: string[], status = '200 OK') {
  return rawServer((client) => {
    client.socket.on('data', (bytes: Buffer) => {
      seen.push(`${name} ${bytes.toString('latin1')}`)
      client.send(`HTTP/1.1 ${status}\r\nX-Name: ${name}\r\nContent-Length: 0\r\n\r\n`)
    })
  })
}

const stamp = (name: string) => ({
  requestHeaderModifier: { set: { 'x-stamp': name }, remove: ['x-client'] },
  responseHeaderModifier: { add: { 'x-stamped': name } }
})

const config = (route: object) => JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] })

test('a request has what the reference says that it goes by, and so has its answer', async (t) => {
  const seen: string[] = []
  const servers = [await startNamed('one', seen), await startNamed('two', seen)]
  const backends = servers.map(({ port }, i) => ({
    host: `127.0.0.1:${port}`,
    policies: {
      ...stamp(['one', 'two'][i]!),
      urlRewrite: { authority: { full: `${i}.example` }, path: { prefix: `/${i}` } }
    }
  }))
  const ofRoute = { responseHeaderModifier: { set: { 'x-route': 'yes' } } }
  const matches = [{ path: { pathPrefix: '/a' } }]
  const gateway = await startGateway(config({ matches, policies: ofRoute, backends }))
  t.after(async () => {
    await gateway.close()
    for (const server of servers) server.close()
  })
  for (const i of [0, 1]) {
    const name = ['one', 'two'][i]!
    const answer = await exchangeRaw(gateway.port, GET)
    match(answer, new RegExp(`^x-name: ${name}\r$`, 'im'))
    match(answer, new RegExp(`^x-stamped: ${name}\r$`, 'im'))
    match(answer, /^x-route: yes\r$/im)
    match(seen[i]!, new RegExp(`^${name} GET /${i}/b\\?q=1 HTTP/1.1\r\n`))
    match(seen[i]!, new RegExp(`^x-stamp: ${name}\r$`, 'im'))
    match(seen[i]!, new RegExp(`^host: ${i}.example\r$`, 'im'))
    equal(/x-client/i.test(seen[i]!), false)
  }
})

test('another attempt goes by another reference, and has nothing of the one before', async (t) => {
  const seen: string[] = []
  const servers = [await startNamed('one', seen, '503 No'), await startNamed('two', seen)]
  const [one, two] = servers.map(({ port }) => `127.0.0.1:${port}`)
  const backends = [
    { host: one, policies: { ...stamp('one'), urlRewrite: { path: { full: '/one' } } } },
    { host: two, weight: 1 }
  ]
  const policies = { retry: { attempts: 1, codes: [503], backoff: '0s' } }
  const gateway = await startGateway(config({ policies, backends }))
  t.after(async () => {
    await gateway.close()
    for (const server of servers) server.close()
  })
  const answer = await exchangeRaw(gateway.port, GET)
  match(answer, /^x-name: two\r$/im)
  equal(/x-stamped/i.test(answer), false)
  deepEqual(
    seen.map((text) => text.slice(0, text.indexOf(' HTTP'))),
    ['one GET /one?q=1', 'two GET /a/b?q=1']
  )
  match(seen[1]!, /^x-client: 1\r$/im)
  match(seen[1]!, /^x-retry-attempt: 1\r$/im)
  equal(/x-stamp:/i.test(seen[1]!), false)
})

test('copies are made of what goes to the reference, as it goes there, and once', async (t) => {
  const seen: string[] = []
  const servers = [
    await startNamed('one', seen, '503 No'),
    await startNamed('two', seen),
    await startNamed('copy', seen)
  ]
  const [one, two, copy] = servers.map(({ port }) => `127.0.0.1:${port}`)
  const requestMirror = { backend: { host: copy } }
  const backends = [
    { host: one, policies: { ...stamp('one'), requestMirror } },
    { host: two, policies: { requestMirror } }
  ]
  const policies = { retry: { attempts: 1, codes: [503], backoff: '0s' } }
  const gateway = await startGateway(config({ policies, backends }))
  t.after(async () => {
    await gateway.close()
    for (const server of servers) server.close()
  })
  match(await exchangeRaw(gateway.port, GET), /^x-name: two\r$/im)
  // The next turn is that of the second reference.
  match(await exchangeRaw(gateway.port, GET), /^x-name: two\r$/im)
  const copies = () => seen.filter((text) => text.startsWith('copy'))
  while (copies().length < 2) await turn()
  deepEqual(seen.map((text) => text.slice(0, text.indexOf(' '))).toSorted(), ['copy', 'copy', 'one', 'two', 'two'])
  deepEqual(
    copies().map((text) => /^x-stamp: one\r$/im.test(text)),
    [true, false]
  )
})

test('a reference may say which sites read its answers, to preflights too', async (t) => {
  const seen: string[] = []
  const server = await startNamed('one', seen)
  const cors = { allowOrigins: ['https://a.test'], allowMethods: ['PUT'] }
  const gateway = await startGateway(config({ backends: [{ host: `127.0.0.1:${server.port}`, policies: { cors } }] }))
  t.after(async () => {
    await gateway.close()
    server.close()
  })
  const from = (site: string, text: string) => text.replace('X-Client: 1', `Origin: ${site}`)
  const answer = await exchangeRaw(gateway.port, from('https://a.test', GET))
  match(answer, /^access-control-allow-origin: https:\/\/a.test\r$/im)
  match(answer, /^x-name: one\r$/im)
  equal(/allow-origin/i.test(await exchangeRaw(gateway.port, from('https://b.test', GET))), false)
  equal(seen.length, 2)
  const wanted = GET.replace('GET', 'OPTIONS').replace('Host', 'Access-Control-Request-Method: PUT\r\nHost')
  const preflight = await exchangeRaw(gateway.port, from('https://a.test', wanted))
  match(preflight, /^HTTP\/1.1 200 /)
  match(preflight, /^access-control-allow-methods: PUT\r$/im)
  match(preflight, /^access-control-allow-origin: https:\/\/a.test\r$/im)
  equal(seen.length, 2)
})

test('a reference may redirect instead', async (t) => {
  const backends = [{ host: '127.0.0.1:1', policies: { requestRedirect: { hostname: 'b.example' } } }]
  const gateway = await startGateway(config({ backends }))
  t.after(() => gateway.close())
  const answer = await exchangeRaw(gateway.port, GET)
  match(answer, /^HTTP\/1.1 302 /)
  match(answer, /^location: http:\/\/b.example\/a\/b\?q=1\r$/im)
})

test('a prefix that no match of the route has is refused where it stands', async () => {
  const policies = { urlRewrite: { path: { prefix: '/' } } }
  const matches = [{ path: { exact: '/a' } }]
  const start = startGateway(config({ matches, backends: [{ host: '127.0.0.1:1', policies }] }))
  const problem = await start.catch((error: Error) => error.message)
  match(String(problem), /backends\[0\]\.policies\.urlRewrite.*path\.prefix needs prefix matches/)
})

test('a reference that cannot be followed gets its share of the requests, and answers 500', async (t) => {
  const seen: string[] = []
  const server = await startNamed('one', seen)
  const invalid = { kind: 'invalid', reference: 'Service demo/shop', reason: 'BackendNotFound', policies: {} }
  const edit = (snapshot: Snapshot): Snapshot => ({ ...snapshot, backends: { ...snapshot.backends, two: invalid } })
  const backends = [{ host: `127.0.0.1:${server.port}`, weight: 3 }, { backend: 'two' }]
  const text = JSON.stringify({
    binds: [{ port: 0, listeners: [{ routes: [{ backends }] }] }],
    backends: [{ name: 'two', host: '127.0.0.1:1' }]
  })
  const gateway = await startGateway(text, { edit })
  t.after(async () => {
    await gateway.close()
    server.close()
  })
  const statuses: number[] = []
  for (let i = 0; i < 8; i++) statuses.push(Number((await exchangeRaw(gateway.port, GET)).slice(9, 12)))
  deepEqual(statuses.sort(), [200, 200, 200, 200, 200, 200, 500, 500])
  match(gateway.metrics(), /reason="INVALID_BACKEND"/)
})

test('policies that may stand at a reference decide at once', () => {
  const there = policies.filter(({ atReferences }) => atReferences === true)
  const valid: Readonly<Record<string, unknown>> = {
    cors: { allowOrigins: ['*'] },
    headerModifiers: { request: { set: { a: 'b' } } },
    requestMirror: { backend: { host: 'a.test:1' } },
    requestRedirect: { path: { full: '/' } },
    urlRewrite: { path: { full: '/' } }
  }
  deepEqual(there.map(({ name }) => name).sort(), Object.keys(valid))
  for (const policy of there) {
    const { filter, background } = compilePolicy(policy, valid[policy.name])
    deepEqual([filter?.buffers, background], [undefined, undefined])
    // Copies are made when all that decides has decided.
    if (policy.name !== 'requestMirror') equal(typeof filter?.onRequest?.(fakeExchange()), 'number')
  }
})
