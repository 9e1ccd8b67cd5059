/** Every refusal by a policy says in the log which policy it was, where it stands, and what it looked at. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { detailOf } from '#engine/contract/detail.ts'
import { ERRORS, type ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { identityOf } from '#engine/contract/identity.ts'
import type { CompileContext, Policy } from '#engine/contract/policy.ts'
import { NO_SECRETS } from '#engine/contract/secrets.ts'
import { type GrpcAnswer, NO_REMOTE_SERVICES, type Services } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { RateLimitResponse } from '#engine/proto/generated/envoy/service/ratelimit/v3/rls.ts'
import { type ExchangeOptions, fakeExchange } from '#engine/testing/exchange.ts'
import { compilePolicy, takeMatch } from '#engine/testing/policy.ts'
import { BucketTable } from '#engine/workers/bucket-table.ts'
import { bucketsOf } from '#engine/workers/buckets.ts'
import { policies } from './index.ts'

const KEYS = '{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"PnpBJ3pdWh84cQIqJA7QKIewrbf0m-eq7QOKGMLJk1s"}]}'
const NOW_S = 1_800_000_000

function token(claims: object, kid = 'a'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'EdDSA', kid })}.${part(claims)}.${Buffer.alloc(64, 7).toString('base64url')}`
}

const bearer = (text: string): ExchangeOptions => ({ headers: [['authorization', `Bearer ${text}`]] })
const good = { iss: 'me', aud: 'api', exp: NOW_S + 60 }
const JWT = { issuer: 'me', audiences: ['api'], jwks: KEYS }
const BASIC = { realm: 'Staff', users: ['ann:{SHA}2PRZAyDhNDqRW2OUFwZQqPNdaSY='] }
const API_KEY = { keys: [{ key: 'the-real-key' }], location: { header: { name: 'x-api-key' } } }
const MCP = {
  issuer: 'https://issuer.example',
  jwks: { inline: KEYS },
  resourceMetadata: { resource: 'http://a.example/mcp' }
}

interface Case {
  readonly policy: string
  readonly code: ErrorCode
  readonly config: unknown
  readonly request: ExchangeOptions
  readonly says: readonly string[]
  /** Sent by the client, and in no log. */
  readonly hides?: string
  readonly times?: number
  /** What services of others answer; absent: nothing is served where they should be. */
  readonly answer?: Uint8Array
}

const SERVICE = { host: 'localhost:9' }
const limit = (name: string, expression: string) => ({ entries: [{ name, expression }] })
const OK = {
  code: 1 as const,
  currentLimit: undefined,
  limitRemaining: 0,
  durationUntilReset: undefined,
  quota: undefined
}

const OVER: Uint8Array = RateLimitResponse.encode({
  overallCode: 2,
  statuses: [OK, { ...OK, code: 2 }],
  responseHeadersToAdd: [],
  requestHeadersToAdd: [],
  rawBody: Buffer.alloc(0),
  dynamicMetadata: undefined,
  quota: undefined
}).finish()

const AT = 'binds[0].listeners[0].routes[2].policies.'

