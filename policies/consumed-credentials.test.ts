/** What a policy has taken out of a request reaches nobody by another way, nor does what a backend is shown. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, openSync, readFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import { createServer as createServer2 } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { explainer } from '#engine/testing/explain.ts'
import { listening } from '#engine/testing/faulty-services.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { hour, keySet, signingKey, token } from '#engine/testing/tokens.ts'
import { answerTo, startProcessor } from './traffic/ext-proc/services.fixture.ts'

interface Received {
  readonly line: string
  readonly headers: IncomingHttpHeaders
  readonly raw: readonly string[]
  readonly trailers: readonly string[]
}

/** A server that notes all that it is sent. */
async function serverOf(t: TestContext, status = 200) {
  const seen: Received[] = []
  const server = createServer((request, response) => {
    if (status === 200) response.writeEarlyHints({ link: '</style.css>; rel=preload' })
    request.resume().on('end', () => {
      const { method, url, headers, rawHeaders, rawTrailers } = request
      seen.push({ line: `${method} ${url}`, headers, raw: rawHeaders, trailers: rawTrailers })
      response.writeHead(status).end('ok')
    })
  })
  return { seen, host: `127.0.0.1:${await listening(t, server)}` }
}

const KEY = signingKey('ES256')
const jwtAuth = { issuer: 'https://issuer.example', jwks: keySet([KEY]) }
const API_KEY = 'canary-of-the-query'
const apiKey = { location: { queryParameter: { name: 'key' } }, keys: [{ key: API_KEY }] }
const OWN = 'canary-of-the-gateway'
/** The log shows all that expressions can read of the head. */
const fields = { add: { all: 'request.headers', path: 'request.path', uri: 'request.uri' } }

async function logOf(t: TestContext, file: object) {
  const path = join(mkdtempSync(join(tmpdir(), 'weir-consumed-')), 'log')
  const gateway = await startGateway(JSON.stringify(file), { log: { format: 'json', fd: openSync(path, 'a') } })
  let closed: Promise<void> | null = null
  const close = () => (closed ??= gateway.close())
  t.after(close)
  const log = async () => {
    await close()
    return readFileSync(path, 'utf8') + gateway.logged.join('\n')
  }
  return { port: gateway.port, metrics: () => gateway.metrics(), log }
}

test('services, mirrors, backends of retries, logs and metrics see no credential that a policy has taken', async (t) => {
  const [judge, copy, broken, site] = [await serverOf(t), await serverOf(t), await serverOf(t, 503), await serverOf(t)]
  const processor = await startProcessor((request) => [answerTo(request)])
  t.after(() => processor.close())
  const own = { policies: { auth: { key: OWN } } }
  const policies = {
    ...{ jwtAuth, apiKey, retry: { attempts: 3, codes: [503] } },
    extAuth: { backendRef: { name: 'judge' }, http: { allowedRequestHeaders: ['authorization', 'x-other', 'te'] } },
    extProc: {
      backendRef: { name: 'processor' },
      processingOptions: { requestTrailerMode: 'SEND', requestBodyMode: 'BUFFERED', responseBodyMode: 'NONE' },
      requestAttributes: { path: 'request.path', all: 'request.headers' }
    },
    requestMirror: { backend: { backend: 'copy' }, percentage: 1 }
  }
  const file = {
    frontendPolicies: { accessLog: fields },
    backends: [
      { name: 'judge', host: judge.host },
      { name: 'copy', host: copy.host },
      { name: 'processor', host: `127.0.0.1:${processor.port}` }
    ],
    binds: [
      {
        port: 0,
        listeners: [
          { routes: [{ policies, backends: [{ host: broken.host, ...own, weight: 1000 }, { host: site.host }] }] }
        ]
      }
    ]
  }
  const gateway = await logOf(t, file)
  const jwt = await token(KEY, hour({ sub: 'ann' }))
  const body = '3\r\nabc\r\n0\r\nAuthorization: Bearer canary-of-trailers\r\nX-Other: fine\r\n\r\n'
  const lines = [
    `POST /shop?a=1&%6bey=${API_KEY}&b=2 HTTP/1.1\r\nHost: a.test\r\nauthorization: bEaReR  ${jwt}`,
    'TE: trailers\r\nTrailer: Authorization, X-Other\r\nTransfer-Encoding: chunked\r\nConnection: close, te\r\n\r\n'
  ]
  const answer = await exchangeRaw(gateway.port, lines.join('\r\n') + body)
  ok(/HTTP\/1\.1 200/.test(answer), answer)
  const all = JSON.stringify([judge.seen, copy.seen, broken.seen, site.seen])
  const [log, metrics] = [await gateway.log(), gateway.metrics()]
  deepEqual([judge.seen.length, site.seen.length > 0, processor.requests.length > 0], [1, true, true])
  const decoded = processor.requests.map((request) => Buffer.from(JSON.stringify(request)).toString()).join('\n')
  const bytes = JSON.stringify(processor.requests, (_name, value: unknown) =>
    isBuffer(value) ? Buffer.from(value.data).toString() : value
  )
  for (const canary of [jwt, jwt.split('.')[2]!, API_KEY, 'canary-of-trailers']) {
    for (const [place, text] of Object.entries({ all, log, metrics, decoded, bytes, answer })) {
      equal(text.includes(canary), false, `${place} has ${canary.slice(0, 20)}`)
    }
  }
  const next = JSON.stringify(site.seen)
  for (const [place, text] of Object.entries({ log, metrics, decoded, bytes, answer, next })) {
    equal(text.includes(OWN), false, `${place} has the key of another backend`)
  }
  equal(JSON.stringify([judge.seen, copy.seen]).includes(OWN), false)
  equal(site.seen[0]!.line, 'POST /shop?a=1&b=2')
})

