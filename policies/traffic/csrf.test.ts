import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { CONTINUE } from '#engine/contract/filter.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { compilePolicy, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { csrf } from './csrf.ts'

interface Request extends ExchangeOptions {
  readonly listed?: readonly string[]
}

function passes({ listed, ...options }: Request): boolean {
  const compiled = compilePolicy(csrf, listed === undefined ? {} : { additionalOrigins: listed })
  const ex = fakeExchange({ method: 'POST', ...options })
  const passed = runRequest(compiled, ex) === CONTINUE
  assert.equal(ex.error, passed ? null : 'CSRF_REFUSED')
  return passed
}

const site = (value: string): [string, string] => ['Sec-Fetch-Site', value]
const origin = (value: string): [string, string] => ['Origin', value]

test('rule 1: methods that change nothing pass', () => {
  const headers = [site('cross-site'), origin('https://evil.test')]
  for (const method of ['GET', 'HEAD', 'OPTIONS']) assert.equal(passes({ method, headers }), true, method)
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'get']) {
    assert.equal(passes({ method, headers }), false, method)
  }
})

test('rule 2: a request with neither header passes', () => {
  assert.equal(passes({ headers: [['Referer', 'https://evil.test/']] }), true)
})

test('rule 3: Sec-Fetch-Site decides', () => {
  for (const [value, expected] of [
    ['same-origin', true],
    ['none', true],
    ['same-site', false],
    ['cross-site', false],
    ['SAME-ORIGIN', false],
    ['same-origin, none', false],
    ['', false],
    ['new-value', false]
  ] as const) {
    assert.equal(passes({ headers: [site(value)] }), expected, value)
    // That Origin looks like Host does not help where the browser has said what it is.
    assert.equal(passes({ headers: [site(value), origin('https://example.com')] }), expected, value)
  }
  assert.equal(passes({ headers: [site('same-origin'), origin('null')] }), true)
  assert.equal(passes({ headers: [['SEC-FETCH-SITE', 'none']] }), true)
})

test('a listed origin passes, from another site and without Sec-Fetch-Site', () => {
  const listed = ['https://Admin.example.com:443', 'http://[0::1]:8080']
  for (const value of ['https://admin.example.com', 'https://ADMIN.example.com:443', 'http://[::1]:8080']) {
    assert.equal(passes({ listed, headers: [origin(value)] }), true, value)
    assert.equal(passes({ listed, headers: [site('cross-site'), origin(value)] }), true, value)
    assert.equal(passes({ listed, headers: [site('same-site'), origin(value)] }), true, value)
  }
  for (const value of [
    'http://admin.example.com',
    'https://admin.example.com:8443',
    'https://admin.example.com.evil.test',
    'null'
  ]) {
    assert.equal(passes({ listed, headers: [site('cross-site'), origin(value)] }), false, value)
  }
  assert.equal(passes({ listed, headers: [site('cross-site')] }), false)
})

test('without Sec-Fetch-Site, Origin is compared with Host', () => {
  for (const [authority, value, expected] of [
    ['example.com', 'https://example.com', true],
    ['example.com', 'http://example.com', true],
    ['example.com', 'HTTP://EXAMPLE.com', true],
    ['example.com', 'http://example.com:80', true],
    ['example.com', 'https://example.com:443', true],
    ['example.com:443', 'https://example.com', true],
    ['example.com:80', 'https://example.com', false],
    ['example.com', 'https://example.com:80', false],
    ['example.com:8080', 'http://example.com:8080', true],
    ['example.com:8080', 'http://example.com', false],
    ['example.com', 'http://example.com:8080', false],
    ['[::1]:8080', 'http://[::1]:8080', true],
    ['[0:0:0:0:0:0:0:1]', 'http://[::1]', true],
    ['[::1]', 'http://[::2]', false],
    ['example.com', 'https://evil.test', false],
    ['example.com', 'https://evil.test/example.com', false],
    ['example.com', 'https://example.com.evil.test', false],
    ['example.com', 'https://notexample.com', false],
    ['example.com', 'https://example.com@evil.test', false],
    ['example.com', 'null', false],
    ['example.com', '', false],
    ['', 'http://', false]
  ] as const) {
    assert.equal(passes({ authority, headers: [origin(value)] }), expected, `${value} on ${authority}`)
  }
})

test('two lines of one header are not believed', () => {
  assert.equal(passes({ headers: [site('same-origin'), site('cross-site')] }), false)
  assert.equal(passes({ headers: [site('none'), site('none')] }), false)
  assert.equal(passes({ headers: [origin('https://example.com'), origin('https://example.com')] }), false)
  const listed = ['https://a.test']
  assert.equal(passes({ listed, headers: [site('same-origin'), site('cross-site'), origin('https://a.test')] }), true)
})

test('additionalOrigins: 1 to 16 of <scheme>://<host>(:<port>)', () => {
  const of = (...additionalOrigins: readonly unknown[]) => problemsOf(csrf, { additionalOrigins })
  assert.deepEqual(problemsOf(csrf, {}), [])
  assert.deepEqual(of(...Array.from({ length: 16 }, (_, i) => `https://a${i}.test`)), [])
  assert.deepEqual(of(), ['additionalOrigins: must have 1 to 16 entries'])
  assert.deepEqual(of(...Array.from({ length: 17 }, (_, i) => `https://a${i}.test`)), [
    'additionalOrigins: must have 1 to 16 entries'
  ])
  for (const text of ['a.test', 'https://*.a.test', '*', 'null', 'https://a.test/', '', 'https://a.test:0', 5]) {
    assert.match(of(text)[0]!, /^additionalOrigins\.0: /, String(text))
  }
  assert.match(of(`https://${'a'.repeat(249)}`)[0]!, /additionalOrigins\.0/)
  assert.match(of('a.test')[0]!, /did you mean "https:\/\/a\.test"\?$/)
  assert.equal(problemsOf(csrf, { additionalOrigin: [] }).length, 1)
})

test('the example file: a forged request gets 403 and never arrives', async (t) => {
  const upstream = await startOrigin()
  const file = readFileSync(new URL('../../docs/examples/csrf.yaml', import.meta.url), 'utf8')
    .replace('port: 8080', 'port: 0')
    .replace('localhost:9000', `127.0.0.1:${upstream.port}`)
  const gateway = await startGateway(file)
  t.after(async () => {
    await gateway.close()
    upstream.close()
  })
  const post = (...lines: readonly string[]) =>
    exchangeRaw(
      gateway.port,
      `${['POST /a HTTP/1.1', 'Host: Example.com', 'Connection: close', 'Content-Length: 0', ...lines].join('\r\n')}\r\n\r\n`
    )
  const refused = await post('Origin: https://evil.test', 'Sec-Fetch-Site: cross-site')
  assert.match(refused, /^HTTP\/1\.1 403 Forbidden\r\n/)
  assert.match(refused, /Content-Type: text\/plain[^\r]*\r\n[\s\S]*\r\n\r\nthis request comes from another site\n$/)
  assert.equal(upstream.seen.length, 0)
  assert.match(await post('Origin: https://admin.example.com', 'Sec-Fetch-Site: same-site'), /^HTTP\/1\.1 200 /)
  assert.match(await post('Origin: https://example.com'), /^HTTP\/1\.1 200 /)
  assert.equal(upstream.seen.length, 2)
})
