import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { BODY_STREAM } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { LOG_ROOTS, METADATA, REQUEST_ROOTS, RESPONSE_ROOTS } from './exchange.ts'
import { compileExpression, expression } from './expression.ts'
import { CelError, compile } from './index.ts'

const ex = fakeExchange({
  method: 'POST',
  target: '/a/b?c=d',
  authority: 'api.example.com:8080',
  headers: [['X-Tenant', 'blue']],
  port: 8080
})

test('an expression reads the request as it was received', () => {
  const read = (source: string) => compileExpression(source, REQUEST_ROOTS).run(ex)
  ex.path = '/rewritten'
  assert.equal(
    read("request.method + ' ' + request.uri + ' ' + request.version"),
    'POST http://api.example.com:8080/a/b?c=d HTTP/1.1'
  )
  assert.equal(read("request.host + request.path + '|' + request.pathAndQuery"), 'api.example.com:8080/a/b|/a/b?c=d')
  assert.equal(read("request.headers['x-tenant']"), 'blue')
  assert.equal(read('string(source.port) + source.address + string(destination.port)'), '50000192.0.2.18080')
  assert.equal(read("request.startTime > timestamp('2020-01-01T00:00:00Z')"), true)
})

test('variables that no policy has set are absent', () => {
  const read = (source: string) => compileExpression(source, REQUEST_ROOTS).run(ex)
  assert.ok(read('jwt.sub') instanceof CelError)
  assert.equal(read('has(jwt.sub) || has(apiKey.id) || has(basicAuth.username)'), false)
  assert.equal(read('request.body'), '')
  identityOf(ex).jwt = { sub: 'alice', realm: { roles: ['admin'] } }
  identityOf(ex).basicAuth = { username: 'bob' }
  assert.equal(read('jwt.sub + basicAuth.username + jwt.realm.roles[0]'), 'alicebobadmin')
})

test('a token and a key are secrets beside what is known of them, and print as none', () => {
  const read = (source: string) => compileExpression(source, REQUEST_ROOTS).run(ex)
  assert.equal(read('has(jwt.rawToken) || has(apiKey.key)'), false)
  identityOf(ex).jwt = Object.freeze({ sub: 'alice' })
  identityOf(ex).rawToken = 'canary-token'
  identityOf(ex).apiKey = { team: 'blue' }
  identityOf(ex).rawKey = 'canary-key'
  assert.equal(
    read("jwt.sub + apiKey.team + jwt.rawToken.unredacted() + apiKey['key'].unredacted()"),
    'alicebluecanary-tokencanary-key'
  )
  assert.equal(read('has(jwt.rawToken) && has(apiKey.key) && !has(jwt.other)'), true)
  // A secret is no text, and equals none.
  assert.equal(read("jwt.rawToken == 'canary-token'"), false)
  assert.ok(read("jwt.rawToken + ''") instanceof CelError)
  for (const source of [
    'toJson(jwt)',
    'toJson(variables())',
    'toJson(apiKey)',
    'string(jwt.rawToken)',
    'toJson([jwt.rawToken])'
  ])
    assert.doesNotMatch(JSON.stringify(read(source)), /canary/, source)
})

test('a body is text, or bytes when it is not UTF-8', () => {
  const read = (source: string) => compileExpression(source, REQUEST_ROOTS).run(ex)
  ex.requestBytes = Buffer.from('{"model":"größer"}')
  assert.equal(read('json(request.body).model'), 'größer')
  ex.requestBytes = Buffer.from([0xff, 0x00])
  assert.equal(read('type(request.body) == bytes && size(request.body) == 2'), true)
})

test('the response is offered once there is one', () => {
  assert.match(problem('response.code == 200', REQUEST_ROOTS), /response/)
  const block = new HeaderBlock()
  block.receive('Server', 'x')
  ex.response = block
  ex.status = 201
  ex.startedAt = 100
  ex.servedAt = 103
  ex.firstByteAt = 115
  ex.respondedAt = 115.5
  assert.equal(compileExpression('string(response.code) + response.headers.server', RESPONSE_ROOTS).run(ex), '201x')
  assert.equal(compileExpression("proxy.upstreamDuration == duration('12ms')", RESPONSE_ROOTS).run(ex), true)
  assert.equal(compileExpression("proxy.requestProcessingDuration == duration('3ms')", RESPONSE_ROOTS).run(ex), true)
  const last = "proxy.responseProcessingDuration == duration('500us')"
  assert.equal(compileExpression(last, LOG_ROOTS).run(ex), true)
  assert.match(problem(last, RESPONSE_ROOTS), /responseProcessingDuration cannot be read here/)
  assert.match(problem('has(proxy.upstreamDuration)', REQUEST_ROOTS), /upstreamDuration cannot be read here/)
})

