import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fakeExchange } from '#engine/testing/exchange.ts'
import { startGateway } from '#engine/testing/gateway.ts'
import { startOrigin } from '#engine/testing/origin.ts'
import { compilePolicy, problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw, rawServer } from '#engine/testing/raw.ts'
import { retry } from './retry.ts'

const POST = 'POST /a HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'

test('fields that are absent have defaults', () => {
  assert.deepEqual(compilePolicy(retry, {}), {
    retry: {
      attempts: 1,
      codes: new Set(),
      backoffMs: 25,
      precondition: null,
      condition: null,
      budget: { percent: 20, minPerSecond: 10 }
    }
  })
})

test('zero attempts turn off what a listener has turned on', () => {
  assert.deepEqual(compilePolicy(retry, { attempts: 0, codes: [503] }), {})
})

test('expressions decide; one that fails is not true', () => {
  const config = { precondition: 'request.headers["x-safe"] == "1"', condition: 'response.headers["x"] == "again"' }
  const { precondition } = compilePolicy(retry, config).retry!
  assert.equal(precondition!(fakeExchange({ headers: [['x-safe', '1']] })), true)
  assert.equal(precondition!(fakeExchange()), false)
})

test('limits', () => {
  assert.deepEqual(problemsOf(retry, { attempts: 32, codes: [400, 599], backoff: '1h', budget: { percent: 100 } }), [])
  for (const [config, field] of [
    [{ attempts: 33 }, 'attempts'],
    [{ attempts: -1 }, 'attempts'],
    [{ attempts: 1.5 }, 'attempts'],
    [{ codes: [399] }, 'codes.0'],
    [{ codes: [600] }, 'codes.0'],
    [{ codes: ['503'] }, 'codes.0'],
    [{ backoff: 25 }, 'backoff'],
    [{ precondition: 'response.code == 503' }, 'precondition'],
    [{ condition: 'response.code' }, 'condition'],
    [{ budget: { percent: 101 } }, 'budget.percent'],
    [{ budget: { minPerSecond: -1 } }, 'budget.minPerSecond'],
    [{ perTryTimeout: '1s' }, '']
  ] as const) {
    const problems = problemsOf(retry, config)
    assert.equal(problems.length, 1, `${JSON.stringify(config)}: ${problems}`)
    assert.ok(problems[0]!.startsWith(`${field}: `), problems[0])
  }
})

test('a body cannot be asked for', () => {
  assert.throws(() => compilePolicy(retry, { precondition: 'request.body == "x"' }), /precondition cannot read a body/)
  assert.throws(() => compilePolicy(retry, { condition: 'response.body == "x"' }), /condition cannot read a body/)
})

test('the example of the docs: the other backend of the route answers', async (t) => {
  const dead = await rawServer(() => {})
  dead.close()
  const origin = await startOrigin((response, { url }) => {
    response.statusCode = url === '/payments' ? 503 : 200
    response.end()
  })
  const example = readFileSync(new URL('../../docs/examples/retry.yaml', import.meta.url), 'utf8')
  const gateway = await startGateway(
    example.replace('8080', '0').replace('9001', String(dead.port)).replace('9002', String(origin.port))
  )
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  for (let i = 1; i <= 4; i++) {
    assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 200/)
    assert.equal(origin.seen.length, i)
  }
  assert.equal(origin.seen[0]!.body, 'hello')
  assert.match(gateway.metrics(), /weir_upstream_retries_total 1\n/)
  assert.match(await exchangeRaw(gateway.port, POST.replace('/a', '/payments')), /^HTTP\/1.1 503/)
  assert.equal(origin.seen.length, 5)
})

test('without the policy a refused connection is answered with 502, and the next request goes elsewhere', async (t) => {
  const dead = await rawServer(() => {})
  dead.close()
  const origin = await startOrigin()
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes: [{ backends: [{ host: "127.0.0.1:${dead.port}" }, { host: "127.0.0.1:${origin.port}" }] }]
`)
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 502/)
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 200/)
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 200/)
})

test('each attempt goes to a backend that was not tried, as long as there is one', async (t) => {
  const hits: string[] = []
  const origins = await Promise.all(
    ['a', 'b', 'c'].map((name) =>
      startOrigin((response) => {
        hits.push(name)
        response.statusCode = 503
        response.end()
      })
    )
  )
  const hosts = origins.map(({ port }, i) => `{ host: "127.0.0.1:${port}", weight: ${i === 0 ? 100 : 1} }`)
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes: [{ policies: { retry: { attempts: 3, codes: [503], backoff: 0s } }, backends: [${hosts}] }]
`)
  t.after(async () => {
    await gateway.close()
    for (const origin of origins) origin.close()
  })
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 503/)
  assert.equal(hits.length, 4)
  assert.deepEqual(hits.slice(0, 3).toSorted(), ['a', 'b', 'c'])
})

test('a body that a policy has replaced is repeated and mirrored as it is now', async (t) => {
  const origin = await startOrigin((response) => {
    response.statusCode = origin.seen.length === 1 ? 503 : 200
    response.end()
  })
  const shadow = await startOrigin()
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies:
              retry: { codes: [503], backoff: 0s }
              requestMirror: { backend: { host: "127.0.0.1:${shadow.port}" } }
              transformation: { request: { body: '"new " + request.body' } }
            backends: [{ host: "127.0.0.1:${origin.port}" }]
`)
  t.after(async () => {
    await gateway.close()
    origin.close()
    shadow.close()
  })
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 200/)
  assert.deepEqual(
    origin.seen.map(({ body }) => body),
    ['new hello', 'new hello']
  )
  while (shadow.seen.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(shadow.seen[0]!.body, 'new hello')
})

test('a name that cannot be resolved is retried', async (t) => {
  const origin = await startOrigin()
  const gateway = await startGateway(`
binds:
  - port: 0
    listeners:
      - routes:
          - policies: { retry: { backoff: 0s } }
            backends: [{ host: "nobody.invalid:80" }, { host: "127.0.0.1:${origin.port}" }]
`)
  t.after(async () => {
    await gateway.close()
    origin.close()
  })
  assert.match(await exchangeRaw(gateway.port, POST), /^HTTP\/1.1 200/)
  assert.ok(origin.seen[0]!.headers.includes('x-retry-attempt'))
  assert.ok(origin.seen[0]!.headers.includes('a.test'))
})