const CASES: readonly Case[] = [
  {
    policy: 'authorization',
    code: 'FORBIDDEN',
    config: { rules: ['request.headers["x-team"] == "blue"', 'jwt.sub == "ann"'] },
    request: { headers: [['x-team', 'red']] },
    says: [
      'no rule allows it',
      `${AT}authorization.rules[0]: request.headers["x-team"] == "blue"; request.headers["x-team"] is "red"`,
      `${AT}authorization.rules[1]: jwt.sub == "ann"; jwt.sub is "bob"`
    ]
  },
  {
    policy: 'authorization',
    code: 'FORBIDDEN',
    config: { rules: ['true', { deny: 'request.method == "GET"' }] },
    request: {},
    says: ['denies it', `${AT}authorization.rules[1]: request.method == "GET"; request.method is "GET"`]
  },
  {
    policy: 'authorization',
    code: 'FORBIDDEN',
    config: { rules: [{ require: 'request.headers["x-auth-token"] == "abc"' }] },
    request: { headers: [['x-auth-token', 'hunter2']] },
    says: ['must hold', `${AT}authorization.rules[0]`, 'request.headers["x-auth-token"] is <redacted>'],
    hides: 'hunter2'
  },
  {
    policy: 'authorization',
    code: 'FORBIDDEN',
    config: { policy: { matchExpressions: ['jwt.sub == "ann"'] } },
    request: {},
    says: [`${AT}authorization.policy.matchExpressions[0]: `]
  },
  {
    policy: 'rateLimit',
    code: 'RATE_LIMITED',
    config: {
      local: [
        { requests: 9, unit: 'Hours' },
        { requests: 1, unit: 'Hours', key: 'jwt.sub' }
      ]
    },
    request: {},
    times: 2,
    says: [`${AT}rateLimit.local[1]: 1 requests per 3600s; the bucket of jwt.sub; jwt.sub is "bob"`]
  },
  {
    policy: 'csrf',
    code: 'CSRF_REFUSED',
    config: { additionalOrigins: ['https://other.example'] },
    request: { method: 'POST', headers: [['origin', 'https://evil.example']] },
    says: [`${AT}csrf: POST with no sec-fetch-site, origin "https://evil.example"`, 'https://other.example']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_MISSING',
    config: JWT,
    request: {},
    says: ['no token in the header authorization']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_REPEATED',
    config: JWT,
    request: {
      headers: [
        ['authorization', 'Bearer a'],
        ['authorization', 'Bearer b']
      ]
    },
    says: ['more than one token']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_MALFORMED',
    config: JWT,
    request: bearer('no-token-at-all'),
    says: [`${AT}jwtAuthentication: the token is malformed`],
    hides: 'no-token-at-all'
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_ISSUER',
    config: JWT,
    request: bearer(token({ ...good, iss: 'you' })),
    says: ['iss is "you"; expected "me"']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_AUDIENCE',
    config: JWT,
    request: bearer(token({ ...good, aud: ['web'] })),
    says: ['aud is "web"; expected "api"']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_EXPIRED',
    config: JWT,
    request: bearer(token({ ...good, exp: NOW_S - 60 })),
    says: ['exp is 2027-01-15T07:59:00.000Z; it is 2027-01-15T08:00:00.000Z']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_NOT_YET_VALID',
    config: JWT,
    request: bearer(token({ ...good, nbf: NOW_S + 3_600 })),
    says: ['nbf is 2027-01-15T09:00:00.000Z']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_CLAIM_MISSING',
    config: JWT,
    request: bearer(token({ iss: 'me', aud: 'api' })),
    says: ['there is no "exp"']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_KEY_UNKNOWN',
    config: JWT,
    request: bearer(token(good, 'b')),
    says: ['kid is "b"', 'iss "me"']
  },
  {
    policy: 'jwtAuthentication',
    code: 'JWT_SIGNATURE',
    config: JWT,
    request: bearer(token(good)),
    says: ['the signature of the token is not valid', 'kid is "a"']
  },
  {
    policy: 'basicAuthentication',
    code: 'BASIC_MISSING',
    config: BASIC,
    request: {},
    says: ['no Authorization header']
  },
  {
    policy: 'basicAuthentication',
    code: 'BASIC_INVALID',
    config: BASIC,
    request: { headers: [['authorization', `Basic ${Buffer.from('ann:guess').toString('base64')}`]] },
    says: [`${AT}basicAuthentication: no user there has this name and this password`],
    hides: 'ann'
  },
  {
    policy: 'basicAuthentication',
    code: 'BASIC_REPEATED',
    config: BASIC,
    request: {
      headers: [
        ['authorization', 'Basic YTph'],
        ['authorization', 'Basic YTpi']
      ]
    },
    says: ['two Authorization headers']
  },
  {
    policy: 'apiKeyAuthentication',
    code: 'API_KEY_MISSING',
    config: API_KEY,
    request: {},
    says: ['no key in the header x-api-key']
  },
  {
    policy: 'apiKeyAuthentication',
    code: 'API_KEY_INVALID',
    config: API_KEY,
    request: { headers: [['x-api-key', 'a-guess']] },
    says: [`${AT}apiKeyAuthentication: the key that was shown is none of the 1`],
    hides: 'a-guess'
  },
  {
    policy: 'apiKeyAuthentication',
    code: 'API_KEY_REPEATED',
    config: API_KEY,
    request: {
      headers: [
        ['x-api-key', 'a'],
        ['x-api-key', 'b']
      ]
    },
    says: ['more than one key']
  },
  {
    policy: 'virtualKeys',
    code: 'API_KEY_INVALID',
    config: {},
    request: bearer('a-guess'),
    says: [`${AT}virtualKeys: the key that was shown is none that is known`],
    hides: 'a-guess'
  },
  {
    policy: 'mcpAuthentication',
    code: 'JWT_MISSING',
    config: MCP,
    request: { target: '/mcp' },
    says: [`${AT}mcpAuthentication: no token in the header authorization`]
  },
  {
    policy: 'directResponse',
    code: 'INTERNAL',
    config: { status: 200, bodyExpression: 'jwt.name' },
    request: {},
    says: [`${AT}directResponse.bodyExpression gives no text: jwt.name; jwt.name is not there`]
  },
  {
    policy: 'rateLimit',
    code: 'RATE_LIMITED',
    config: {
      global: {
        ...SERVICE,
        domain: 'a',
        // The second one is left out of the call.
        descriptors: [limit('port', '80'), limit('no', 'jwt.nothing'), limit('who', 'request.headers["x-team"]')]
      }
    },
    request: { headers: [['x-team', 'red']] },
    answer: OVER,
    says: [`${AT}rateLimit.global.descriptors[2]: who = request.headers["x-team"]; request.headers["x-team"] is "red"`]
  },
  {
    policy: 'rateLimit',
    code: 'RATE_LIMIT_UNAVAILABLE',
    config: { global: { ...SERVICE, domain: 'a', descriptors: [limit('port', '80')] } },
    request: {},
    says: [`${AT}rateLimit.global: `, 'UNAVAILABLE, nothing is served here']
  },
  {
    policy: 'extAuth',
    code: 'EXT_AUTH_UNAVAILABLE',
    config: { ...SERVICE, grpc: {} },
    request: {},
    says: [`${AT}extAuth: `, 'UNAVAILABLE, nothing is served here']
  },
  {
    policy: 'extProc',
    code: 'EXT_PROC_UNAVAILABLE',
    config: SERVICE,
    request: {},
    says: [`${AT}extProc: `, 'UNAVAILABLE, nothing is served here']
  }
]

