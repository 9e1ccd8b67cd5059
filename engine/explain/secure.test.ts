/** Requests over TLS and HTTP/2: what is explained is what a gateway does with clients that speak them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http2 from 'node:http2'
import { request as requestOverTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { authority, type Pair, selfSigned } from '#engine/testing/certificates.ts'
import { explainer } from '#engine/testing/explain.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import type { Explanation } from './explanation.ts'
import { show } from './show.ts'

const folder = mkdtempSync(join(tmpdir(), 'weir-explain-'))
after(() => rmSync(folder, { recursive: true }))
const clients = authority('clients')
const operator = clients.issue('/O=b/CN=operator', ['URI:spiffe://b.test/operator'])
const visitor = clients.issue('/CN=visitor')
const stranger = authority('x').issue('/CN=operator')
const wild = selfSigned(['*.shop.test'])
const admin = selfSigned(['admin.test'])
const files = { 'shop.pem': wild.cert, 'shop.key': wild.key, 'admin.pem': admin.cert, 'admin.key': admin.key }
for (const [name, text] of Object.entries({ ...files, 'clients.pem': clients.cert })) {
  writeFileSync(join(folder, name), text)
}

const fileOf = (port: number, alpn = 'h2, http/1.1') => `
frontendPolicies: { tls: { alpnProtocols: [${alpn}] } }
binds:
  - port: 8443
    listeners:
      - name: shop
        hostname: "*.shop.test"
        protocol: HTTPS
        tls: { cert: shop.pem, key: shop.key }
        routes:
          - name: two
            matches: [{ path: { pathPrefix: /two } }]
            policies: { authorization: { rules: ['request.version == "HTTP/2"'] } }
            backends: [{ host: "localhost:${port}" }]
          - name: hello
            matches: [{ path: { exact: /hello } }]
            policies: { directResponse: { status: 200, body: hi } }
          - name: body
            matches: [{ path: { pathPrefix: /body } }]
            policies:
              transformations: { request: { set: [{ name: x-length, value: "string(size(request.body))" }] } }
            backends: [{ host: "localhost:${port}" }]
      - name: admin
        hostname: admin.test
        protocol: HTTPS
        tls: { cert: admin.pem, key: admin.key, root: clients.pem }
        routes:
          - name: admin
            policies:
              authorization: { rules: ['source.subjectCn == "operator"'] }
              transformations: { request: { set: [{ name: x-client, value: source.subject }] } }
            backends: [{ host: "localhost:${port}" }]
`

interface LiveRequest {
  readonly host: string
  readonly path: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly version?: '1.1' | '2'
  readonly pair?: Pair
}

/** A live client's answer: status and body; what its handshake has said; which HTTP was spoken. */
async function live(port: number, { host, path, body, headers = {}, version = '2', pair }: LiveRequest) {
  const method = body === undefined ? 'GET' : 'POST'
  const ALPNProtocols = version === '2' ? ['h2', 'http/1.1'] : ['http/1.1']
  const socket = connect({ port, servername: host, ALPNProtocols, rejectUnauthorized: false, ...pair })
  try {
    await once(socket, 'secureConnect')
    const spoken = socket.alpnProtocol === 'h2' ? '2' : '1.1'
    const answer = spoken === '2' ? overHttp2() : overHttp1()
    return { ...(await answer), spoken }
  } catch (error) {
    return { refused: (error as Error).message }
  } finally {
    socket.destroy()
  }

  async function overHttp2() {
    const session = http2.connect(`https://${host}:8443`, { createConnection: () => socket })
    const gone = Promise.withResolvers<never>()
    session.once('error', gone.reject)
    const stream = session.request({ ':method': method, ':path': path, ':authority': `${host}:8443`, ...headers })
    stream.end(body)
    const [fields] = (await Promise.race([once(stream, 'response'), gone.promise])) as [http2.IncomingHttpHeaders]
    let text = ''
    for await (const chunk of stream) text += String(chunk)
    session.close()
    return { status: Number(fields[':status']), body: text }
  }

  async function overHttp1() {
    const sent = requestOverTls({
      createConnection: () => socket,
      method,
      path,
      headers: { host: `${host}:8443`, ...headers }
    })
    sent.end(body)
    const [answer] = await once(sent, 'response')
    let text = ''
    for await (const chunk of answer) text += String(chunk)
    return { status: Number(answer.statusCode), body: text }
  }
}

