import assert from 'node:assert/strict'
import { test } from 'node:test'
import { explainer } from '#engine/testing/explain.ts'
import { exitCodeOf } from './explanation.ts'
import { show } from './show.ts'

const FILE = `backends:
  - { name: shop, host: "shop.internal:9000" }
  - { name: authz, host: "authz.internal:9000" }
  - name: models
    ai: { provider: { openai: { model: gpt-4o } } }
    policies:
      auth: { key: sk-canary0123456789abcdef01234567 }
      ai: { promptGuard: { request: [{ webhook: { backendRef: { name: authz } } }] } }
binds:
  - port: 8080
    listeners:
      - name: main
        policies:
          - phase: PreRouting
            csrf: {}
        routes:
          - name: cart
            matches: [{ path: { pathPrefix: /cart } }]
            policies:
              timeouts: { request: 1ms }
              cors: { allowOrigins: ["*"] }
              authorization: { rules: ['request.headers["x-team"] == "blue"'] }
              rateLimit: { local: [{ requests: 10, unit: Minutes }] }
              requestHeaderModifier: { set: { x-a: b }, remove: [x-team] }
              urlRewrite: { path: { prefix: /basket } }
            backends: [{ backend: shop, weight: 3 }, { host: "localhost:1", weight: 1 }]
          - name: cart-items
            matches: [{ path: { pathPrefix: /cart/items }, method: POST }]
            backends: [{ backend: shop }]
          - name: ext
            matches: [{ path: { pathPrefix: /ext } }]
            policies:
              extAuth: { backendRef: { name: authz }, grpc: {} }
              requestMirror: { backend: { host: "10.0.0.2:80" } }
            backends: [{ host: "10.0.0.1:80" }]
          - name: jwt
            matches: [{ path: { pathPrefix: /jwt } }]
            policies:
              jwtAuthentication: { issuer: me, audiences: [a], jwks: { url: "https://idp.example/keys?k=secret" } }
            backends: [{ backend: shop }]
          - name: hello
            matches: [{ path: { exact: /hello } }]
            policies: { directResponse: { status: 200, body: hi } }
          - name: models
            matches: [{ path: { pathPrefix: /v1 } }]
            backends: [{ backend: models }]
      - { name: admin, hostname: admin.example, routes: [] }
  - port: 5432
    listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ host: "db:5432" }] }] }]
`
const explain = explainer(FILE)
const at = (path: string) => `http://a.example:8080${path}`

test('a request that passes: listener, route, each policy with its place, and what is sent', async () => {
  const headers = { 'X-Team': 'blue', Authorization: 'Bearer canary-of-client', Cookie: 'a=canary' }
  const found = await explain({ url: at('/cart/1?token=canary'), headers })
  assert.deepEqual([found.listener?.name, found.listener?.source], ['main', 'weir.yaml:12:9'])
  assert.match(found.otherListeners[0]!.why, /^its hostname is "admin.example", asked is "a.example"/)
  assert.deepEqual([found.route?.name, found.route?.source], ['cart', 'weir.yaml:17:13'])
  assert.deepEqual([found.otherRoutes[0]?.name, found.otherRoutes[0]?.source], ['cart-items', 'weir.yaml:28:23'])
  assert.deepEqual(
    found.policies.map(({ policy, verdict, places }) => [policy, verdict, places.at(-1)?.source]),
    [
      ['csrf', 'passes', 'weir.yaml:15:13'],
      ['timeouts', 'setting', 'weir.yaml:20:15'],
      ['cors', 'passes', 'weir.yaml:21:15'],
      ['authorization', 'passes', 'weir.yaml:22:15'],
      ['rateLimit', 'passes', 'weir.yaml:23:15'],
      ['headerModifiers', 'passes', 'weir.yaml:24:15'],
      ['urlRewrite', 'passes', 'weir.yaml:25:15']
    ]
  )
  const step = (name: string) => found.policies.find(({ policy }) => policy === name)!
  assert.deepEqual(step('authorization').expressions, [
    'request.headers["x-team"] == "blue"; request.headers["x-team"] is "blue"'
  ])
  assert.deepEqual(step('rateLimit').limits, ['10 per 60s: one bucket for all has 10 of 10'])
  assert.deepEqual(step('headerModifiers').changes, ['sets x-a', 'removes x-team'])
  assert.deepEqual(step('urlRewrite').changes, ['rewrites the path to /basket/1'])
  const { upstream } = found
  assert.deepEqual(
    [upstream?.backend, upstream?.endpoint, upstream?.host],
    ['shop', 'shop.internal:9000', 'shop.internal:9000']
  )
  assert.equal(upstream?.target, '/basket/1?token=<redacted>')
  assert.deepEqual(
    upstream?.shares.map(({ percent }) => percent),
    [75, 25]
  )
  assert.deepEqual(upstream?.headers, [
    ['Authorization', '<redacted>'],
    ['Cookie', '<redacted>'],
    ['x-a', 'b']
  ])
  assert.deepEqual([found.outcome.kind, exitCodeOf(found)], ['upstream', 0])
  assert.doesNotMatch(JSON.stringify(found) + show(found), /canary/)
})

