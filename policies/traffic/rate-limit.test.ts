import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { type Buckets, charge } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, STOP } from '#engine/contract/filter.ts'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { type Origin, startOrigin } from '#engine/testing/origin.ts'
import { compilePolicy, failures, problemsOf, runRequest } from '#engine/testing/policy.ts'
import { rawClient } from '#engine/testing/raw.ts'
import { BucketTable } from '#engine/workers/bucket-table.ts'
import { bucketsOf } from '#engine/workers/buckets.ts'
import { QUOTA } from '#policies/shared/quota.ts'
import { rateLimit } from './rate-limit.ts'

// --- the hook ---

class World {
  now = 0
  readonly table = new BucketTable(BucketTable.create(64), { owner: 0, clock: () => this.now })
  readonly buckets: Buckets = bucketsOf(this.table)

  /** Runs requests of `tenant` through a policy with these limits. */
  policy(...local: readonly object[]): (tenant?: string) => Exchange {
    const compiled = compilePolicy(rateLimit, { local }, undefined, { buckets: this.buckets })
    return (tenant) => {
      const ex = fakeExchange({ headers: tenant === undefined ? [] : [['x-tenant', tenant]] })
      const verdict = runRequest(compiled, ex)
      assert.equal(verdict, ex.error === null ? CONTINUE : STOP)
      return ex
    }
  }
}

const TENANT = 'request.headers["x-tenant"]'
const outcomeOf = (ex: Exchange) => [ex.error, QUOTA.get(ex), ex.refusalHeaders]

test('a path that is written in other ways has no further account', async (t) => {
  const origin = await startOrigin((response) => response.end('ok'))
  t.after(() => origin.close())
  const local = [{ requests: 2, unit: 'Hours', key: 'request.path' }]
  const route = { policies: { rateLimit: { local } }, backends: [{ host: `127.0.0.1:${origin.port}` }] }
  const { port, close } = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes: [route] }] }] }))
  t.after(close)
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  const twins = ['/a/b', '/a%2Fb', '/a//b', '/a;x/b', '/a%2fb', '/a;y/b;z', '/%61/b']
  const statuses: number[] = []
  for (const path of twins) statuses.push(await statusOf(path))
  assert.deepEqual(statuses, [200, 200, 429, 429, 429, 429, 429])
  assert.equal(await statusOf('/a/c'), 200)
})

test('so many requests per unit and burst, then a refusal that says when to come back', () => {
  const world = new World()
  const send = world.policy({ requests: 2, burst: 1, unit: 'Minutes' })
  assert.deepEqual(outcomeOf(send()), [null, { capacity: 3, left: 2, resetS: 60 }, null])
  world.now = 20_500
  send()
  assert.deepEqual(outcomeOf(send()), [null, { capacity: 3, left: 0, resetS: 40 }, null])
  assert.deepEqual(outcomeOf(send()), ['RATE_LIMITED', { capacity: 3, left: 0, resetS: 40 }, ['Retry-After', '40']])
  world.now = 59_999
  assert.deepEqual(send().refusalHeaders, ['Retry-After', '1'])
  world.now = 60_000
  assert.equal(QUOTA.get(send())!.left, 1)
})

test('the units', () => {
  const resets = ['Seconds', 'Minutes', 'Hours'].map(
    (unit) => QUOTA.get(new World().policy({ requests: 1, unit })())!.resetS
  )
  assert.deepEqual(resets, [1, 60, 3600])
})

test('all limits must pass; what was taken from those before a refusal is given back', () => {
  const send = new World().policy(
    { requests: 5, unit: 'Minutes' },
    { requests: 9, unit: 'Hours' },
    { requests: 1, unit: 'Seconds', key: TENANT }
  )
  assert.deepEqual(outcomeOf(send('a')), [null, { capacity: 1, left: 0, resetS: 1 }, null])
  for (let i = 0; i < 20; i++) assert.equal(send('a').error, 'RATE_LIMITED')
  const answers = ['b', 'c', 'd', 'e', 'f'].map((tenant) => send(tenant).error)
  assert.deepEqual(answers, [null, null, null, null, 'RATE_LIMITED'])
  assert.equal(QUOTA.get(send('g'))!.capacity, 5, 'the limit that refused is the one that is told')
})

