/** Limits of a service through the whole gateway. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, type TestContext, test } from 'node:test'
import { startGateway } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { rateLimit } from '#policies/traffic/rate-limit.ts'
import { lostCharges } from './global.ts'
import { counting, type LimitService, startLimitService } from './service.fixture.ts'

let service: LimitService
let origin: Origin
before(async () => {
  service = await startLimitService(() => ({}))
  origin = await startOrigin((response, { url }) => {
    const isChat = url.startsWith('/v1/')
    response.writeHead(200, { 'content-type': isChat ? 'application/json' : 'text/plain' })
    response.end(isChat ? CHAT : 'from upstream')
  })
})
beforeEach(() => {
  service.requests.length = 0
  service.judge = () => ({})
})
after(async () => {
  service.close()
  await origin.close()
})

const CHAT = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 }
})

const descriptor = (name: string, expression: string, unit = 'Requests') =>
  `{ unit: ${unit}, entries: [{ name: ${name}, expression: '${expression}' }] }`
const USER = descriptor('user', 'request.headers["x-user"]')

async function start(t: TestContext, global: string, { more = '', backend = '', at = service.port } = {}) {
  const gateway = await startGateway(`
backends: [{ name: limits, host: "127.0.0.1:${at}" }]
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { rateLimit: { global: { backendRef: { name: limits }, domain: shop, ${global} } ${more} } }
            backends: [${backend || `{ host: "127.0.0.1:${origin.port}" }`}]
`)
  t.after(() => gateway.close())
  return (line = 'GET / HTTP/1.1', ...headers: readonly string[]) =>
    exchangeRaw(gateway.port, [line, 'Host: a.test', 'Connection: close', ...headers, '', ''].join('\r\n'))
}

const statusOf = (answer: string): number => Number(answer.slice(9, 12))
const limitsOf = (answer: string): string[] =>
  answer.match(/^(?:retry-after|x-ratelimit-\w+|ratelimit(?:-policy)?): .*(?=\r$)/gim) ?? []

test('the service decides, and clients are told in the usual fields', async (t) => {
  service.judge = counting(2)
  const send = await start(t, `descriptors: [${USER}]`)
  const first = await send('GET / HTTP/1.1', 'X-User: ann')
  assert.equal(statusOf(first), 200)
  assert.deepEqual(limitsOf(first), [
    'x-ratelimit-limit: 2',
    'x-ratelimit-remaining: 1',
    'x-ratelimit-reset: 1801',
    'RateLimit-Policy: "descriptor-0";q=2;w=3600',
    'RateLimit: "descriptor-0";r=1;t=1801'
  ])
  await send('GET / HTTP/1.1', 'X-User: ann')
  const refused = await send('GET / HTTP/1.1', 'X-User: ann')
  assert.match(refused, /^HTTP\/1\.1 429 /)
  assert.match(refused, /\r\n\r\nrate limit exceeded\n$/)
  assert.equal(limitsOf(refused)[0], 'Retry-After: 1801')
  assert.equal(statusOf(await send('GET / HTTP/1.1', 'X-User: bob')), 200)
  const { domain, descriptors, hitsAddend } = service.requests[0]!
  assert.deepEqual([domain, hitsAddend], ['shop', 1])
  assert.deepEqual(
    descriptors.map(({ entries }) => entries),
    [[{ key: 'user', value: 'ann' }]]
  )
})

test('a refusal in words of the service has the id of the request', async (t) => {
  service.judge = () => ({ overallCode: 2, rawBody: Buffer.from('slow down') })
  const send = await start(t, `descriptors: [${descriptor('port', '80')}]`)
  const refused = await send('GET / HTTP/1.1', 'X-Request-Id: mine')
  assert.match(refused, /^HTTP\/1\.1 429 [\s\S]*\r\nx-request-id: mine\r\n[\s\S]*\r\n\r\nslow down$/)
})

test('an entry that fails leaves its descriptor out; without descriptors nobody is asked', async (t) => {
  const send = await start(t, `descriptors: [${USER}, ${descriptor('port', '80')}]`)
  assert.equal(statusOf(await send()), 200)
  assert.deepEqual(service.requests[0]!.descriptors[0]!.entries, [{ key: 'port', value: '80' }])
  assert.equal(service.requests[0]!.descriptors.length, 1)
  const alone = await start(t, `descriptors: [${USER}]`)
  assert.equal(statusOf(await alone()), 200)
  assert.equal(service.requests.length, 1)
})

test('a service is told the text that a client has sent, and of octets that are no UTF-8 the same in UTF-8', async (t) => {
  const send = await start(t, `descriptors: [${USER}, ${descriptor('fixed', '"\u00e9\u65e5"')}]`)
  for (const [octets, value] of [
    ['ann', 'ann'],
    ['Jos\u00c3\u00a9 \u00e6\u0097\u00a5', 'Jos\u00e9 \u65e5'],
    ['Jos\u00e9', 'Jos\u00e9'],
    ['\u00ff\u00c3\u00a9', '\u00ff\u00c3\u00a9']
  ] as const) {
    await send('GET / HTTP/1.1', `X-User: ${octets}`)
    const [user, fixed] = service.requests.pop()!.descriptors
    assert.equal(user!.entries[0]!.value, value)
    assert.equal(fixed!.entries[0]!.value, '\u00e9\u65e5')
  }
})

test('a path that is written in other ways is one descriptor', async (t) => {
  const send = await start(t, `descriptors: [${descriptor('path', 'request.path')}]`)
  for (const path of ['/a/b', '/a%2Fb', '/a//b']) await send(`GET ${path} HTTP/1.1`)
  assert.deepEqual(
    new Set(service.requests.map(({ descriptors }) => descriptors[0]!.entries[0]!.value)),
    new Set(['/a/b'])
  )
})

test('an expression over a large body is asked as any other', async (t) => {
  const send = await start(t, `descriptors: [${descriptor('user', 'json(request.body).user')}]`)
  const body = JSON.stringify({ filler: 'x'.repeat(1 << 20), user: 'ann' })
  assert.equal(statusOf(await send('POST / HTTP/1.1', `Content-Length: ${body.length}`, '', body)), 200)
  assert.deepEqual(service.requests[0]!.descriptors[0]!.entries, [{ key: 'user', value: 'ann' }])
})

test('fields of the service reach backend and client; those of the engine cannot be set', async (t) => {
  const field = (key: string, value: string) => ({ key, value, rawValue: Buffer.alloc(0) })
  service.judge = () => ({
    requestHeadersToAdd: [field('X-Plan', 'gold'), field('Content-Length', '9'), field('x-bad', 'a\r\nb: c')],
    responseHeadersToAdd: [field('X-Shard', '3'), field('Content-Length', '3')]
  })
  const send = await start(t, `descriptors: [${descriptor('a', '"b"')}]`)
  const seen = origin.seen.length
  const answer = await send()
  assert.match(answer, /\r\nx-shard: 3\r\n/i)
  assert.doesNotMatch(answer, /content-length/i)
  assert.equal(statusOf(answer), 200)
  const head = JSON.stringify(origin.seen[seen])
  assert.match(head, /x-plan.{1,5}gold/i)
  assert.doesNotMatch(head, /x-bad|content-length/i)
})

test('the service writes the body of a refusal, and says what it is', async (t) => {
  const html = { key: 'Content-Type', value: 'text/html', rawValue: Buffer.alloc(0) }
  service.judge = () => ({ overallCode: 2, rawBody: Buffer.from('slow down'), responseHeadersToAdd: [html] })
  const send = await start(t, `descriptors: [${descriptor('a', '"b"')}]`)
  const refused = await send()
  assert.match(refused, /^HTTP\/1\.1 429 [\s\S]*\r\n\r\nslow down$/)
  assert.deepEqual(refused.match(/^content-type: .*$/gim), ['Content-Type: text/html'])
})

describe('what cannot be asked', () => {
  const a = `descriptors: [${descriptor('a', '"b"')}]`
  const cases = {
    'an error': () => Object.assign(new Error('no'), { code: 13 }),
    garbage: () => Buffer.from('ffffffffff', 'hex'),
    'no verdict': () => ({ overallCode: 0 as const }),
    'a code of a later version': () => ({ overallCode: 7 as 0 })
  }
  for (const [name, judge] of Object.entries(cases))
    test(`${name} is refused, or passes where the file says so`, async (t) => {
      service.judge = judge
      const refused = await (await start(t, a))()
      assert.match(refused, /^HTTP\/1\.1 500 [\s\S]*the rate limit service cannot be asked/)
      assert.equal(statusOf(await (await start(t, `failureMode: FailOpen, ${a}`))()), 200)
      assert.equal(statusOf(await (await start(t, `failureMode: { denyWithStatus: 503 }, ${a}`))()), 503)
    })

  test('a service that is slow, and one that is gone', async (t) => {
    service.judge = () => null
    assert.equal(statusOf(await (await start(t, `timeout: 50ms, ${a}`))()), 500)
    const gone = await startLimitService(() => ({}))
    gone.close()
    assert.equal(statusOf(await (await start(t, a, { at: gone.port }))()), 500)
  })
})

test('a limit of the process is asked first', async (t) => {
  const send = await start(t, `descriptors: [${descriptor('a', '"b"')}]`, {
    more: ', local: [{ requests: 1, unit: Hours }]'
  })
  assert.deepEqual([statusOf(await send()), statusOf(await send())], [200, 429])
  assert.equal(service.requests.length, 1)
})

describe('tokens', () => {
  const backend = () =>
    `{ ai: { provider: { openai: { model: m }, host: 127.0.0.1, port: ${origin.port} } }, policies: { auth: { key: k } } }`
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
  const lines = ['POST /v1/chat/completions HTTP/1.1', 'Content-Type: application/json'] as const

  test('are charged when the answer is over: what it cost beyond the 1 of the request', async (t) => {
    service.judge = counting(40)
    const both = `descriptors: [${descriptor('user', 'request.headers["x-user"]', 'Tokens')}, ${descriptor('all', '"1"')}]`
    const send = await start(t, both, { backend: backend() })
    const chat = () => send(lines[0], lines[1], 'X-User: ann', `Content-Length: ${body.length}`, '', body)
    const settled = (async () => {
      await service.next()
      return await service.next()
    })()
    assert.equal(statusOf(await chat()), 200)
    const { descriptors, hitsAddend } = await settled
    assert.equal(hitsAddend, 41)
    assert.deepEqual(
      descriptors.map(({ entries }) => entries[0]!.key),
      ['user']
    )
    assert.equal(statusOf(await chat()), 429)
  })

  test('what is no call of a model costs the 1 of the request', async (t) => {
    const send = await start(t, `descriptors: [${descriptor('a', '"b"', 'Tokens')}]`)
    assert.equal(statusOf(await send()), 200)
    assert.deepEqual(
      service.requests.map(({ hitsAddend }) => hitsAddend),
      [1]
    )
  })
})

test('every constraint is a mistake with its place', () => {
  const one = (more: object) =>
    problemsOf(rateLimit, {
      global: {
        backendRef: { name: 'limits' },
        domain: 'shop',
        descriptors: [{ entries: [{ name: 'a', expression: '1' }] }],
        ...more
      }
    })
  assert.deepEqual(one({}), [])
  assert.match(one({ domain: '' })[0]!, /^global\.domain: /)
  assert.match(one({ domain: undefined })[0]!, /^global\.domain: /)
  assert.match(one({ host: 'a:1' })[0]!, /^global: must have exactly one of backendRef, backend, host/)
  assert.deepEqual(one({ descriptors: [] }), ['global.descriptors: must have 1 to 16 entries'])
  assert.deepEqual(one({ descriptors: [{ entries: [] }] }), ['global.descriptors.0.entries: must have 1 to 16 entries'])
  const entry = (value: object) => one({ descriptors: [{ entries: [value] }] })
  assert.match(entry({ name: 'a', expression: 'request.pth' })[0]!, /^global\.descriptors\.0\.entries\.0\.expression: /)
  assert.match(entry({ name: 'a'.repeat(65), expression: '1' })[0]!, /entries\.0\.name: must have at most 64/)
  assert.match(one({ failureMode: 'Maybe' })[0]!, /^global\.failureMode: must be FailClosed/)
  assert.match(one({ timeout: '0s' })[0]!, /^global\.timeout: must be longer than 0s/)
  const alias = { ...rateLimit, schema: rateLimit.aliases[1]!.schema! }
  const remote = { host: '127.0.0.1:8081', domain: 'shop', failureMode: 'failOpen' }
  assert.match(
    problemsOf(alias, { ...remote, descriptors: [{ entries: [{ key: 'a', value: '1' }], type: 'tokens' }] }).join(),
    /^(failureMode: .*)?$/
  )
})

test('of an answer no more is told than was asked for, in values that fields can have', async (t) => {
  const send = await start(t, `descriptors: [${USER}]`)
  const one = (name: string, seconds: bigint) => ({
    code: 2 as const,
    currentLimit: { name, requestsPerUnit: 5, unit: 1 as const },
    limitRemaining: 0,
    durationUntilReset: { seconds, nanos: 0 },
    quota: undefined
  })
  service.judge = () => ({ overallCode: 2, statuses: [one('n'.repeat(129), 2n ** 62n), one('other', 1n)] })
  assert.deepEqual(limitsOf(await send('GET / HTTP/1.1', 'X-User: ann')), [
    'Retry-After: 999999999999999',
    'x-ratelimit-limit: 5',
    'x-ratelimit-remaining: 0',
    'x-ratelimit-reset: 999999999999999',
    'RateLimit-Policy: "descriptor-0";q=5;w=1',
    'RateLimit: "descriptor-0";r=0;t=999999999999999'
  ])
  const field = { key: 'x-a', value: 'v', rawValue: Buffer.alloc(0) }
  service.judge = () => ({ responseHeadersToAdd: Array.from({ length: 257 }, () => field) })
  assert.equal(statusOf(await send('GET / HTTP/1.1', 'X-User: ann')), 500)
})

test('charges that fail are told at once, then once a minute, with how many tokens they were', () => {
  const lines: string[] = []
  let now = 0
  const log = (level: string, message: string) => lines.push(`${level} ${message}`)
  const lost = lostCharges(log, () => now)
  for (const [at, tokens] of [
    [0, 10],
    [1, 20],
    [59_999, 30],
    [60_000, 40]
  ] as const) {
    now = at
    lost(tokens, 'limits: UNAVAILABLE')
  }
  assert.deepEqual(lines, [
    'warn rateLimit: 10 tokens could not be charged: limits: UNAVAILABLE',
    'warn rateLimit: 90 tokens could not be charged: limits: UNAVAILABLE'
  ])
})
