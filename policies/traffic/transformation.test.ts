import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { METADATA } from '#engine/cel/exchange.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import {
  compilePolicy,
  failures,
  problemsOf,
  runRequest,
  runResponse,
  runResponseLater
} from '#engine/testing/policy.ts'
import { fakePool } from '#engine/testing/pool.ts'
import { transformation } from './transformation.ts'

beforeEach(() => {
  failures.length = 0
})

function request(config: object, ex = fakeExchange({ target: '/a?b=c', headers: [['x-old', '1']] })): Exchange {
  runRequest(compilePolicy(transformation, { request: config }), ex)
  return ex
}

function response(config: object, status = 200): Exchange {
  const ex = answered(status)
  runResponse(compilePolicy(transformation, { response: config }), ex)
  return ex
}

function answered(status = 200): Exchange {
  const ex = fakeExchange()
  ex.status = status
  ex.response = new HeaderBlock()
  ex.response.receive('Server', 'x')
  ex.response.receive('ETag', '"1"')
  ex.responseBytes = Buffer.from('{"a":1}')
  return ex
}

async function responseLater(config: object, ex = answered(), pool = fakePool()): Promise<Exchange> {
  const compiled = compilePolicy(transformation, { response: config }, undefined, { offload: pool })
  await runResponseLater(compiled, ex)
  return ex
}

describe('headers', () => {
  test('set replaces, add appends, remove removes, in that order, as a list or as a map', () => {
    const list = request({
      set: [{ name: 'X-Old', value: '"2"' }],
      add: [{ name: 'x-old', value: 'request.method' }],
      remove: ['x-none']
    })
    assert.equal(list.request.getAll('x-old'), '2, GET')
    const map = request({ set: { 'x-new': '"1"', 'x-path': 'request.path' }, remove: ['x-new', 'x-old'] })
    assert.equal(map.request.lines(), 'x-path: /a\r\n')
    assert.equal(response({ set: { server: 'string(response.code)' } }).response!.get('server'), '200')
  })

  test('values that are no text are written as numbers or JSON', () => {
    const ex = request({ set: { a: '1 + 1', b: 'true', c: '[1, "x"]', d: '{"k": 1.5}', e: '" trimmed "' } })
    assert.equal(ex.request.lines(), 'x-old: 1\r\na: 2\r\nb: true\r\nc: [1,"x"]\r\nd: {"k":1.5}\r\ne: trimmed\r\n')
  })

  test('an expression that fails, or a value that no header can carry, changes nothing and is counted', () => {
    const ex = request({ set: { 'x-old': 'jwt.sub', a: '"x\\r\\nInjected: 1"', b: '"caf\\u0119"', c: '"\\u0000"' } })
    assert.equal(ex.request.lines(), 'x-old: 1\r\n')
    assert.deepEqual(failures, Array<string>(4).fill('transformation'))
  })
})

describe('pseudo headers', () => {
  test('of the request: method, path with query, authority', () => {
    const ex = request({ set: { ':method': '"POST"', ':path': '"/x/../y" + "?q=1"', ':authority': '"b.test:81"' } })
    assert.deepEqual([ex.method, ex.path, ex.query, ex.upstreamHost], ['POST', '/y', '?q=1', 'b.test:81'])
    assert.equal(request({ set: { Host: '"c.test"' } }).upstreamHost, 'c.test')
  })

  test('of the response: the status', () => {
    assert.equal(response({ set: { ':status': '418' } }).status, 418)
    const empty = response({ set: { ':status': '200' } }, 204)
    assert.deepEqual([empty.status, empty.response!.get('content-length')], [200, '0'])
  })

  test('a value that cannot be a header changes nothing and is counted', () => {
    const wrong: readonly (readonly [string, string])[] = [
      [':method', '"get it"'],
      [':method', '"HEAD"'],
      [':method', '"CONNECT"'],
      [':path', '"no/slash"'],
      [':path', '"/a b"'],
      [':path', '"/a#b"'],
      [':path', '"/caf\\u00e9"'],
      [':authority', '"a b"'],
      [':authority', '""']
    ]
    for (const [name, value] of wrong) {
      const ex = request({ set: { [name]: value } })
      assert.deepEqual([ex.method, ex.path, ex.upstreamHost], ['GET', '/a', null], `${name} ${value}`)
    }
    for (const value of ['100', '600', '"abc"', '2000']) {
      assert.equal(response({ set: { ':status': value } }).status, 200, value)
    }
    assert.equal(failures.length, wrong.length + 4)
  })
})