test('a refusal: status, code, policy, why, and what was not reached', async () => {
  const found = await explain({ url: at('/cart'), headers: { 'x-team': 'red' } })
  const { outcome } = found
  assert.ok(outcome.kind === 'answer')
  assert.deepEqual(
    [outcome.status, outcome.code, outcome.policy, exitCodeOf(found)],
    [403, 'FORBIDDEN', 'authorization', 1]
  )
  assert.match(outcome.detail!, /authorization\.rules\[0\] \(weir\.yaml:22:\d+\): .*is "red"$/)
  assert.equal(outcome.body, 'this request is not allowed\n')
  const verdicts = found.policies.map(({ policy, verdict }) => `${policy} ${verdict}`)
  assert.deepEqual(verdicts.slice(3), [
    'authorization answers',
    'rateLimit unreached',
    'headerModifiers unreached',
    'urlRewrite unreached'
  ])
  assert.equal(found.upstream, null)
  assert.equal(show(found).split('is "red"').length, 2, 'said once')
  assert.match(
    show(found),
    /2 {2}timeouts: setting[\s\S]*4 {2}authorization: ends it[\s\S]*answer {4}403 FORBIDDEN by authorization/
  )
})

test('no route: the nearest ones, and why not', async () => {
  const found = await explain({ url: at('/hellos') })
  assert.deepEqual([found.route, found.outcome.kind], [null, 'answer'])
  assert.deepEqual(
    [found.otherRoutes[0]?.name, found.otherRoutes[0]?.why],
    ['hello', 'its path is exactly "/hello", asked is "/hellos"']
  )
  assert.match(show(found), /answer {4}404 ROUTE_NOT_FOUND/)
})

test('a policy of the phase PreRouting ends it before there is a route', async () => {
  const headers = { 'Sec-Fetch-Site': 'cross-site', Origin: 'https://evil.example' }
  const found = await explain({ url: at('/cart'), method: 'POST', headers })
  assert.deepEqual(
    found.policies.map(({ policy, phase, verdict }) => [policy, phase, verdict]),
    [['csrf', 'PreRouting', 'answers']]
  )
  assert.ok(found.outcome.kind === 'answer' && found.outcome.status === 403)
})

test('services, keys at URLs and guards are not asked: what follows holds if they allow', async () => {
  const ext = await explain({ url: at('/ext') })
  assert.deepEqual(ext.policies.find(({ policy }) => policy === 'extAuth')?.asks, [
    'authz (authz.internal:9000): POST /envoy.service.auth.v3.Authorization/Check'
  ])
  assert.deepEqual(
    [ext.outcome.kind, ext.upstream?.endpoint, ext.upstream?.mirrors.length],
    ['upstream', '10.0.0.1:80', 1]
  )
  assert.match(ext.notes[0]!, /^extAuth asks a service, which was not asked: .* knows nothing of its answer$/)
  const token = `${Buffer.from('{"alg":"RS256","kid":"a"}').toString('base64url')}.${Buffer.from('{"iss":"me","aud":"a","exp":2000000000}').toString('base64url')}.AAAA`
  const jwt = await explain({ url: at('/jwt'), headers: { Authorization: `Bearer ${token}` } })
  assert.deepEqual(jwt.policies.find(({ policy }) => policy === 'jwtAuthentication')?.asks, [
    'GET https://idp.example/keys'
  ])
  assert.match(jwt.notes[0]!, /knows nothing of jwt$/)
  assert.equal(jwt.outcome.kind, 'upstream')
  const body = JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })
  const llm = await explain({ url: at('/v1/chat/completions'), method: 'POST', body })
  assert.deepEqual(llm.upstream?.asks, ['POST authz /request'])
  const { provider, model, operation } = llm.upstream!.llm!
  assert.deepEqual([provider, model, operation], ['openai', 'gpt-4o', 'chat'])
  assert.deepEqual([llm.upstream?.endpoint, llm.upstream?.isTls], ['api.openai.com:443', true])
  assert.doesNotMatch(JSON.stringify(llm), /canary/)
})

test('what the gateway answers itself', async () => {
  const found = await explain({ url: at('/hello') })
  assert.ok(found.outcome.kind === 'answer')
  assert.deepEqual([found.outcome.status, found.outcome.body, exitCodeOf(found)], [200, 'hi', 0])
})

test('ports: one that nothing listens on, one of TCP, one without TLS', async () => {
  const detail = async (url: string) => {
    const { outcome } = await explain({ url })
    return outcome.kind === 'connection' ? outcome.detail : outcome.kind
  }
  assert.equal(await detail('http://a:1/'), 'nothing listens on port 1: ports are 8080, 5432')
  assert.match(await detail('http://a:5432/'), /passes connections on unread/)
  assert.match(await detail('https://a:8080/'), /speaks HTTP without TLS/)
})

test('hostile requests get the answer of the listener, and harm no terminal', async () => {
  const status = async (input: object) => {
    const { outcome } = await explain({ url: at('/cart'), ...input })
    return outcome.kind === 'answer' ? outcome.status : outcome.kind
  }
  assert.equal(await status({ headers: { a: 'x'.repeat(500_000) } }), 431)
  assert.equal(await status({ headers: Array.from({ length: 5_000 }, (_, i) => [`a${i}`, 'b']) }), 431)
  assert.equal(await status({ url: at(`/${'x'.repeat(500_000)}`) }), 414)
  assert.equal(await status({ url: at('/%zz') }), 400)
  assert.equal(
    await status({
      headers: [
        ['Host', 'a'],
        ['Host', 'b']
      ]
    }),
    400
  )
  assert.equal(await status({ headers: { 'Content-Length': '1', 'Transfer-Encoding': 'chunked' }, body: 'x' }), 400)
  assert.equal(await status({ method: 'CONNECT' }), 405)
  const odd = await explain({ url: at('/cart'), headers: { 'x-team': 'r\u001b[31med' } })
  assert.ok(!show(odd).includes('\u001b'))
})