test('times that were not recorded and events that did not happen are absent', () => {
  const one = fakeExchange()
  const read = (name: string) => compileExpression(`has(proxy.${name}Duration)`, LOG_ROOTS).run(one)
  one.startedAt = 100
  one.respondedAt = 101
  assert.deepEqual(['requestProcessing', 'upstream', 'responseProcessing'].map(read), [false, false, false])
  one.servedAt = 100.25
  assert.deepEqual(['requestProcessing', 'upstream', 'responseProcessing'].map(read), [true, false, false])
})

test('which expressions have the clock read, and which a beginning of a body', () => {
  const needs = (source: string) => compileExpression(source, LOG_ROOTS).needs
  assert.equal(needs('proxy.upstreamDuration').times, true)
  assert.equal(needs('toJson(proxy)').times, true)
  assert.equal(needs('proxy.route.name').times, false)
  assert.deepEqual([needs('request.bodyPrefix').requestPrefix, needs('request.bodyPrefix').requestBody], [true, false])
  assert.deepEqual([needs('response.body').responsePrefix, needs('response.bodyPrefix').responsePrefix], [false, true])
  assert.equal(needs('request.path').anyBody, false)
})

test('a beginning of a body is what was kept of it, or the whole body where that is there', () => {
  const one = fakeExchange({ method: 'POST' })
  const read = () => compileExpression('request.bodyPrefix', REQUEST_ROOTS).run(one)
  assert.equal(read(), '')
  one.requestBody = BODY_STREAM
  assert.ok(read() instanceof CelError)
  one.requestPrefix = Buffer.from('begin')
  assert.equal(read(), 'begin')
  one.requestBytes = Buffer.from('beginning')
  assert.equal(read(), 'beginning')
})

test('metadata is what was noted down', () => {
  const one = fakeExchange()
  const read = (source: string) => compileExpression(source, REQUEST_ROOTS).run(one)
  assert.equal(read('has(metadata.tenant)'), false)
  METADATA.set(one, { tenant: 'blue' })
  assert.equal(read("metadata.tenant + default(metadata.other, '!')"), 'blue!')
})

function problem(source: string, roots: typeof REQUEST_ROOTS): string {
  return expression(roots, 'bool')
    .safeParse(source)
    .error!.issues.map((issue) => issue.message)
    .join('\n')
}

test('a mistake is reported with its place, and a field that this version cannot read is one', () => {
  assert.match(problem("request.header['a'] == 'b'", REQUEST_ROOTS), /^expression 1:9: .*did you mean "headers"/s)
  assert.match(
    problem('source.connectHeaders == "a"', REQUEST_ROOTS),
    /source\.connectHeaders cannot be read here; it has address, port/
  )
  assert.match(
    problem('mcpGuardrails.ok', REQUEST_ROOTS),
    /1:1: mcpGuardrails cannot be read here; known: request, source/
  )
  assert.match(problem('response.code == 200', REQUEST_ROOTS), /1:1: response cannot be read here; known: request/)
  assert.match(
    problem("llm.provider == 'a'", REQUEST_ROOTS),
    /llm cannot be read here; .*; llm is there once a backend/
  )
  assert.match(
    problem('request.endTime == 1', RESPONSE_ROOTS),
    /1:9: request\.endTime cannot be read here; it has id, method/
  )
  assert.match(problem('extauth.ok', REQUEST_ROOTS), /no variable is called extauth/)
  assert.match(problem('request.method', REQUEST_ROOTS), /string, and bool is wanted/)
  assert.throws(() => compileExpression('1 +', REQUEST_ROOTS), /^Error: expression 1:4/)
})

test('a thread compiles an expression once for the same roots and the same result', () => {
  const once = compileExpression('request.method == "A"', REQUEST_ROOTS, 'bool')
  assert.equal(compileExpression('request.method == "A"', REQUEST_ROOTS, 'bool'), once)
  assert.notEqual(compileExpression('request.method == "A"', REQUEST_ROOTS), once)
  assert.notEqual(compileExpression('request.method == "A"', RESPONSE_ROOTS, 'bool'), once)
  // What the schema has compiled is what runs.
  assert.equal(expression(REQUEST_ROOTS, 'bool').safeParse('request.method == "B"').success, true)
  assert.throws(() => compileExpression('request.method', REQUEST_ROOTS, 'number'), /string, and number is wanted/)
})

