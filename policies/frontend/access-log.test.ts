import assert from 'node:assert/strict'
import * as fs from 'node:fs'
import * as os from 'node:os'
import * as path from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FieldSink } from '#engine/contract/access-log.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { secret } from '#engine/kit/secret.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { compilePolicy, problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { accessLog } from './access-log.ts'

const plan = (config: object) => compilePolicy(accessLog, config).accessLog!

function exchange(headers: ExchangeOptions['headers'] = []): Exchange {
  const ex = fakeExchange({ target: '/a?b=c', headers })
  ex.status = 200
  identityOf(ex).jwt = { sub: 'ann', roles: ['dev', 'ops'], realm: { deep: { x: 1 } }, 'odd key="x"\n': 1 }
  identityOf(ex).apiKey = { name: 'k1', seal: secret('s3cret') } as never
  identityOf(ex).rawKey = 's3cret'
  return ex
}

/** Fields that the expressions add, and how many failed. */
function added(add: Record<string, string>, ex = exchange(), room = 100): [Record<string, unknown>, number] {
  const fields: Record<string, unknown> = {}
  const sink: FieldSink = {
    add(name, value) {
      if (room-- <= 0) return false
      fields[name] = value
      return true
    }
  }
  return [fields, plan({ add }).attributes!(ex, sink)]
}

test('expressions become fields, values by their kind', () => {
  assert.deepEqual(
    added({
      user: 'jwt.sub',
      n: 'response.code',
      half: '0.5',
      whole: '2.0',
      big: '9007199254740993',
      unsigned: '7u',
      yes: 'true',
      nothing: 'null',
      list: 'jwt.roles',
      map: 'jwt.realm',
      bytes: 'b"ab"',
      took: 'duration("1500ms")'
    }),
    [
      {
        user: 'ann',
        n: 200,
        half: 0.5,
        whole: 2,
        big: '9007199254740993',
        unsigned: 7,
        yes: true,
        nothing: null,
        list: '["dev","ops"]',
        map: '{"deep":{"x":1}}',
        bytes: 'YWI=',
        took: '1.5s'
      },
      0
    ]
  )
})

test('a field that fails is left out and counted, the others stay; an optional without value is no failure', () => {
  assert.deepEqual(added({ a: 'jwt.missing', b: 'jwt.sub', c: 'json(jwt.sub)', d: 'jwt.?missing', e: 'jwt.?sub' }), [
    { b: 'ann', e: 'ann' },
    2
  ])
  assert.deepEqual(added({ a: '1', b: '2', c: '3' }, exchange(), 2), [{ a: 1, b: 2 }, 1])
})

test('flatten makes fields of entries; names that a client chose cannot end a field', () => {
  assert.deepEqual(added({ j: 'flatten(jwt)' })[0], {
    'j.sub': 'ann',
    'j.roles': '["dev","ops"]',
    'j.realm': '{"deep":{"x":1}}',
    'j.odd_key__x__': 1
  })
  assert.deepEqual(added({ r: 'flattenRecursive(jwt.realm)', l: 'flatten(jwt.roles)', s: 'flatten(jwt.sub)' })[0], {
    'r.deep.x': 1,
    'l.0': 'dev',
    'l.1': 'ops',
    s: 'ann'
  })
  const many = exchange(Array.from({ length: 80 }, (_, i) => [`h${i}`, 'x'] as const))
  const [fields, failed] = added({ h: 'flatten(request.headers)' }, many)
  assert.deepEqual([Object.keys(fields).length, failed], [64, 1])
})

test('secrets and headers that hold credentials are not printed', () => {
  const ex = exchange([
    ['Authorization', 'Bearer s3cret'],
    ['Cookie', 'session=s3cret'],
    ['X-Api-Key', 's3cret'],
    ['Accept', 'text/html']
  ])
  const [fields, failed] = added(
    {
      key: 'apiKey.key',
      map: 'apiKey',
      flat: 'flatten(apiKey)',
      headers: 'request.headers',
      lines: 'flatten(request.headers)',
      nested: '[{"h": request.headers}]'
    },
    ex
  )
  assert.equal(failed, 0)
  assert.doesNotMatch(JSON.stringify(fields), /s3cret/)
  assert.equal(fields['lines.accept'], 'text/html')
  assert.equal(fields['lines.authorization'], '<redacted>')
  assert.equal(fields.map, '{"name":"k1","seal":"<redacted>"}')
  assert.equal(fields.key, '<redacted>')
})