test('the tightest limit is told: the fewest left, and of two alike the longer wait', () => {
  const world = new World()
  const quotaOf = (...local: readonly object[]) => {
    const { capacity, resetS } = QUOTA.get(world.policy(...local)())!
    return [capacity, resetS]
  }
  assert.deepEqual(quotaOf({ requests: 9, unit: 'Hours' }, { requests: 4, unit: 'Seconds' }), [4, 1])
  assert.deepEqual(quotaOf({ requests: 3, unit: 'Seconds' }, { requests: 3, unit: 'Hours' }), [3, 3600])
  assert.deepEqual(quotaOf({ requests: 2, unit: 'Hours' }, { requests: 2, unit: 'Seconds' }), [2, 3600])
})

test('each caller has a bucket; callers that cannot be told apart share one, and are counted', () => {
  const world = new World()
  const send = world.policy({ requests: 2, unit: 'Minutes', key: TENANT })
  failures.length = 0
  const granted = (tenant?: string) => [1, 2, 3].filter(() => send(tenant).error === null).length
  assert.deepEqual([granted('a'), granted('b'), granted('a')], [2, 2, 0])
  // No such header, and one without a value.
  assert.deepEqual([granted(), granted('')], [2, 0])
  assert.equal(world.table.counts.unknown, 6)
  assert.deepEqual(failures, Array(6).fill('rateLimit'))
})

test('limits that tell callers apart in other ways are other limits', () => {
  const world = new World()
  const byKey = (key: string) => QUOTA.get(world.policy({ requests: 2, unit: 'Hours', key })('192.0.2.1'))!.left
  assert.deepEqual([byKey(TENANT), byKey('source.address'), byKey(TENANT)], [1, 1, 0])
})

test('numbers and booleans name callers too; lists and maps do not', () => {
  const world = new World()
  const unknown = (key: string) => {
    const before = world.table.counts.unknown
    world.policy({ requests: 1, unit: 'Hours', key })()
    return world.table.counts.unknown > before
  }
  assert.deepEqual(['source.port', 'request.method == "GET"', '[1]', '{"a": 1}', 'null'].map(unknown), [
    false,
    false,
    true,
    true,
    true
  ])
})

test('tokens are charged when they are known, and debt refuses until it is paid', () => {
  const world = new World()
  const send = world.policy({ tokens: 100, unit: 'Minutes', key: TENANT }, { requests: 50, unit: 'Minutes' })
  assert.deepEqual(QUOTA.get(world.policy({ tokens: 7, unit: 'Hours' })()), { capacity: 7, left: 7, resetS: 3600 })
  const first = send('a')
  assert.deepEqual(outcomeOf(first), [null, { capacity: 50, left: 49, resetS: 60 }, null])
  charge(first, 250)
  assert.deepEqual(outcomeOf(send('a')), [
    'RATE_LIMITED',
    { capacity: 100, left: 0, resetS: 120 },
    ['Retry-After', '120']
  ])
  assert.equal(QUOTA.get(send('b'))!.left, 48, 'a refused request costs nothing, and callers pay for themselves')
  world.now = 60_000
  assert.equal(send('a').error, 'RATE_LIMITED')
  world.now = 120_000
  assert.equal(send('a').error, null)
})

test('a limit that did not change keeps its state when it is built again, wherever it stands in the list', () => {
  const world = new World()
  const [hours, minutes] = [
    { requests: 3, unit: 'Hours' },
    { requests: 7, unit: 'Minutes' }
  ]
  world.policy(hours)()
  assert.equal(QUOTA.get(world.policy(minutes, hours)())!.left, 1)
  assert.equal(QUOTA.get(world.policy({ requests: 3, unit: 'Hours', burst: 1 })())!.left, 3, 'another limit')
  const twice = QUOTA.get(world.policy(hours, hours)())!
  assert.equal(twice.left, 0)
})

test('only a key that reads the body asks for it', () => {
  const buffers = (key: string) =>
    compilePolicy(rateLimit, { local: [{ requests: 1, unit: 'Hours', key }] }).filter!.buffers
  assert.deepEqual([buffers(TENANT), buffers('json(request.body).user')], [undefined, { request: true }])
})

// --- the configuration ---

