import assert from 'node:assert/strict'
import { test } from 'node:test'
import { STOP } from '#engine/contract/filter.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { compilePolicy, failures, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { directResponse } from './direct-response.ts'

test('the configured answer ends the exchange', () => {
  const ex = fakeExchange()
  assert.equal(runRequest(compilePolicy(directResponse, { status: 418, body: 'short and stout' }), ex), STOP)
  assert.deepEqual(ex.localReply, { status: 418, body: 'short and stout', contentType: null, headers: null })
})

test('there is no body when none is configured', () => {
  const ex = fakeExchange()
  runRequest(compilePolicy(directResponse, { status: 204 }), ex)
  assert.equal(ex.localReply!.body, null)
})

test('limits of its fields', () => {
  assert.deepEqual(problemsOf(directResponse, { status: 599, body: 'x'.repeat(4096) }), [])
  for (const config of [
    {},
    { status: 199 },
    { status: 600 },
    { status: '200' },
    { status: 200, body: '' },
    { status: 200, body: 'x'.repeat(4097) },
    { status: 200, text: 'x' }
  ]) {
    assert.equal(problemsOf(directResponse, config).length, 1, JSON.stringify(config).slice(0, 60))
  }
})

test('a body where HTTP allows none is refused', () => {
  for (const status of [204, 205, 304]) {
    assert.deepEqual(problemsOf(directResponse, { status, body: 'x' }), [
      'body: a response with status 204, 205 or 304 has no body'
    ])
  }
})

test('the body can be computed; one that cannot is 500 and counted', () => {
  const ex = fakeExchange({ target: '/who?x=1' })
  runRequest(compilePolicy(directResponse, { status: 200, bodyExpression: '{"path": request.path}' }), ex)
  assert.equal(ex.localReply?.body, '{"path":"/who"}')
  failures.length = 0
  const failing = fakeExchange()
  runRequest(compilePolicy(directResponse, { status: 200, bodyExpression: 'jwt.sub' }), failing)
  assert.deepEqual([failing.error, failures], ['INTERNAL', ['directResponse']])
  assert.deepEqual(problemsOf(directResponse, { status: 200, body: 'a', bodyExpression: '"b"' }), [
    ': must have at most one of body, bodyExpression'
  ])
})

test('bytes are sent as they are, also to hooks that read the answer', async (t) => {
  const answer = 'directResponse: { status: 200, bodyExpression: "base64.decode(\'//4A\')" }'
  const change = 'transformation: { response: { body: "response.body + b\'!\'" } }'
  const route = (path: string, policies: string) =>
    `{ matches: [{ path: { exact: ${path} } }], policies: { ${policies} } }`
  const routes = `${route('/a', answer)}, ${route('/b', `${answer}, ${change}`)}`
  const gateway = await startGateway(`binds: [{ port: 0, listeners: [{ routes: [${routes}] }] }]`)
  t.after(() => gateway.close())
  const ask = (path: string) =>
    exchangeRaw(gateway.port, `GET ${path} HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n`)
  assert.match(await ask('/a'), /Content-Type: application\/octet-stream\r\n[\s\S]*\r\n\r\n\xff\xfe\0$/)
  assert.match(await ask('/b'), /Content-Length: 4\r\n[\s\S]*\r\n\r\n\xff\xfe\0!$/)
})