describe('bodies', () => {
  test('the body is replaced and described anew', async () => {
    const ex = await responseLater({ body: '"n=" + string(json(response.body).a)' })
    assert.equal(String(ex.responseBytes), 'n=1')
    assert.deepEqual([ex.response!.get('content-length'), ex.response!.get('etag')], ['3', undefined])
    const sent = request({ body: '{"path": request.path}' })
    assert.deepEqual([String(sent.requestBytes), sent.request.get('content-length')], ['{"path":"/a"}', '13'])
  })

  test('a body that cannot be computed stays, and is counted', async () => {
    const ex = await responseLater({ body: 'json(response.body).none' })
    assert.deepEqual([String(ex.responseBytes), ex.response!.get('etag')], ['{"a":1}', '"1"'])
    assert.deepEqual(failures, ['transformation'])
  })

  const LARGE = JSON.stringify({ items: Array.from({ length: 60_000 }, (_, i) => i) })
  const SUM = 'string(json(response.body).items.filter(i, i % 2 == 0).size())'

  test('steps that are expensive for this body run in another thread, in the same order', async () => {
    const pool = fakePool()
    const ex = answered()
    ex.responseBytes = Buffer.from(LARGE)
    await responseLater({ set: { first: '"1"', even: SUM, last: 'response.headers.even' }, body: SUM }, ex, pool)
    assert.deepEqual([ex.response!.get('even'), ex.response!.get('last')], ['30000', '30000'])
    assert.equal(String(ex.responseBytes), '30000')
    assert.equal(pool.jobs.length, 2)
    await responseLater({ body: 'bytes(response.body)' }, ex, pool)
    assert.equal(String(ex.responseBytes), '30000')
  })

  test('a message that is not sent any more is left alone', async () => {
    const ex = answered()
    ex.responseBytes = Buffer.from(LARGE)
    const timeout = new HeaderBlock()
    const done = responseLater({ set: { even: SUM }, body: SUM }, ex)
    ex.response = timeout
    await done
    assert.deepEqual([timeout.lines(), ex.responseBytes.length], ['', LARGE.length])
  })

  test('only a policy that reads or replaces a body has it collected', () => {
    const buffers = (config: object) => compilePolicy(transformation, config).filter!.buffers
    assert.deepEqual(buffers({ request: { set: { a: '"1"' } } }), { request: false, response: false })
    assert.deepEqual(buffers({ request: { set: { a: 'string(size(request.body))' } } }), {
      request: true,
      response: false
    })
    assert.deepEqual(buffers({ response: { body: '"x"' } }), { request: false, response: true })
    assert.deepEqual(buffers({ response: { set: { a: 'request.body' } } }), { request: true, response: false })
  })
})

