/** Policies of one reference to a backend: requests that go there, their answers, and other attempts. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
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
  deepEqual(there.map(({ name }) => name).sort(), ['headerModifiers', 'requestRedirect', 'urlRewrite'])
  const valid = { request: { set: { a: 'b' } }, path: { full: '/' } }
  for (const policy of there) {
    const own = policy.name === 'headerModifiers' ? { request: valid.request } : { path: valid.path }
    const { filter, background } = compilePolicy(policy, own)
    deepEqual([filter?.buffers, background], [undefined, undefined])
    equal(typeof filter?.onRequest?.(fakeExchange()), 'number')
  }
})
