/** What policies take out of a message is in none of its other places: trailers, and names with underscores. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { type TestContext, test } from 'node:test'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'

const ANSWER = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n'

/** A backend that notes what it gets, and answers with `fields` and `trailers`. */
async function backend(t: TestContext, trailers: string, fields = '') {
  const seen: string[] = []
  const server = await rawServer(async (client) => {
    const head = await client.until('\r\n\r\n')
    seen.push(/chunked/i.test(head) ? await client.until(/\r\n0\r\n(?:.+\r\n)*\r\n$/) : head)
    client.send(`${ANSWER}${fields}Connection: close\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`)
  })
  t.after(() => server.close())
  return { port: server.port, seen }
}

const UWS = {
  http: { http1IdleTimeout: '12s', http1HeaderTimeout: '12s', http1MaxHeaders: 98 },
  tcp: { keepalives: { time: '0s' } }
}

interface Setup {
  readonly policies?: object
  readonly transport?: 'node' | 'uws'
  readonly headersWithUnderscores?: string
}

async function gateway(t: TestContext, port: number, setup: Setup = {}): Promise<TestGateway> {
  const { policies = {}, transport = 'node', ...listener } = setup
  const routes = [{ policies, backends: [{ host: `127.0.0.1:${port}` }] }]
  const started = await startGateway(
    JSON.stringify({
      ...(transport === 'uws' ? { frontendPolicies: UWS } : {}),
      binds: [{ port: 0, transport, listeners: [{ ...listener, routes }] }]
    })
  )
  t.after(() => started.close())
  return started
}

const TE = 'TE: trailers\r\n'

function post({ port }: TestGateway, trailers: string, fields = TE): Promise<string> {
  const head = `POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n${fields}`
  return exchangeRaw(port, `${head}\r\n2\r\nhi\r\n0\r\n${trailers}\r\n`)
}

const trailersOf = (text: string) => text.slice(text.lastIndexOf('\r\n0\r\n') + 5).toLowerCase()

test('trailers pass to clients that asked for them', async (t) => {
  const origin = await backend(t, 'X-Sum: 1\r\n')
  const plain = await gateway(t, origin.port)
  assert.equal(trailersOf(await post(plain, 'X-Check: 2\r\n')), 'x-sum: 1\r\n\r\n')
  assert.equal(trailersOf(await post(plain, 'X-Check: 2\r\n', 'TE: gzip;q=0.5 , Trailers\r\n')), 'x-sum: 1\r\n\r\n')
  for (const fields of ['', 'TE: gzip\r\n', 'TE: trailersx\r\n']) {
    assert.equal(trailersOf(await post(plain, 'X-Check: 2\r\n', fields)), '\r\n')
  }
  assert.deepEqual(origin.seen.map(trailersOf), ['x-check: 2\r\n\r\n', 'x-check: 2\r\n\r\n', '\r\n', '\r\n', '\r\n'])
})

test('calls of gRPC have trailers without asking', async (t) => {
  const origin = await backend(t, 'grpc-status: 0\r\n', 'Content-Type: application/grpc\r\n')
  const plain = await gateway(t, origin.port)
  assert.equal(trailersOf(await post(plain, '', '')), 'grpc-status: 0\r\n\r\n')
})

test('trailers hold nothing that frames, routes or authenticates', async (t) => {
  const names = ['Host', 'Content-Type', 'Trailer', 'Authorization', 'Cookie', 'X-Forwarded-For', 'X-API-Key']
  const others = [
    'Set-Cookie',
    'X_Forwarded_For',
    'Content_Length',
    'content_type',
    'Proxy-Authorization',
    'Access-Control-Allow-Origin'
  ]
  const all = [...names, ...others, 'X-Original-URL', 'Mcp-Session-Id', 'Location']
  const lines = all.map((name) => `${name}: 1\r\n`).join('')
  const origin = await backend(t, `${lines}X-Fine: 1\r\n`)
  const kept = await gateway(t, origin.port, { headersWithUnderscores: 'keep' })
  assert.equal(trailersOf(await post(kept, `${lines}X-Fine: 1\r\n`)), 'x-fine: 1\r\n\r\n')
  assert.equal(trailersOf(origin.seen[0]!), 'x-fine: 1\r\n\r\n')
})

