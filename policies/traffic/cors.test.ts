import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CONTINUE } from '#engine/contract/filter.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { compilePolicy, problemsOf, runRequest, runResponse } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { cors } from './cors.ts'

const APP = 'https://app.example.com'
const EXACT = { allowOrigins: [APP] }

type Headers = NonNullable<ExchangeOptions['headers']>

/** What the policy does with an answer of the upstream: the header lines that it leaves, without their order. */
function answered(config: object, headers: Headers, upstream: Headers = []): string[] {
  const compiled = compilePolicy(cors, config)
  const ex = fakeExchange({ headers })
  assert.equal(runRequest(compiled, ex), CONTINUE)
  ex.response = new HeaderBlock()
  for (const [name, value] of upstream) ex.response.receive(name, value)
  assert.equal(runResponse(compiled, ex), CONTINUE)
  return ex.response.lines().split('\r\n').filter(Boolean).toSorted()
}

/** The answer to a preflight, as answered(); null when the request is none. */
function preflight(config: object, headers: Headers, method = 'OPTIONS'): string[] | null {
  const compiled = compilePolicy(cors, config)
  const ex = fakeExchange({ method, headers })
  if (runRequest(compiled, ex) === CONTINUE) return null
  assert.equal(ex.localReply?.status, 200)
  ex.response = new HeaderBlock()
  const own = ex.localReply.headers ?? []
  for (let i = 0; i < own.length; i += 2) ex.response.receive(own[i]!, own[i + 1]!)
  runResponse(compiled, ex)
  return ex.response.lines().split('\r\n').filter(Boolean).toSorted()
}

const from = (origin: string, ...more: Headers): Headers => [['Origin', origin], ...more]
const asking = (origin: string, method = 'PUT', ...more: Headers): Headers =>
  from(origin, ['Access-Control-Request-Method', method], ...more)

test('an origin that is allowed is echoed, others get nothing', () => {
  assert.deepEqual(answered(EXACT, from(APP)), [`Access-Control-Allow-Origin: ${APP}`, 'Vary: Origin'])
  for (const origin of [
    ...['https://other.example.com', 'http://app.example.com', `${APP}:8443`, 'null', '', `${APP}.evil.com`],
    ...[`${APP}/`, 'https://app.example.com@evil.com', 'https://evil.com#https://app.example.com']
  ]) {
    assert.deepEqual(answered(EXACT, from(origin)), ['Vary: Origin'], origin)
  }
})

test('the answer varies by Origin, for a request without one too, and says so once', () => {
  assert.deepEqual(answered(EXACT, []), ['Vary: Origin'])
  for (const vary of ['Accept, origin', '*', 'ORIGIN']) {
    assert.deepEqual(answered(EXACT, [], [['Vary', vary]]), [`Vary: ${vary}`])
  }
  assert.deepEqual(answered(EXACT, [], [['Vary', 'X-Origin']]), ['Vary: Origin', 'Vary: X-Origin'])
})

test('case and the port of the scheme make no difference', () => {
  const config = { allowOrigins: ['HTTPS://App.example.com:443', 'http://localhost:3000'] }
  assert.equal(answered(config, from(APP)).length, 2)
  assert.deepEqual(answered(config, from('https://APP.example.com:443')), [
    'Access-Control-Allow-Origin: https://APP.example.com:443',
    'Vary: Origin'
  ])
  assert.equal(answered(config, from('http://localhost:3000')).length, 2)
  assert.equal(answered(config, from('http://localhost')).length, 1)
})

test('two Origin lines are no origin', () => {
  assert.deepEqual(answered(EXACT, [...from(APP), ...from(APP)]), ['Vary: Origin'])
  assert.deepEqual(preflight(EXACT, [...asking(APP), ...from(APP)]), ['Vary: Origin'])
})

test('every origin without credentials: one answer for all, no Vary', () => {
  const config = { allowOrigins: ['*'], exposeHeaders: ['*'] }
  const lines = ['Access-Control-Allow-Origin: *', 'Access-Control-Expose-Headers: *']
  assert.deepEqual(answered(config, from('https://a.test')), lines)
  assert.deepEqual(answered(config, []), lines)
})