/** Where refusals of policies come from that no policy's own hook decides. */
const NOT_BY_HOOKS: readonly ErrorCode[] = [
  ...(['BODY_NOT_BUFFERED', 'RESPONSE_NOT_BUFFERED', 'REQUEST_TIMEOUT', 'BODY_OVERLOAD', 'BUFFERS_FULL'] as const),
  // What a service said, or did not say.
  ...(['EXT_AUTH_DENIED', 'EXT_AUTH_BODY', 'EXT_PROC_TIMEOUT'] as const),
  // What keys may use and spend: virtual-keys.test.ts, backends/llm/usage/spending.test.ts.
  ...(['KEY_EXPIRED', 'KEY_REVOKED', 'MODEL_NOT_ALLOWED', 'CONCURRENCY_LIMITED'] as const),
  ...(['BUDGET_EXCEEDED', 'BUDGET_UNAVAILABLE', 'PRICE_UNKNOWN'] as const),
  // The forward proxy's backend, and a policy under load.
  ...(['ADDRESS_REFUSED', 'JWT_OVERLOAD', 'BASIC_OVERLOAD', 'JWT_KEYS_UNAVAILABLE', 'SCOPE_MISSING'] as const)
]

function services(bytes: Uint8Array): Services {
  const answer: GrpcAnswer = { error: null, status: 0, message: '', trailers: '', bytes, metadata: new HeaderBlock() }
  const grpc: ReturnType<Services['grpc']> = {
    ...NO_REMOTE_SERVICES.grpc({ name: '', at: [] }),
    unary(_options, _message, done) {
      queueMicrotask(() => done(answer))
      return { cancel() {} }
    }
  }
  return { ...NO_REMOTE_SERVICES, grpc: () => grpc }
}

const context = ({ answer }: Case): Partial<CompileContext> => ({
  services: answer === undefined ? NO_REMOTE_SERVICES : services(answer),
  buckets: bucketsOf(new BucketTable(BucketTable.create(), { owner: 0, clock: () => 0 })),
  time: {
    now: () => 0,
    random: () => 0,
    wallNow: () => NOW_S * 1_000,
    after: () => () => {}
  } as unknown as CompileContext['time']
})

async function refused(one: Case): Promise<Exchange> {
  const { policy: name, config, request, times = 1 } = one
  const policy = policies.find((candidate) => candidate.name === name) as Policy
  const resolved = policy.schema.parse(config)
  const settled =
    policy.resolve?.(resolved as never, { readFile: () => '', secrets: NO_SECRETS, readYaml: JSON.parse }) ?? resolved
  const compiled = compilePolicy(
    { ...policy, schema: { parse: () => settled } as never },
    config,
    undefined,
    context(one)
  )
  let ex = fakeExchange(request)
  for (let i = 0; i < times; i++) {
    ex = fakeExchange(request)
    takeMatch(ex, [])
    ex.route = { ...ex.route!, placesOf: (field) => [`${AT}${field}`] }
    identityOf(ex).jwt = { sub: 'bob' }
    await compiled.filter!.onRequest!(ex)
  }
  return ex
}

for (const one of CASES) {
  test(`${one.code} of ${one.policy}: ${one.says[0]}`, async () => {
    const ex = await refused(one)
    assert.equal(ex.error, one.code)
    const detail = detailOf(ex)!
    for (const text of one.says) assert.ok(detail?.includes(text), `${detail} has no ${text}`)
    if (one.hides !== undefined) assert.ok(!detail.includes(one.hides), detail)
    assert.ok(detail.length < 700, detail)
  })
}

test('every code of a policy has a detail that is tested, or is none of a hook', () => {
  const codes = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => ERRORS[code].source === 'policy')
  const known = new Set([...CASES.map(({ code }) => code), ...NOT_BY_HOOKS])
  assert.deepEqual(
    codes.filter((code) => !known.has(code)),
    []
  )
})

test('a detail becomes text only when it is read, and a flood shares one', async () => {
  const one = CASES.find(({ code }) => code === 'FORBIDDEN')!
  const policy = policies.find(({ name }) => name === 'authorization')!
  const compiled = compilePolicy(policy, one.config)
  const details = Array.from({ length: 3 }, () => {
    const ex = fakeExchange(one.request)
    void compiled.filter!.onRequest!(ex)
    return ex.errorDetail
  })
  assert.equal(typeof details[0], 'function')
  assert.deepEqual(new Set(details).size, 1)
})

test('a detail that fails is a text, too', () => {
  const ex = fakeExchange()
  ex.errorDetail = () => {
    throw new Error('the host is gone')
  }
  assert.equal(detailOf(ex), 'no detail: the host is gone')
})