const isBuffer = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && (value as { type?: unknown }).type === 'Buffer'

test('several lines and other schemes: refused, or gone, and never beside the key of the gateway', async (t) => {
  const site = await serverOf(t)
  const at = (policies: object, auth?: object) => ({
    binds: [
      {
        port: 0,
        listeners: [{ routes: [{ policies, backends: [{ host: site.host, ...(auth && { policies: { auth } }) }] }] }]
      }
    ]
  })
  const jwt = await token(KEY, hour({ sub: 'ann' }))
  const send = async (port: number, lines: readonly string[], path = '/') => {
    const head = [`GET ${path} HTTP/1.1`, 'Host: a', ...lines, 'Connection: close', '', ''].join('\r\n')
    return statusOf(await exchangeRaw(port, head))
  }
  const key = { key: OWN }
  const strict = await logOf(t, at({ jwtAuth }, key))
  const second = 'Authorization: Bearer second'
  for (const lines of [
    [`Authorization: Bearer ${jwt}`, second],
    [second, `AUTHORIZATION: bearer ${jwt}`],
    [`Authorization: Bearer ${jwt}, Bearer second`],
    [`Authorization: Bearer`],
    [`Authorization: Basic ${jwt}`]
  ]) {
    ok([400, 401].includes(await send(strict.port, lines)), lines.join())
  }
  equal(site.seen.length, 0)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEARER']) {
    equal(await send(strict.port, [`Authorization: ${scheme} ${jwt}`, 'Authorization_: x', 'x-a: 1']), 200)
    deepEqual(linesOf(site.seen.at(-1)!, 'authorization'), [`Bearer ${OWN}`])
  }
  // A key of a parameter, and the client's own line beside it.
  const beside = await logOf(t, at({ apiKey }, key))
  equal(await send(beside.port, ['Authorization: Bearer one', second], `/?key=${API_KEY}&x`), 200)
  deepEqual([linesOf(site.seen.at(-1)!, 'authorization'), site.seen.at(-1)!.line], [[`Bearer ${OWN}`], 'GET /?x'])
  for (const query of [`?key=${API_KEY}&key=${API_KEY}`, `?key=${API_KEY}&%6Bey=x`]) {
    equal(await send(beside.port, [], `/${query}`), 400, query)
  }
  // Passed through, there is one line, and it is what the policy has verified.
  const passed = await logOf(t, at({ apiKey }, { passthrough: {} }))
  equal(await send(passed.port, [], `/?key=${API_KEY}`), 200)
  deepEqual(linesOf(site.seen.at(-1)!, 'authorization'), [`Bearer ${API_KEY}`])
})

/** Of the answer behind those that come ahead of it. */
const statusOf = (text: string): number => Number(/HTTP\/1\.1 ([2-5]\d\d)/.exec(text)?.[1])

const linesOf = ({ raw }: Received, name: string): string[] =>
  raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name)

test('trailers bring no second credential to a backend that is shown a key, over both protocols', async (t) => {
  const site = await serverOf(t)
  const seen: string[] = []
  const modern = createServer2((request, response) => {
    request.on('trailers', (trailers) => seen.push(JSON.stringify(trailers)))
    request.resume().on('end', () => response.end('ok'))
  })
  const modernPort = await listening(t, modern)
  const auth = { key: OWN }
  const backends = [
    { host: site.host, policies: { auth } },
    { host: `127.0.0.1:${modernPort}`, policies: { auth, http: { version: 'HTTP2' } } }
  ]
  for (const backend of backends) {
    const { port } = await logOf(t, { binds: [{ port: 0, listeners: [{ routes: [{ backends: [backend] }] }] }] })
    const head =
      'POST / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\nConnection: close, te\r\n\r\n'
    const body = '1\r\na\r\n0\r\nAuthorization: Bearer evil\r\nX-Sum: 1\r\n\r\n'
    ok((await exchangeRaw(port, head + body)).includes(' 200 '))
  }
  equal(site.seen[0]!.trailers.includes('Authorization'), false, site.seen[0]!.trailers.join())
  equal(seen.join().toLowerCase().includes('authorization'), false, seen.join())
})

test('an explanation shows no key of the gateway and no credential of the client', async () => {
  const jwt = await token(KEY, hour({ sub: 'ann' }))
  const location = { header: { name: 'x-anything', prefix: 'v1 ' } }
  const inHeader = { ...apiKey, location: { header: { name: 'x-team' } } }
  const models = (auth: object) => ({ ai: { provider: { openai: {} } }, policies: { auth } })
  const plain = (auth: object) => ({ host: '127.0.0.1:1', policies: { auth } })
  for (const backend of [
    plain({ key: OWN }),
    plain({ passthrough: {} }),
    plain({ key: OWN, location }),
    models({ key: OWN }),
    models({ key: OWN, location }),
    models({ passthrough: {} })
  ]) {
    const routes = [{ policies: { jwtAuth, apiKey: inHeader }, backends: [backend] }]
    const explain = explainer(JSON.stringify({ binds: [{ port: 8080, listeners: [{ routes }] }] }))
    const headers = { authorization: `Bearer ${jwt}`, 'x-team': API_KEY, 'content-type': 'application/json' }
    const body = '{"model":"m","messages":[{"role":"user","content":"hi"}]}'
    const explained = await explain({ method: 'POST', url: 'http://a.test:8080/v1/chat/completions', headers, body })
    const text = JSON.stringify(explained)
    equal(explained.outcome.kind, 'upstream', text)
    for (const canary of [OWN, jwt.split('.')[2]!, API_KEY]) equal(text.includes(canary), false, text)
  }
})