test('with credentials no "*" is ever sent', () => {
  const config = { allowOrigins: ['*'], allowMethods: ['*'], allowHeaders: ['*'], exposeHeaders: ['*'] }
  const withCredentials = { ...config, allowCredentials: true }
  const upstream: Headers = [
    ['X-Total', '5'],
    ['Set-Cookie', 'a=b'],
    ['x-total', '6']
  ]
  assert.deepEqual(answered(withCredentials, from('https://a.test'), upstream), [
    'Access-Control-Allow-Credentials: true',
    'Access-Control-Allow-Origin: https://a.test',
    'Access-Control-Expose-Headers: x-total, vary',
    'Set-Cookie: a=b',
    'Vary: Origin',
    'X-Total: 5',
    'x-total: 6'
  ])
  for (const line of preflight(withCredentials, asking('https://a.test'))!) assert.doesNotMatch(line, /\*/)
  assert.match(
    cors.warnings!(cors.schema.parse(withCredentials) as never, { mayHaveKeys: true })[0]!,
    /every site on the web/
  )
  assert.deepEqual(cors.warnings!(cors.schema.parse(config) as never, { mayHaveKeys: true }), [])
  assert.deepEqual(
    cors.warnings!(cors.schema.parse({ ...EXACT, allowCredentials: true }) as never, { mayHaveKeys: true }),
    []
  )
})

test('CORS fields of the upstream are replaced', () => {
  const upstream: Headers = [
    ['Access-Control-Allow-Origin', '*'],
    ['access-control-allow-credentials', 'true'],
    ['Access-Control-Allow-Methods', 'GET'],
    ['Access-Control-Allow-Headers', 'x'],
    ['Access-Control-Expose-Headers', 'x'],
    ['Access-Control-Max-Age', '9']
  ]
  assert.deepEqual(answered(EXACT, from(APP), upstream), [`Access-Control-Allow-Origin: ${APP}`, 'Vary: Origin'])
  assert.deepEqual(answered(EXACT, from('https://evil.test'), upstream), ['Vary: Origin'])
  assert.deepEqual(answered({ allowOrigins: ['*'] }, [], upstream), ['Access-Control-Allow-Origin: *'])
})

test('a preflight is answered with what is allowed', () => {
  const config = {
    ...EXACT,
    allowMethods: ['get', 'PUT'],
    allowHeaders: ['X-A', 'x-b'],
    exposeHeaders: ['x-c'],
    allowCredentials: true,
    maxAge: '10m'
  }
  assert.deepEqual(preflight(config, asking(APP)), [
    'Access-Control-Allow-Credentials: true',
    'Access-Control-Allow-Headers: x-a, x-b',
    'Access-Control-Allow-Methods: GET, PUT',
    `Access-Control-Allow-Origin: ${APP}`,
    'Access-Control-Expose-Headers: x-c',
    'Access-Control-Max-Age: 600',
    'Vary: Origin'
  ])
  assert.deepEqual(preflight(config, asking('https://evil.test')), ['Vary: Origin'])
  assert.deepEqual(preflight({ allowOrigins: ['*'] }, asking(APP)), ['Access-Control-Allow-Origin: *'])
})

test('"*" in a list allows what the preflight asks for', () => {
  const config = { ...EXACT, allowMethods: ['*'], allowHeaders: ['*', 'x-a'] }
  const wanted: Headers = [
    ['Access-Control-Request-Headers', 'authorization'],
    ['access-control-request-headers', 'x-b']
  ]
  assert.deepEqual(preflight(config, asking(APP, 'PATCH', ...wanted)), [
    'Access-Control-Allow-Headers: authorization, x-b',
    'Access-Control-Allow-Methods: PATCH',
    `Access-Control-Allow-Origin: ${APP}`,
    'Vary: Access-Control-Request-Method, Access-Control-Request-Headers',
    'Vary: Origin'
  ])
  assert.equal(
    preflight(config, asking(APP))!.some((line) => line.startsWith('Access-Control-Allow-Headers')),
    false
  )
})