const REQUESTS: readonly (readonly [LiveRequest, kind: string])[] = [
  [{ host: 'a.shop.test', path: '/two/1' }, 'upstream'],
  [{ host: 'a.shop.test', path: '/two/1', version: '1.1' }, '403'],
  [{ host: 'A.Shop.Test', path: '/hello' }, '200'],
  [{ host: 'a.shop.test', path: '/nowhere' }, '404'],
  [{ host: 'a.shop.test', path: '/two/1', headers: { 'x-a': 'b'.repeat(50_000) } }, '431'],
  [{ host: 'a.shop.test', path: '/two/1', headers: { 'x-a': 'b'.repeat(200_000) } }, 'connection'],
  [{ host: 'a.shop.test', path: '/two/%zz' }, '400'],
  [{ host: 'a.shop.test', path: '/body', body: 'x'.repeat(300_000) }, 'upstream'],
  [{ host: 'a.shop.test', path: '/body', body: '' }, 'upstream'],
  [{ host: 'a.shop.test', path: '/body', body: 'x'.repeat(3_000_000) }, '413'],
  [{ host: 'shop.test', path: '/' }, 'connection'],
  [{ host: 'admin.test', path: '/' }, 'connection'],
  [{ host: 'admin.test', path: '/', pair: operator }, 'upstream'],
  [{ host: 'admin.test', path: '/', pair: operator, version: '1.1' }, 'upstream'],
  [{ host: 'admin.test', path: '/', pair: visitor }, '403'],
  [{ host: 'admin.test', path: '/', pair: stranger }, 'connection']
]

test('over TLS: listener by SNI, HTTP/2 by ALPN, rules about certificates', async (t) => {
  const origin = await startOrigin()
  const text = fileOf(origin.port)
  const gateway = await startGateway(text.replace('port: 8443', 'port: 0'), { folder })
  t.after(async () => {
    await gateway.close()
    await origin.close()
  })
  const explain = explainer(text, folder)
  for (const [request, expected] of REQUESTS) {
    const { host, path, body = null, headers = {}, version, pair } = request
    const label = `${host}${path.slice(0, 20)} ${version ?? '2'} ${expected}`
    const input = { method: body === null ? 'GET' : 'POST', url: `https://${host}:8443${path}`, headers, body }
    const found = await explain({
      ...input,
      ...(version === undefined ? {} : { httpVersion: version }),
      ...(pair === undefined ? {} : { cert: pair.cert })
    })
    const before = origin.seen.length
    const answer = await live(gateway.port, request)
    const { outcome } = found
    assert.equal(outcome.kind === 'answer' ? String(outcome.status) : outcome.kind, expected, label)
    if (outcome.kind === 'connection') {
      assert.ok('refused' in answer, `${label}: ${JSON.stringify(answer)}`)
      continue
    }
    assert.ok(!('refused' in answer), `${label}: ${JSON.stringify(answer)}`)
    assert.equal(found.request.httpVersion, answer.spoken, label)
    if (outcome.kind === 'answer') assert.deepEqual([outcome.status, outcome.body], [answer.status, answer.body], label)
    else {
      assert.equal(answer.status, 200, label)
      const seen = origin.seen.slice(before).find(({ url }) => url === path)!
      const predicted = found.upstream!.headers.map(([name]) => name.toLowerCase())
      const names = seen.headers.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase())
      const own = (list: readonly string[]) => list.filter((name) => name.startsWith('x-')).toSorted()
      assert.deepEqual(own(predicted), own(names), label)
    }
  }
})