test('the filter: true, false, and neither', () => {
  const decide = (filter: string) => plan({ filter }).filter!(exchange())
  assert.deepEqual(
    [decide('response.code < 300'), decide('response.code > 300'), decide('jwt.missing == 1'), decide('jwt.sub')],
    [true, false, null, null]
  )
  assert.deepEqual([plan({}).filter, plan({}).attributes], [null, null])
})

test('the form of the resource says the same', () => {
  const attributes = { add: [{ name: 'user', expression: 'jwt.sub' }], remove: ['http.method'] }
  assert.deepEqual([...plan({ attributes }).skip], ['http.method', 'user'])
  assert.deepEqual(
    accessLog.schema.parse({ attributes }),
    accessLog.schema.parse({ add: { user: 'jwt.sub' }, remove: ['http.method'] })
  )
})

test('limits of the specification and other mistakes', () => {
  const of = (config: object) => problemsOf(accessLog, config)
  const names = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`)
  assert.deepEqual(of({ remove: names(32), add: { ['a'.repeat(256)]: '1' } }), [])
  assert.deepEqual(of({ remove: [] }), ['remove: must have 1 to 32 entries'])
  assert.deepEqual(of({ remove: names(33) }), ['remove: must have 1 to 32 entries'])
  assert.equal(of({ remove: [''] }).length, 1)
  assert.equal(of({ remove: ['x'.repeat(65)] }).length, 1)
  assert.deepEqual(of({ add: {} }), ['add: must have 1 to 4096 entries'])
  assert.deepEqual(of({ attributes: { add: [] } }), ['attributes.add: must have 1 to 4096 entries'])
  assert.deepEqual(of({ attributes: {} }), ['attributes: must have at least one of add, remove'])
  for (const name of ['', 'a'.repeat(257), 'a b', 'a=b', 'a"b', 'a\nb', 'größe', 'time', 'target']) {
    assert.match(of({ add: { [name]: '1' } })[0]!, /^add\./, name)
    assert.match(of({ attributes: { add: [{ name, expression: '1' }] } })[0]!, /^attributes\.add\.0\.name: /, name)
  }
  const twice = { name: 'a', expression: '1' }
  assert.deepEqual(of({ attributes: { add: [twice, twice] } }), ['attributes.add.1.name: there is already a field "a"'])
  assert.match(
    of({ attributes: { add: [twice] }, remove: ['x'] })[0]!,
    /^attributes: says add and remove in another way/
  )
  assert.match(of({ filter: '1' })[0]!, /^filter: expression 1:1: the result is int/)
  assert.match(of({ filter: 'request.pth == ""' })[0]!, /^filter: .*did you mean "path"/s)
  assert.match(of({ add: { a: '' } })[0]!, /^add\.a: /)
  assert.match(of({ add: { a: '1'.repeat(16_385) } })[0]!, /^add\.a: /)
  for (const source of ['request.body', 'size(response.body)', 'toJson(request)']) {
    assert.match(of({ add: { a: source } })[0]!, /^add\.a: bodies are not kept for the log/, source)
  }
  assert.match(of({ filter: 'has(request.body)' })[0]!, /^filter: bodies are not kept/)
  assert.match(of({ database: {} })[0]!, /^database: access log setting 'database' is not in this version/)
})

test('a default field that does not exist is worth a warning', () => {
  const warnings = accessLog.warnings!(accessLog.schema.parse({ remove: ['http.methd', 'duration'] }) as never, {
    mayHaveKeys: true
  })
  assert.match(warnings.join(), /^no default field is called "http\.methd"; there are: listener, route, /)
})

// --- from file to line ---

interface Logged {
  readonly gateway: TestGateway
  /** Lines that have been written when the gateway is closed. */
  readonly lines: () => Promise<string[]>
  readonly get: (target: string, ...headers: readonly string[]) => Promise<string>
}

async function logged(t: TestContext, yaml: string, format: 'text' | 'json' = 'text'): Promise<Logged> {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'access-log-'))
  const file = path.join(dir, 'log')
  const fd = fs.openSync(file, 'a')
  const gateway = await startGateway(yaml, { log: { format, fd } })
  let open = true
  const close = async () => {
    if (open) await gateway.close()
    open = false
  }
  t.after(async () => {
    await close()
    fs.closeSync(fd)
    fs.rmSync(dir, { recursive: true })
  })
  return {
    gateway,
    lines: async () => {
      await close()
      return fs.readFileSync(file, 'latin1').split('\n').slice(0, -1)
    },
    get: (target, ...headers) =>
      exchangeRaw(
        gateway.port,
        `${[`GET ${target} HTTP/1.1`, 'Host: a.test', 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`
      )
  }
}

const file = fs
  .readFileSync(new URL('../../docs/examples/access-log.yaml', import.meta.url), 'utf8')
  .replace('port: 8080', 'port: 0')

test('the example file: lines for some exchanges, with fields of its own', async (t) => {
  const { get, lines } = await logged(t, file)
  await get('/ok', 'User-Agent: curl')
  await get('/ok', 'User-Agent: a "b"\tc=d', 'X-Team: blue', 'X-Tags: {"env":"prod","evil\\nkey":"x\\ny"}')
  await get('/gone', 'X-Team: red')
  const written = (await lines()).map((line) =>
    line.replace(/^time=\S+ |src\.addr=\S+ | request\.id=req_\w{32}| duration=\S+$/g, '')
  )
  assert.deepEqual(written, [
    'level=info target=request listener=web route=route0 http.method=GET http.host=a.test http.path=/ok http.status=200 ' +
      'reason=DirectResponse reason.detail=binds[0].listeners[0].routes[0].policies.directResponse bytes.out=2 user.agent="a \\"b\\"\\tc=d" tags.env=prod tags.evil_key="x\\ny"',
    'level=info target=request listener=web http.method=GET http.host=a.test http.path=/gone http.status=404 ' +
      'reason=ROUTE_NOT_FOUND reason.detail="listener web: nearest of 1 is routes[0].matches[0] (route0): ' +
      'its path is exactly \\"/ok\\", asked is \\"/gone\\"" bytes.out=30'
  ])
})

test('JSON lines are one object each; a field of the same name replaces the default one', async (t) => {
  const yaml = file.replace(/filter: .*/, 'filter: "true"').replace('user.agent:', 'http.path:')
  const { get, lines } = await logged(t, yaml, 'json')
  await get('/ok', 'User-Agent: "},{"', 'X-Tags: [1, true, null, "\u2028"]')
  const [line = ''] = await lines()
  const parsed = JSON.parse(line) as Record<string, unknown>
  assert.equal(line.match(/"http\.path"/g)?.length, 1)
  assert.deepEqual(
    [parsed['http.path'], parsed['tags.0'], parsed['tags.1'], parsed['tags.2'], parsed['http.version'], parsed.route],
    ['"},{"', 1, true, null, undefined, 'route0']
  )
})

test('an expression may read what came back; a reload changes the log at once', async (t) => {
  const yaml = (accessLog: string) =>
    `frontendPolicies: { accessLog: ${accessLog} }\nbinds: [{ port: 0, listeners: [{ name: l, policies: ` +
    `{ responseHeaderModifier: { set: { x-a: b } } }, routes: [{ policies: { directResponse: { status: 201 } } }] }] }]`
  const { get, gateway, lines } = await logged(
    t,
    yaml('{ add: { v: \'"v=" + response.headers["x-a"] + string(response.code)\' } }')
  )
  await get('/')
  await gateway.reload(yaml('{ filter: "false" }'))
  await get('/')
  await gateway.reload(yaml('{ remove: [listener, route, http.version], add: { where: proxy.listener.name } }'))
  await get('/')
  // What is no request has no listener, and is logged by the plan in force nevertheless.
  await exchangeRaw(gateway.port, 'GET / HTTP/1.1\r\n\r\n')
  const [first, second, third, ...more] = await lines()
  assert.match(first!, / v="v=b201" duration/)
  assert.match(second!, /target=request src\.addr.* where=l duration/)
  assert.doesNotMatch(third!, /http\.version/)
  assert.match(third!, /http\.status=400 reason=BAD_HOST bytes\.in=\d+ bytes\.out=\d+ request\.id=req_\w+ duration/)
  assert.deepEqual(more, [])
})

test('times of the steps, metadata and beginnings of bodies reach the log and the headers', async (t) => {
  const yaml =
    'frontendPolicies: { accessLog: { add: { wait: proxy.requestProcessingDuration, up: proxy.upstreamDuration, ' +
    'down: proxy.responseProcessingDuration, begin: metadata.begin } } }\n' +
    'binds: [{ port: 0, listeners: [{ routes: [{ matches: [{ path: { exact: /here } }], policies: ' +
    '{ directResponse: { status: 201 } } }, { policies: { transformation: { ' +
    "request: { metadata: { begin: 'request.bodyPrefix' } }, " +
    "response: { set: { x-took: 'string(proxy.upstreamDuration)', x-begin: response.bodyPrefix } } } }, " +
    'backends: [{ host: 127.0.0.1:BACKEND }] }] }] }]'
  const server = await rawServer(async (client) => {
    await client.until('whole body')
    client.send('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi')
  })
  t.after(() => server.close())
  const { get, gateway, lines } = await logged(t, yaml.replace('BACKEND', String(server.port)))
  const post = 'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 10\r\n\r\nwhole body'
  const answer = await exchangeRaw(gateway.port, post)
  assert.match(answer, /x-took: 0\.\d+s\r\nx-begin: hi\r\n.*\r\n\r\nhi$/s)
  await get('/here')
  const [forwarded = '', made = ''] = await lines()
  assert.match(forwarded, / wait="?\d[\d.]*s"? up="?0\.\d+s"? down="?\d[\d.]*s"? begin="whole body" duration/)
  assert.doesNotMatch(made, / wait=| up=| down=| begin=/)
})

test('a line with many long fields stays under what a pipe takes in one piece', async (t) => {
  const add = Array.from({ length: 20 }, (_, i) => `f${i}: 'request.headers["x-long"]'`).join(', ')
  const { get, lines } = await logged(
    t,
    file.replace(/filter: .*\n/, '\n').replace(/add:\n.*\n.*\n/, `add: { ${add} }\n`)
  )
  await get(`/${'p'.repeat(3000)}`, `X-Long: ${'"'.repeat(1500)}`)
  const [line = ''] = await lines()
  assert.ok(line.length < 4096 && line.length > 2000, String(line.length))
  assert.match(line, / f0="(?:\\")+\.\.\." .*duration=\S+ms$/)
})

test('rules of one route have a name each, and limits and policies of their own', async (t) => {
  const rule = (name: string) =>
    `{ name: site, ruleName: ${name}, matches: [{ path: { exact: /${name} } }],
      policies: { rateLimit: { local: [{ requests: 1, unit: Hours }] }, directResponse: { status: 200 } } }`
  const { get, lines } = await logged(
    t,
    `frontendPolicies: { accessLog: { add: { which: 'proxy.route.rule' } } }
policies:
  - targetRefs: [{ kind: HTTPRoute, name: site, sectionName: two }]
    headerModifiers: { response: { set: { x-two: "2" } } }
binds: [{ port: 0, listeners: [{ routes: [${['one', 'two'].map(rule).join(', ')}] }] }]`
  )
  const answers: string[] = []
  for (const path of ['/one', '/two', '/one', '/two']) answers.push(await get(path))
  assert.deepEqual(
    answers.map((text) => text.includes('x-two: 2')),
    [false, true, false, true]
  )
  const shown = (await lines()).map((line) =>
    line.match(/route=.*? route\.rule=\w+|http\.status=\d+|which=\w+/g)!.join(' ')
  )
  assert.deepEqual(shown, [
    'route=site route.rule=one http.status=200 which=one',
    'route=site route.rule=two http.status=200 which=two',
    'route=site route.rule=one http.status=429 which=one',
    'route=site route.rule=two http.status=429 which=two'
  ])
})