test('only OPTIONS with Origin and Access-Control-Request-Method is a preflight', () => {
  assert.equal(preflight(EXACT, from(APP)), null)
  assert.equal(preflight(EXACT, [['Access-Control-Request-Method', 'PUT']]), null)
  assert.equal(preflight(EXACT, asking(APP, '')), null)
  assert.equal(preflight(EXACT, asking(APP), 'GET'), null)
  assert.notEqual(preflight({ allowOrigins: ['*'] }, asking(APP)), null)
})

test('wildcards stand for any part of the host', () => {
  const allows = (pattern: string, origin: string) => answered({ allowOrigins: [pattern] }, from(origin)).length === 2
  for (const [pattern, origin, expected] of [
    ['https://*.example.com', 'https://a.example.com', true],
    ['https://*.example.com', 'https://a.b.example.com', true],
    ['https://*.example.com', 'https://A.Example.com:443', true],
    ['https://*.example.com', 'https://example.com', false],
    ['https://*.example.com', 'https://.example.com', false],
    ['https://*.example.com', 'https://evilexample.com', false],
    ['https://*.example.com', 'https://a.example.com.evil.com', false],
    ['https://*.example.com', 'https://evil.com/.example.com', false],
    ['https://*.example.com', 'https://evil.com:80.example.com', false],
    ['https://*.example.com', 'http://a.example.com', false],
    ['https://*.example.com', 'https://a.example.com:444', false],
    ['http://*:3000', 'http://anything:3000', true],
    ['http://*:3000', 'http://[::1]:3000', true],
    ['http://*:3000', 'http://anything', false],
    ['https://*-preview-*.app.test', 'https://x-preview-y.app.test', true],
    ['https://*-preview-*.app.test', 'https://x-previe-y.app.test', false],
    ['https://*a*a.test', 'https://a.test', false],
    ['https://*ab*b.test', 'https://ab.test', false],
    ['https://a*.test', 'https://a.test', true],
    ['https://ab*b.test', 'https://ab.test', false]
  ] as const) {
    assert.equal(allows(pattern, origin), expected, `${pattern} ${origin}`)
  }
})

test('one origin after another, each with its own answer', () => {
  const compiled = compilePolicy(cors, { allowOrigins: ['https://*.a.test', APP] })
  const origins = ['https://x.a.test', 'https://b.test', 'https://b.test', APP, 'https://x.a.test', '']
  const allowed = origins.map((origin) => {
    const ex = fakeExchange({ headers: from(origin) })
    runRequest(compiled, ex)
    ex.response = new HeaderBlock()
    runResponse(compiled, ex)
    return ex.response.has('access-control-allow-origin')
  })
  assert.deepEqual(allowed, [true, false, false, true, true, false])
})

test('a hook that changes Origin on its way changes nothing here', () => {
  const compiled = compilePolicy(cors, EXACT)
  const ex = fakeExchange({ headers: from(APP) })
  runRequest(compiled, ex)
  ex.request.remove('origin')
  ex.response = new HeaderBlock()
  runResponse(compiled, ex)
  assert.equal(ex.response.get('access-control-allow-origin'), APP)
})

test('mistakes are named with their place', () => {
  const of = (config: object) => problemsOf(cors, config)
  assert.deepEqual(of({ ...EXACT, maxAge: 0, allowMethods: [], allowHeaders: [], exposeHeaders: [] }), [])
  assert.match(of({})[0]!, /^allowOrigins: /)
  assert.deepEqual(of({ allowOrigins: [] }), ['allowOrigins: must have 1 to 64 entries'])
  const badOrigin = (text: string) => of({ allowOrigins: [text] })[0]!
  assert.match(badOrigin('example.com'), /^allowOrigins\.0: must be .*did you mean "https:\/\/example\.com"/)
  assert.match(badOrigin('https://a/b'), /an origin has no path/)
  assert.match(badOrigin('null'), /every sandboxed page/)
  assert.match(badOrigin('http://localhost:*'), /wildcards are for the host only: name the port/)
  for (const text of ['*.example.com', 'https://*.a/', '*://a.com', 'https://[*]', 'https://*:0', 'https://*.a b']) {
    assert.match(badOrigin(text), /^allowOrigins\.0: must be/, text)
  }
  assert.equal(of({ ...EXACT, allowMethods: ['A B'] }).length, 1)
  assert.equal(of({ ...EXACT, allowHeaders: [':path'] }).length, 1)
  assert.equal(of({ ...EXACT, exposeHeaders: ['a b'] }).length, 1)
  assert.equal(of({ ...EXACT, allowCredentials: 'yes' }).length, 1)
  for (const maxAge of [-1, 1.5, '1ms', '-1s', 31_536_001, '400h1ms', '9000h']) {
    assert.equal(of({ ...EXACT, maxAge }).length, 1, String(maxAge))
  }
  assert.equal(of({ ...EXACT, allowOrigin: 'x' }).length, 1)
})