const EDITS = { set: { 'x-set': 'mine' }, remove: ['x-gone'] }
const BY = { set: { 'x-set': '"mine"' }, remove: ['x-gone'] }
const WAYS: readonly (readonly [string, object, string])[] = [
  ['headerModifiers', { headerModifiers: { request: EDITS, response: EDITS } }, ''],
  ['transformation', { transformation: { request: BY, response: BY } }, '']
]

for (const [name, policies] of WAYS) {
  test(`${name}: what is removed or set is gone from trailers and from names with underscores`, async (t) => {
    const twins = ['x-gone', 'X_Gone', 'x-set', 'X_sEt'].map((field) => `${field}: theirs\r\n`).join('')
    const origin = await backend(t, `${twins}x-other: 1\r\n`, twins)
    const served = await gateway(t, origin.port, { policies, headersWithUnderscores: 'keep' })
    const answer = await post(served, `${twins}x-other: 1\r\n`, `${TE}${twins}`)
    for (const text of [answer, origin.seen[0]!]) {
      assert.doesNotMatch(text, /theirs/)
      assert.match(text, /x-set: mine/)
      assert.equal(trailersOf(text), 'x-other: 1\r\n\r\n')
    }
  })
}

test('a credential that a policy takes is in no trailer and under no other name', async (t) => {
  const origin = await backend(t, '')
  const apiKeyAuthentication = { keys: [{ key: 'k' }], location: { header: { name: 'x-team-key' } } }
  const served = await gateway(t, origin.port, { policies: { apiKeyAuthentication }, headersWithUnderscores: 'keep' })
  const twins = 'X_Team_Key: other\r\nx-team_key: other\r\n'
  assert.match(await post(served, `X-Team-Key: other\r\n${twins}`, `${TE}X-Team-Key: k\r\n${twins}`), /^HTTP\/1.1 200 /)
  assert.doesNotMatch(origin.seen[0]!, /team/i)
})

for (const transport of ['node', 'uws'] as const) {
  test(`headersWithUnderscores over ${transport}`, async (t) => {
    const origin = await backend(t, '')
    const lines = 'X_Role: a\r\nx-cookie: a_b\r\n_x: 1\r\nx-last: 1\r\nx_: 1\r\n'
    const ask = async (headersWithUnderscores?: string) => {
      const rules = headersWithUnderscores === undefined ? {} : { headersWithUnderscores }
      const { port } = await gateway(t, origin.port, { transport, ...rules })
      return exchangeRaw(port, `GET /a_b HTTP/1.1\r\nHost: a_b\r\n${lines}Connection: close\r\n\r\n`)
    }
    for (const setting of [undefined, 'drop', 'keep']) assert.match(await ask(setting), /^HTTP\/1.1 200 /)
    const fields = origin.seen.map((text) => text.toLowerCase().match(/^(?:x|_).*(?=\r\n)/gm))
    assert.deepEqual(fields, [
      ['x-cookie: a_b', 'x-last: 1'],
      ['x-cookie: a_b', 'x-last: 1'],
      ['x_role: a', 'x-cookie: a_b', '_x: 1', 'x-last: 1', 'x_: 1']
    ])
    assert.match(await ask('reject'), /^HTTP\/1.1 400 [\s\S]*underscore/)
    assert.equal(origin.seen.length, 3)
  })
}

test('over HTTP/2 too', async (t) => {
  const origin = await backend(t, 'x-sum: 1\r\nx_gone: 2\r\nx-gone: 3\r\n')
  const policies = { headerModifiers: { request: { remove: ['x-gone'] }, response: { remove: ['x-gone'] } } }
  const { port } = await gateway(t, origin.port, { policies })
  for (const te of [true, false]) {
    const session = connect(`http://127.0.0.1:${port}`)
    t.after(() => session.close())
    const fields = { ':method': 'POST', x_role: 'a', ...(te ? { te: 'trailers' } : {}) }
    const stream = session.request(fields, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-check': '2', x_gone: '3', 'x-gone': '4' }))
    const events: string[] = []
    stream.on('trailers', (block) => events.push(...Object.keys(block)))
    stream.end('hi')
    stream.resume()
    await once(stream, 'close')
    assert.deepEqual(events, te ? ['x-sum'] : [])
  }
  // The gateway has asked first whether the backend speaks HTTP/2.
  const seen = origin.seen.filter((text) => text.startsWith('POST '))
  assert.deepEqual(seen.map(trailersOf), ['x-check: 2\r\n\r\n', '\r\n'])
  for (const text of seen) assert.doesNotMatch(text, /x_role/)
})
