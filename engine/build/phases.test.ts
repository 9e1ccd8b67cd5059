/** The phases PreRouting and PostRouting, and the levels gateway, listener and route, from file to wire. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'

interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

async function ask(port: number, target: string, ...lines: readonly string[]): Promise<Answer> {
  const host = lines.some((line) => line.startsWith('Host:')) ? [] : ['Host: a.test']
  const text = `${[`GET ${target} HTTP/1.1`, ...host, 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`
  const [head = '', body = ''] = (await exchangeRaw(port, text)).split('\r\n\r\n')
  return { status: Number(head.slice(9, 12)), head: head.toLowerCase(), body }
}

const listener = (policies: string, routes: string, top = '') =>
  `${top}\nbinds: [{ port: 0, listeners: [{ name: web, policies: ${policies}, routes: [${routes}] }] }]`
const answers = (body: string, path = '/', more = '') =>
  `{ matches: [{ path: { pathPrefix: ${path} } }], policies: { directResponse: { status: 200, body: ${body} }${more} } }`
const sets = (name: string) => `responseHeaderModifier: { set: { x-by: ${name} } }`

test('the example file: policies before routing authorize the request and select the route', async (t) => {
  const file = readFileSync(new URL('../../docs/examples/pre-routing.yaml', import.meta.url), 'utf8')
  const gateway = await startGateway(file.replace('port: 8080', 'port: 0'))
  t.after(() => gateway.close())
  const { port } = gateway
  const user = 'X-User: ann'
  const old = await ask(port, '/v1/anything', 'Host: old.example.com', user)
  assert.deepEqual([old.status, old.body], [200, 'rewritten'])
  assert.match(old.head, /x-served-by: weir/)
  assert.equal((await ask(port, '/v2', user)).body, 'direct')
  const [refused, nowhere] = [await ask(port, '/nowhere'), await ask(port, '/nowhere', user)]
  assert.deepEqual([refused.status, nowhere.status], [403, 404])
  assert.doesNotMatch(refused.head + nowhere.head, /x-served-by/)
})

test('a precise level replaces a policy whole: gateway, listener, route', async (t) => {
  const top = `policies: { ${sets('gateway')} }`
  const routes = `${answers('r', '/r', `, ${sets('route')}`)}, ${answers('l')}`
  const gateway = await startGateway(listener(`{ ${sets('listener')} }`, routes, top))
  t.after(() => gateway.close())
  assert.match((await ask(gateway.port, '/r')).head, /x-by: route(?!.*x-by)/s)
  assert.match((await ask(gateway.port, '/')).head, /x-by: listener(?!.*x-by)/s)
  await gateway.reload(listener('{}', routes, top))
  assert.match((await ask(gateway.port, '/')).head, /x-by: gateway(?!.*x-by)/s)
})

test('the phases merge apart: both run, the first one to begin is the last to end', async (t) => {
  const add = (name: string) => `responseHeaderModifier: { add: { x-by: ${name} } }`
  const top = `policies: [{ phase: PreRouting, ${add('lost')} }, { phase: PostRouting, ${add('post')} }]`
  const gateway = await startGateway(listener(`{ phase: PreRouting, ${add('pre')} }`, answers('ok', '/known'), top))
  t.after(() => gateway.close())
  assert.deepEqual((await ask(gateway.port, '/known')).head.match(/x-by: \w+/g), ['x-by: post', 'x-by: pre'])
  // No route: what ran before it still answers for its part.
  const unknown = await ask(gateway.port, '/unknown')
  assert.deepEqual([unknown.status, unknown.head.match(/x-by: \w+/g)], [404, ['x-by: pre']])
})

test('rules of authorization add up within a phase', async (t) => {
  const rule = (name: string) => `authorization: { rules: [{ require: '"${name}" in request.headers' }] }`
  const top = `policies: { phase: PreRouting, ${rule('x-a')} }`
  const gateway = await startGateway(listener(`{ phase: PreRouting, ${rule('x-b')} }`, answers('ok'), top))
  t.after(() => gateway.close())
  const statuses = []
  for (const lines of [[], ['X-A: 1'], ['X-B: 1'], ['X-A: 1', 'X-B: 1']]) {
    statuses.push((await ask(gateway.port, '/', ...lines)).status)
  }
  assert.deepEqual(statuses, [403, 403, 403, 200])
})

test('cors before routing answers preflights of every route, and marks what finds none', async (t) => {
  const policies = '{ phase: PreRouting, cors: { allowOrigins: ["https://a.test"] } }'
  const gateway = await startGateway(listener(policies, answers('ok', '/known')))
  t.after(() => gateway.close())
  const origin = 'Origin: https://a.test'
  const missing = await ask(gateway.port, '/unknown', origin)
  assert.equal(missing.status, 404)
  assert.match(missing.head, /access-control-allow-origin: https:\/\/a\.test/)
  const answered = await exchangeRaw(
    gateway.port,
    `OPTIONS /unknown HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n${origin}\r\nAccess-Control-Request-Method: PUT\r\n\r\n`
  )
  assert.match(answered, /^HTTP\/1\.1 200 [\s\S]*Access-Control-Allow-Origin: https:\/\/a\.test\r\n/)
})

test('a reply before routing runs only its own response hooks', async (t) => {
  const policies = `{ phase: PreRouting, directResponse: { status: 503, body: closed }, ${sets('pre')} }`
  const gateway = await startGateway(listener(policies, answers('ok')))
  t.after(() => gateway.close())
  const closed = await ask(gateway.port, '/')
  assert.deepEqual([closed.status, closed.body], [503, 'closed'])
  assert.match(closed.head, /x-by: pre/)
})