/** The header lines of a response that a browser would look at, and its status. */
function seen(response: string): string[] {
  const [status = '', ...lines] = response.split('\r\n\r\n')[0]!.split('\r\n')
  return [status, ...lines.filter((line) => /^(?:access-control-|vary|content-length)/i.test(line)).toSorted()]
}

test('the example file: a browser asks first, then calls; a refusal can be read by the page', async (t) => {
  const origin = await startOrigin((response) => {
    response.setHeader('Access-Control-Allow-Origin', '*')
    response.end('ok')
  })
  const file = readFileSync(new URL('../../docs/examples/cors.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replace('localhost:9000', `127.0.0.1:${origin.port}`)
  const gateway = await startGateway(file)
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  const request = (method: string, ...lines: readonly string[]) =>
    exchangeRaw(
      gateway.port,
      `${[`${method} /a HTTP/1.1`, 'Host: api', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`
    )
  const ask = ['Access-Control-Request-Method: PUT', 'Access-Control-Request-Headers: content-type']
  assert.deepEqual(seen(await request('OPTIONS', 'Origin: https://app.example.com', ...ask)), [
    'HTTP/1.1 200 OK',
    'Access-Control-Allow-Credentials: true',
    'Access-Control-Allow-Headers: content-type, authorization',
    'Access-Control-Allow-Methods: GET, POST, PUT, DELETE',
    'Access-Control-Allow-Origin: https://app.example.com',
    'Access-Control-Expose-Headers: x-request-id',
    'Access-Control-Max-Age: 3600',
    'Content-Length: 0',
    'Vary: Origin'
  ])
  assert.deepEqual(seen(await request('OPTIONS', 'Origin: https://evil.test', ...ask)), [
    'HTTP/1.1 200 OK',
    'Content-Length: 0',
    'Vary: Origin'
  ])
  assert.deepEqual(seen(await request('GET', 'Origin: https://x.example.org')), [
    'HTTP/1.1 200 OK',
    'Access-Control-Allow-Credentials: true',
    'Access-Control-Allow-Origin: https://x.example.org',
    'Access-Control-Expose-Headers: x-request-id',
    'Content-Length: 2',
    'Vary: Origin'
  ])
  assert.deepEqual(seen(await request('GET', 'Origin: https://evil.test')), [
    'HTTP/1.1 200 OK',
    'Content-Length: 2',
    'Vary: Origin'
  ])
  await gateway.reload(
    file.replace('              cors:', '              authorization: { rules: ["false"] }\n              cors:')
  )
  const refused = await request('GET', 'Origin: https://x.example.org')
  assert.match(refused, /^HTTP\/1\.1 403 [\s\S]*Access-Control-Allow-Origin: https:\/\/x\.example\.org\r\n/)
  assert.match(await request('OPTIONS', 'Origin: https://app.example.com', ...ask), /^HTTP\/1\.1 200 /)
  assert.equal(origin.seen.length, 2)
  origin.close()
  await gateway.reload(file)
  assert.match(
    await request('GET', 'Origin: https://app.example.com'),
    /^HTTP\/1\.1 502 [\s\S]*Access-Control-Allow-Origin: https:\/\/app\.example\.com\r\n/
  )
})
