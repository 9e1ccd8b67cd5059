/** Services over HTTP that are asked in their own words: method, authority, body, and a lifetime that they name. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, it } from 'node:test'
import { Double, Duration, Timestamp, Uint } from '#engine/cel/index.ts'
import { startGateway, type TestGateway } from '#engine/testing/gateway.ts'
import { problemsOf } from '#engine/testing/policy.ts'
import { exchangeRaw } from '#engine/testing/raw.ts'
import { extAuth } from '#policies/traffic/ext-auth.ts'
import { lifetimeMs } from './lifetime.ts'
import { startHttpServer } from './services.fixture.ts'

const send = (gateway: TestGateway, lines: string) =>
  exchangeRaw(gateway.port, `${lines}\r\nHost: a.test\r\nConnection: close\r\n\r\n`)
const statusOf = (answer: string): number => Number(answer.slice(9, 12))
const stops: (() => unknown)[] = []

/** A token endpoint (RFC 8693) in the place of an authorization service. */
let service: Awaited<ReturnType<typeof startHttpServer>>
let backend: Awaited<ReturnType<typeof startHttpServer>>
let expires = 0
before(async () => {
  backend = await startHttpServer(() => ({ status: 200 }))
  service = await startHttpServer(() => ({
    status: 200,
    body: JSON.stringify({ access_token: `t${service.requests.length}`, expires })
  }))
})
beforeEach(() => {
  service.requests.length = 0
  backend.requests.length = 0
  expires = Math.floor(Date.now() / 1000) + 3600
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})
after(() => {
  service.close()
  backend.close()
})

/** As examples/traffic-token-exchange/extauthz of the closest peer. */
const exchange = {
  cache: { key: ['request.headers["authorization"]'], ttl: 'extauthz.expires - 5', maxEntries: 1024 },
  protocol: {
    http: {
      path: '"/token"',
      addRequestHeaders: {
        'content-type': '"application/x-www-form-urlencoded"',
        authorization: '"Basic " + base64.encode("a:b")',
        ':method': '"POST"',
        ':authority': '"tokens.test"'
      },
      body: 'form.encode({ "grant_type": "x", "subject_token": request.headers["authorization"].split(" ")[1] })',
      metadata: { token: 'json(response.body).access_token', expires: 'json(response.body).expires' }
    }
  }
}

const start = async (extAuthz: object) => {
  const policies = {
    extAuthz: { host: `127.0.0.1:${service.port}`, ...extAuthz },
    transformations: { request: { set: { authorization: '"Bearer " + extauthz.token' } } }
  }
  const routes = [{ policies, backends: [{ host: `127.0.0.1:${backend.port}` }] }]
  const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }))
  stops.push(() => gateway.close())
  return gateway
}
const tokens = () => backend.requests.map(({ headers }) => headers.authorization)

describe('requests to a service over HTTP', () => {
  it('a token is exchanged: method, authority and body are those of the configuration', async () => {
    const gateway = await start(exchange)
    equal(statusOf(await send(gateway, 'GET /a HTTP/1.1\r\nAuthorization: Bearer mine')), 200)
    const { line, headers, body } = service.requests[0]!
    deepEqual([line, body], ['POST /token', 'grant_type=x&subject_token=mine'])
    deepEqual([headers.host, headers.authorization, headers['content-length']], ['tokens.test', 'Basic YTpi', '31'])
    deepEqual(tokens(), ['Bearer t1'])
  })

  it('a verdict is kept until the moment that the service names', async () => {
    const gateway = await start(exchange)
    for (let i = 0; i < 3; i++) await send(gateway, 'GET /a HTTP/1.1\r\nAuthorization: Bearer mine')
    await send(gateway, 'GET /a HTTP/1.1\r\nAuthorization: Bearer other')
    deepEqual(tokens(), ['Bearer t1', 'Bearer t1', 'Bearer t1', 'Bearer t2'])
  })

  it('a verdict that is over when it comes is not kept', async () => {
    expires = 3
    const gateway = await start(exchange)
    for (let i = 0; i < 2; i++) await send(gateway, 'GET /a HTTP/1.1\r\nAuthorization: Bearer mine')
    deepEqual(tokens(), ['Bearer t1', 'Bearer t2'])
  })

  const unusable: Record<string, object> = {
    method: { ':method': '"GET / HTTP/1.1"' },
    authority: { ':authority': '"a b"' },
    body: {}
  }
  for (const [part, addRequestHeaders] of Object.entries(unusable))
    it(`a request without a usable ${part} is refused, also where failures pass`, async () => {
      const body = part === 'body' ? { body: 'request.headers["no-such-field"]' } : {}
      const gateway = await start({ failureMode: 'allow', protocol: { http: { addRequestHeaders, ...body } } })
      equal(statusOf(await send(gateway, 'GET /a HTTP/1.1')), 403)
      deepEqual([service.requests.length, backend.requests.length], [0, 0])
    })

  it('mistakes are told with their place', () => {
    const problems = (extra: object) => JSON.stringify(problemsOf(extAuth, { host: 'a:1', http: {}, ...extra }))
    match(problems({ http: { addRequestHeaders: { ':path': '"/a"' } } }), /:path.*pseudo header/)
    match(problems({ cache: { key: 'source.address', ttl: '5 minutes' } }), /must be a duration/)
    match(problems({ cache: { key: 'source.address', ttl: 'nothing.here' } }), /ttl.*nothing/)
    equal(problems({ cache: { key: 'source.address', ttl: '5m' } }), '[]')
  })
})

describe('the lifetime of a verdict', () => {
  const cases: readonly [string, Parameters<typeof lifetimeMs>[0], number][] = [
    ['a duration', new Duration(1_500_000_000n), 1500],
    ['a negative duration', new Duration(-1n), 0],
    ['a timestamp', new Timestamp(12_000_000_000n), 2000],
    ['a timestamp of the past', new Timestamp(1n), 0],
    ['seconds of Unix time', 12, 2000],
    ['seconds as a 64-bit integer', 12n, 2000],
    ['seconds as a double', new Double(12), 2000],
    ['seconds as an unsigned integer', new Uint(12n), 2000],
    ['seconds with a fraction', 10.5, 500],
    ['a moment that is no number', Number.NaN, 0],
    ['an endless one', Number.POSITIVE_INFINITY, 0],
    ['text', '12', 0]
  ]
  for (const [name, value, ms] of cases)
    it(`${name}: ${ms} ms`, () => {
      equal(lifetimeMs(value, 10_000), ms)
    })
})