test('every constraint is a mistake with its place', () => {
  const one = (limit: object) => problemsOf(rateLimit, { local: [limit] })
  const many = (count: number) => problemsOf(rateLimit, { local: Array(count).fill({ requests: 1, unit: 'Hours' }) })
  const unit = 'Hours'
  assert.deepEqual(problemsOf(rateLimit, {}), [': must have at least one of local, global'])
  assert.deepEqual([many(0), many(16), many(17)], [['local: must have 1 to 16 entries'], [], many(0)])
  assert.deepEqual(one({ unit }), ['local.0: must have exactly one of requests, tokens'])
  assert.deepEqual(one({ unit, requests: 1, tokens: 1 }), [
    'local.0: must have exactly one of requests, tokens, not requests and tokens'
  ])
  for (const amount of [0, 1.5, 1e9 + 1, '1']) {
    const message = 'must be a whole number from 1 to 1000000000'
    assert.deepEqual(one({ unit, requests: amount }), [`local.0.requests: ${message}`])
    assert.deepEqual(one({ unit, tokens: amount }), [`local.0.tokens: ${message}`])
  }
  assert.match(one({ requests: 1 })[0]!, /^local\.0\.unit: /)
  assert.match(one({ requests: 1, unit: 'Days' })[0]!, /^local\.0\.unit: .*Seconds.*Minutes.*Hours/)
  assert.match(one({ requests: 1, unit, burst: -1 })[0]!, /^local\.0\.burst: must be a whole number from 0/)
  assert.match(one({ requests: 1, unit, key: 'request.pth' })[0]!, /^local\.0\.key: expression 1:9: /)
})

test('the other form of the file: mistakes', () => {
  const alias = { ...rateLimit, schema: rateLimit.aliases[0]!.schema! }
  const one = (limit: object) => problemsOf(alias, [{ maxTokens: 5, tokensPerFill: 5, fillInterval: '1s', ...limit }])
  assert.deepEqual(one({}), [])
  assert.deepEqual(one({ tokensPerFill: 6 }), [
    '0.tokensPerFill: must not be more than maxTokens: a bucket holds no more than that'
  ])
  assert.deepEqual(one({ fillInterval: '0s' }), ['0.fillInterval: must be longer than 0s'])
  assert.match(one({ maxTokens: 0 })[0]!, /^0\.maxTokens: must be a whole number from 1/)
  assert.match(one({ type: 'bytes' })[0]!, /^0\.type: /)
  assert.deepEqual(problemsOf(alias, []), [': must have 1 to 16 entries'])
})

// --- through a client's connection ---

interface Stand {
  readonly gateway: TestGateway
  readonly time: { now: number }
  /** The whole answer to a GET; "\r\n" ends every line of its head. */
  get(path: string, ...headers: readonly string[]): Promise<string>
}

async function stand(t: TestContext, yaml: string): Promise<Stand> {
  const time = { now: 0 }
  const gateway = await startGateway(yaml, { clock: () => time.now })
  t.after(() => gateway.close())
  return {
    gateway,
    time,
    async get(path, ...headers) {
      const client = await rawClient(gateway.port)
      const lines = [`GET ${path} HTTP/1.1`, 'Host: example.com', 'Connection: close', ...headers, '', '']
      client.send(lines.join('\r\n'))
      return await client.untilEnd()
    }
  }
}

const status = (answer: string): number => Number(answer.slice(9, 12))
/** Its rate limit headers, as "name: value". */
const limits = (answer: string): string[] => answer.match(/^(?:retry-after|x-ratelimit-\w+): .*(?=\r$)/gim) ?? []

async function origin(t: TestContext, headers: Record<string, string> = {}): Promise<Origin> {
  const server = await startOrigin((response) => response.writeHead(200, headers).end('from upstream'))
  t.after(() => server.close())
  return server
}

const file = (port: number, policies: string, more = '') => `
binds:
- port: 0
  listeners:
  - routes:
    - matches: [{ path: { pathPrefix: /limited } }]
      policies: { ${policies} }
      backends: [{ host: '127.0.0.1:${port}' }]
    ${more}
    - name: free
      backends: [{ host: '127.0.0.1:${port}' }]
`
const TWO = 'rateLimit: { local: [{ requests: 2, unit: Minutes }] }'