/** "request.method" and the like, or "jwt" where the fields are the user's own. */
function namesOf(roots: typeof REQUEST_ROOTS): string[] {
  return Object.entries(roots).flatMap(([name, { fields }]) => {
    if (fields === undefined || Object.keys(fields).length === 0) return [name]
    return Object.entries(fields).flatMap(([field, { fields: inner }]) =>
      inner === undefined ? `${name}.${field}` : Object.keys(inner).map((last) => `${name}.${field}.${last}`)
    )
  })
}

test('the table of docs/cel.md has every variable, and no other', () => {
  const page = readFileSync(new URL('../../docs/cel.md', import.meta.url), 'utf8')
  const table = page.slice(page.indexOf('## Variables'), page.indexOf('## How it behaves'))
  const rows = [...table.matchAll(/^\| `(\w+)` \| (.*?) \|/gm)].flatMap(([, name, fields]) => {
    const documented = [...fields!.matchAll(/`([\w.]+)`/g)].map(([, field]) => `${name}.${field}`)
    return documented.length === 0 ? [name!] : documented
  })
  assert.deepEqual(rows.sort(), namesOf(RESPONSE_ROOTS).sort())
  const more = namesOf(LOG_ROOTS).filter((name) => !rows.includes(name))
  assert.deepEqual(more, [
    'request.endTime',
    'proxy.responseProcessingDuration',
    'llm.timeToFirstToken',
    'llm.timePerOutputToken'
  ])
  for (const name of more) assert.ok(table.includes(`\`${name}\``), name)
})

test('a text that no decoded path is, because it is written encoded, is a mistake wherever it is compared', () => {
  const mistakesOf = (source: string) => {
    const compiled = compile(source, { roots: REQUEST_ROOTS })
    return compiled.ok ? [] : compiled.problems.map(({ offset, length }) => source.slice(offset, offset + length))
  }
  const encoded = '"/d/a%3Ab"'
  for (const source of [
    `request.path == ${encoded}`,
    `${encoded} != request.path`,
    `request["path"] == ${encoded}`,
    `request.path in ["/x", ${encoded}]`,
    `request.path in {${encoded}: 1}`,
    `request.path.startsWith(${encoded})`,
    `request.path.endsWith(${encoded})`,
    `request.path.contains(${encoded})`,
    `request.path.matches(${encoded})`,
    `request.path.lowerAscii() == ${encoded}`,
    `request.path + request.method == ${encoded}`,
    `[${encoded}].exists(p, request.path.startsWith(p))`,
    `cel.bind(p, request.path, p == ${encoded})`,
    `request.method == "GET" && !(request.path == ${encoded})`,
    `request.path == (request.method == "GET" ? ${encoded} : "/")`,
    `{${encoded}: "/b"}[request.path]`,
    `{"a": ${encoded}}[request.method] == request.path`,
    `{"a": request.path}[request.method] == ${encoded}`,
    `{"a": ${encoded}}.exists(k, v, request.path.startsWith(v))`,
    `[request.path, request.path.lowerAscii()].exists(p, p == ${encoded})`,
    `(request.method == "GET" ? request.path : "") == ${encoded}`
  ])
    assert.deepEqual(mistakesOf(source), [encoded], source)
  for (const source of [
    'request.path == "/d/a:b" && request.headers["referer"] == "/d/a%3Ab"',
    'request.path == "/p/a%2Fb" || request.path == "/100%" || request.path == "/a%E9"',
    'request.rawPath.contains("%3A") || request.pathAndQuery == "/a%3Ab"',
    '"/login?to=%3A" + request.path',
    'request.path.replace(":", "%3A") == request.rawPath',
    // A table of redirects, and what is beside a path in a list or a choice.
    '{"/old": "/new%20page", "/b": "/c"}[request.path]',
    '{"/a": "%41"}[request.path] == "%41"',
    '{"/a%20b": "/c"}.exists(k, v, request.path == v)',
    '[request.path, request.headers["x"]].exists(p, p == "a%20b")',
    'request.headers["x"] in [request.path, "a%20b"]',
    '"a%20b" in [request.path, request.rawPath]',
    '(request.method == "GET" ? request.path : request.rawPath) == "/a%20b"',
    'coalesce(request.headers["x-path"], request.path) == "/a%20b"'
  ])
    assert.deepEqual(mistakesOf(source), [], source)
  const compiled = compile(`request.path == ${encoded}`, { roots: REQUEST_ROOTS })
  assert.equal(compiled.ok ? '' : compiled.problems[0]!.hint, 'write "/d/a:b"; request.rawPath is what was sent')
})