describe('metadata', () => {
  test('is noted first, in its order, and read by what comes behind it, as plain data', () => {
    const ex = request({
      metadata: { tenant: '"blue"', shade: 'metadata.tenant + "-dark"', all: 'request.headers', n: '2u' },
      set: { 'x-tenant': 'metadata.shade', 'x-old': '"2"' }
    })
    assert.equal(ex.request.get('x-tenant'), 'blue-dark')
    // What it was when it was noted down.
    assert.deepEqual(METADATA.get(ex), { tenant: 'blue', shade: 'blue-dark', all: { 'x-old': '1' }, n: 2 })
    runResponse(compilePolicy(transformation, { response: { metadata: [{ name: 'late', value: '1' }] } }), answerTo(ex))
    assert.deepEqual(Object.keys(METADATA.get(ex)!), ['tenant', 'shade', 'all', 'n', 'late'])
  })

  test('a failed expression sets no metadata and is counted; no secret is shown', () => {
    const ex = fakeExchange()
    identityOf(ex).jwt = { sub: 'ann' }
    identityOf(ex).rawToken = 'canary'
    request({ metadata: { a: 'jwt.missing', b: 'jwt.sub', c: 'jwt.rawToken', d: '[jwt.rawToken]' } }, ex)
    assert.equal(METADATA.get(ex)!.b, 'ann')
    assert.equal('a' in METADATA.get(ex)!, false)
    assert.doesNotMatch(JSON.stringify(METADATA.get(ex)), /canary/)
  })

  test('over a body waits for it, and for another thread', async () => {
    const ex = await responseLater({ metadata: { a: 'json(response.body).a' }, set: { x: 'string(metadata.a)' } })
    assert.deepEqual([METADATA.get(ex), ex.response!.get('x')], [{ a: 1 }, '1'])
  })

  test('names cannot be those of other things', () => {
    for (const name of ['', '1a', 'a b', '__proto__', 'x'.repeat(65)]) {
      const config = { request: { metadata: [{ name, value: '1' }] } }
      assert.match(problemsOf(transformation, config)[0] ?? '', /^request\.metadata\.0\.name: must be a letter and up/)
    }
  })
})

function answerTo(ex: Exchange): Exchange {
  ex.status = 200
  ex.response = new HeaderBlock()
  return ex
}

test('which bodies are kept, and how much of them', () => {
  const kept = (config: object) => compilePolicy(transformation, config).filter!.buffers!
  assert.deepEqual(kept({ request: { set: { a: 'request.bodyPrefix' } } }), { request: 'prefix', response: false })
  assert.equal(kept({ request: { set: { a: 'request.bodyPrefix', b: 'request.body' } } }).request, true)
  assert.deepEqual(kept({ response: { set: { a: 'response.bodyPrefix + request.bodyPrefix' } } }), {
    request: 'prefix',
    response: 'prefix'
  })
  assert.equal(kept({ request: { body: 'request.bodyPrefix' } }).request, true)
})

test('mistakes are named with their place', () => {
  const long = Array.from({ length: 17 }, (_, i) => ({ name: `x-${i}`, value: '"1"' }))
  const cases: readonly (readonly [object, RegExp])[] = [
    [{}, /^: must have at least one of request, response$/],
    [{ request: {} }, /^request: must have at least one of metadata, set, add, remove, body$/],
    [{ request: { set: [] } }, /^request\.set/],
    [{ request: { set: long } }, /^request\.set: /],
    [{ request: { add: long } }, /^request\.add: /],
    [{ response: { remove: [] } }, /^response\.remove: must have 1 to 16 entries$/],
    [{ request: { set: { 'a b': '"1"' } } }, /^request\.set\.a b: is not a header name$/],
    [{ request: { set: { 'content-length': '"1"' } } }, /frames the message/],
    [{ request: { set: { ':scheme': '"https"' } } }, /only :method, :path, :authority can be set here/],
    [{ response: { set: { ':path': '"/"' } } }, /only :status can be set here/],
    [{ request: { add: { ':path': '"/"' } } }, /is a pseudo header: only set/],
    [{ request: { remove: ['Host'] } }, /host cannot be removed/],
    [{ request: { set: { a: 'request.pth' } } }, /^request\.set\.a: expression 1:9: .*did you mean "path"/],
    [{ request: { body: 'response.code' } }, /^request\.body: expression 1:1/],
    [{ request: { body: '' } }, /^request\.body/]
  ]
  for (const [config, expected] of cases) assert.match(problemsOf(transformation, config)[0] ?? '', expected)
})