test('a listener that refuses a certificate is not said to have another protocol or name', async () => {
  const { listener, otherListeners } = await explainer(fileOf(9), folder)({ url: 'https://admin.test:8443/' })
  assert.equal(listener, null)
  assert.ok(otherListeners.length > 0)
  for (const { name, why } of otherListeners) assert.match(`${name}: ${why}`, /^(?!admin).*: its hostname is "/)
})

test('handshakes that fail say why, and how to go on', async () => {
  const explain = explainer(fileOf(9), folder)
  const detail = async (input: object): Promise<string> => {
    const { outcome } = await explain({ url: 'https://admin.test:8443/', ...input })
    return outcome.kind === 'connection' ? outcome.detail : outcome.kind
  }
  assert.match(await detail({}), /^listener admin asks for a client certificate, and none is shown .*: --cert FILE$/)
  assert.match(await detail({ cert: stranger.cert }), /refuses the client: its certificate comes from an unknown autho/)
  assert.match(await detail({ cert: clients.issue('/CN=operator', [], -1).cert }), /expired.*\(CERT_HAS_EXPIRED\)$/)
  assert.match(
    await detail({ url: 'https://192.0.2.1:8443/' }),
    /no name \(SNI\), as for an address: there are \*\.shop/
  )
  assert.match(await detail({ url: 'https://b.test:8443/' }), /has a certificate for "b\.test" \(SNI\)/)
  assert.match(await detail({ url: 'http://a.shop.test:8443/' }), /speaks TLS: use https/)
  const only1 = explainer(fileOf(9, 'http/1.1'), folder)
  const plain = await only1({ url: 'https://a.shop.test:8443/hello' })
  assert.deepEqual([plain.request.httpVersion, plain.outcome.kind], ['1.1', 'answer'])
  const { outcome } = await only1({ url: 'https://a.shop.test:8443/hello', httpVersion: '2-prior-knowledge' })
  assert.ok(outcome.kind === 'connection')
  assert.equal(
    outcome.detail,
    'the client offers h2, and the gateway speaks http/1.1 (frontendPolicies.tls.alpnProtocols)'
  )
})

test('a certificate that does not name the host: servers do not care, clients do', async () => {
  const explain = explainer(fileOf(9).replace('hostname: "*.shop.test"', 'hostname: "*"'), folder)
  const other = await explain({ url: 'https://b.test:8443/hello' })
  assert.deepEqual(
    [other.outcome.kind, other.notes],
    [
      'answer',
      ['clients that verify listener shop go no further: its certificate is not for b.test, but for DNS:*.shop.test']
    ]
  )
  const own = await explain({ url: 'https://a.shop.test:8443/hello', cert: operator.cert })
  assert.deepEqual(own.notes, ['listener shop asks for no client certificate: none is shown'])
})

const CLEAR = `
binds:
  - port: 8080
    listeners:
      - routes:
          - name: hello
            matches: [{ path: { exact: /hello } }]
            policies: { directResponse: { status: 200, body: hi } }
          - name: two
            matches: [{ path: { exact: /two } }]
            policies: { authorization: { rules: ['request.version == "HTTP/2"'] }, directResponse: { status: 201 } }
`

test('HTTP/2 on clear text: what a client of prior knowledge gets', async (t) => {
  const gateway = await startGateway(CLEAR.replace('8080', '0'))
  t.after(() => gateway.close())
  const explain = explainer(CLEAR)
  const session = http2.connect(`http://127.0.0.1:${gateway.port}`)
  t.after(() => session.destroy())
  for (const path of ['/hello', '/two', '/nowhere', '/%zz']) {
    const found: Explanation = await explain({ url: `http://a.test:8080${path}`, httpVersion: '2-prior-knowledge' })
    const stream = session.request({ ':path': path, ':authority': 'a.test:8080' })
    const [fields] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    let body = ''
    for await (const chunk of stream) body += String(chunk)
    assert.ok(found.outcome.kind === 'answer')
    assert.deepEqual([found.outcome.status, found.outcome.body], [fields[':status'], body], path)
    assert.match(show(found), /over HTTP\/2 from 127/)
  }
  // The other version is refused by the same rule.
  const { outcome } = await explain({ url: 'http://a.test:8080/two' })
  assert.ok(outcome.kind === 'answer' && outcome.status === 403)
})

test('Expect: 100-continue is answered, and then the answer comes', async () => {
  const explain = explainer(CLEAR)
  const { outcome } = await explain({ url: 'http://a:8080/hello', body: 'x', headers: { expect: '100-continue' } })
  assert.ok(outcome.kind === 'answer')
  assert.deepEqual([outcome.status, outcome.body], [200, 'hi'])
})