test('allowed and refused answers, byte by byte', async (t) => {
  const upstream = await origin(t)
  const { get, time } = await stand(t, file(upstream.port, TWO))
  assert.deepEqual(limits(await get('/free')), [])
  const first = await get('/limited')
  assert.equal(status(first), 200)
  assert.deepEqual(limits(first), ['x-ratelimit-limit: 2', 'x-ratelimit-remaining: 1', 'x-ratelimit-reset: 60'])
  time.now = 30_000
  await get('/limited')
  const refused = await get('/limited')
  assert.match(refused, /^HTTP\/1\.1 429 Too Many Requests\r\n/)
  assert.match(refused, /\r\nContent-Type: text\/plain; charset=utf-8\r\n/)
  assert.match(refused, /\r\n\r\nrate limit exceeded\n$/)
  assert.deepEqual(limits(refused), [
    'Retry-After: 30',
    'x-ratelimit-limit: 2',
    'x-ratelimit-remaining: 0',
    'x-ratelimit-reset: 30'
  ])
  assert.equal(upstream.seen.length, 3)
  time.now = 60_000
  assert.equal(status(await get('/limited')), 200)
})

test('limits that the upstream tells about itself are not touched', async (t) => {
  const upstream = await origin(t, { 'X-RateLimit-Remaining': '7' })
  const { get } = await stand(t, file(upstream.port, TWO))
  assert.deepEqual(limits(await get('/limited')), ['X-RateLimit-Remaining: 7'])
})

test('a refusal by a policy that runs before costs nothing', async (t) => {
  const upstream = await origin(t)
  const rules = 'authorization: { rules: [\'request.headers["x-ok"] == "1"\'] }'
  const { get } = await stand(t, file(upstream.port, `${TWO}, ${rules}`))
  for (let i = 0; i < 5; i++) {
    const forbidden = await get('/limited')
    assert.deepEqual([status(forbidden), limits(forbidden)], [403, []])
  }
  assert.equal(status(await get('/limited', 'x-ok: 1')), 200)
})

test('a reload keeps the state of limits that did not change, and of no others', async (t) => {
  const upstream = await origin(t)
  const { get, gateway } = await stand(
    t,
    file(upstream.port, `${TWO}, timeouts: { request: 5s }`).replace('- matches', '- name: limited\n      matches')
  )
  const named = (policies: string, more = '') =>
    file(upstream.port, policies, more).replace('- matches', '- name: limited\n      matches')
  await get('/limited')
  await get('/limited')
  await gateway.reload(named(`${TWO}, timeouts: { request: 6s }`))
  assert.equal(status(await get('/limited')), 429)
  // In another place of the file it is the same route.
  const moved = named(TWO).replace(
    '- routes:',
    '- routes:\n    - matches: [{ path: { exact: /new } }]\n      policies: { directResponse: { status: 204 } }'
  )
  await gateway.reload(moved)
  assert.equal(status(await get('/limited')), 429)
  await gateway.reload(named(TWO.replace('2', '3')))
  assert.equal(status(await get('/limited')), 200)
})

test('equal policies on two routes are two limits; that of a listener is one for its routes', async (t) => {
  const upstream = await origin(t)
  const other = `- matches: [{ path: { exact: /other } }]
      policies: { ${TWO} }
      backends: [{ host: '127.0.0.1:${upstream.port}' }]`
  const own = await stand(t, file(upstream.port, TWO, other))
  const answers = async ({ get }: Stand) =>
    [await get('/limited'), await get('/other'), await get('/limited'), await get('/other')].map(status)
  assert.deepEqual(await answers(own), [200, 200, 200, 200])
  const shared = file(upstream.port, 'timeouts: { request: 5s }', other.replace(`policies: { ${TWO} }`, ''))
  const one = await stand(t, shared.replace('- routes:', `- policies: { ${TWO} }\n    routes:`))
  assert.deepEqual(await answers(one), [200, 200, 429, 429])
})

test('the example', async (t) => {
  const yaml = readFileSync(new URL('../../docs/examples/rate-limit.yaml', import.meta.url), 'utf8')
  const { get } = await stand(t, yaml.replace('8080', '0'))
  const logins = [await get('/login'), await get('/login'), await get('/login'), await get('/login')]
  assert.deepEqual(logins.map(status), [200, 200, 200, 429])
  assert.equal(limits(logins[0]!)[0], 'x-ratelimit-limit: 3')
  assert.equal(limits(await get('/'))[0], 'x-ratelimit-limit: 1200')
  assert.deepEqual(limits(await get('/api', 'x-tenant: a')), [
    'x-ratelimit-limit: 10',
    'x-ratelimit-remaining: 9',
    'x-ratelimit-reset: 10'
  ])
  assert.equal(limits(await get('/api', 'x-tenant: b'))[1], 'x-ratelimit-remaining: 9')
})
