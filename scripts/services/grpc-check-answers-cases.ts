/** extAuth over gRPC: what becomes of what the service answers. */

import { allowed, denied, option, status } from '#policies/traffic/ext-auth/services.fixture.ts'
import { type Case, group } from './case.ts'
import { reply } from './servers.ts'
import { grpcCheck, SHORT } from './setups.ts'

const PLAIN = grpcCheck()
const ACTIONS = [
  'APPEND_IF_EXISTS_OR_ADD',
  'ADD_IF_ABSENT',
  'OVERWRITE_IF_EXISTS_OR_ADD',
  'OVERWRITE_IF_EXISTS'
] as const
type Action = 0 | 1 | 2 | 3
const each = <T>(made: (name: string, action: Action) => Record<string, T>): Record<string, T> =>
  Object.assign({}, ...ACTIONS.map((name, i) => made(name, i as Action)))

const ACTION_CASES: Case[] = group('extAuth gRPC, append action', PLAIN, {
  ...each((name, action) => ({
    [`${name}, field is there`]: {
      request: { headers: ['X-A', 'old'] },
      check: () => allowed({ headers: [option('x-a', 'new', action)] })
    },
    [`${name}, field is there twice`]: {
      request: { headers: ['X-A', 'old', 'X-A', 'older'] },
      check: () => allowed({ headers: [option('x-a', 'new', action)] })
    },
    [`${name}, field is not there`]: { check: () => allowed({ headers: [option('x-n', 'new', action)] }) },
    [`${name}, twice in the answer`]: {
      check: () => allowed({ headers: [option('x-n', '1', action), option('x-n', '2', action)] })
    },
    [`${name}, response has the field`]: {
      check: () => allowed({ responseHeadersToAdd: [option('x-from', 'check', action)] })
    },
    [`${name}, response has not`]: {
      check: () => allowed({ responseHeadersToAdd: [option('x-n', 'check', action)] })
    }
  })),
  'append true goes before the action': {
    request: { headers: ['X-A', 'old'] },
    check: () => allowed({ headers: [option('x-a', 'new', 2, true)] })
  },
  'append false goes before the action': {
    request: { headers: ['X-A', 'old'] },
    check: () => allowed({ headers: [option('x-a', 'new', 0, false)] })
  }
})

const set = (name: string, value: string) => option(name, value, 2)
const HTML = set('content-type', 'text/html')
/** With a content type, which each of the two has its own default of. */
const html = (code: number, headers: ReturnType<typeof set>[], body: string) => denied(code, [HTML, ...headers], body)

const ALLOWED: Case[] = group('extAuth gRPC, allowed', PLAIN, {
  'over HTTP/2, with fields': {
    request: { http: 2, headers: ['x-a', 'old'] },
    check: () => allowed({ headers: [set('x-a', 'new')], responseHeadersToAdd: [set('x-r', '1')] })
  },
  'fields removed': {
    request: { headers: ['X-A', '1', 'X-B', '2', 'X-A', '3'] },
    check: () => allowed({ headersToRemove: ['x-a', 'X-B', 'x-none'] })
  },
  'a field set and removed': { check: () => allowed({ headers: [set('x-n', '1')], headersToRemove: ['x-n'] }) },
  'host and :path cannot be removed': { check: () => allowed({ headersToRemove: ['host', ':path', ':method'] }) },
  'a new authorization': {
    request: { headers: ['Authorization', 'Bearer old'] },
    check: () => allowed({ headers: [set('authorization', 'Bearer new')] })
  },
  'a field with an empty value': {
    request: { headers: ['X-A', 'old'] },
    check: () => allowed({ headers: [set('x-a', '')] })
  },
  'a field of UTF-8': { check: () => allowed({ headers: [set('x-n', 'café')] }) },
  'a name in capitals': { check: () => allowed({ headers: [set('X-Name', '1')] }) },
  'a value with a line break': { check: () => allowed({ headers: [set('x-n', 'a\nb')] }) },
  'a new :path': { check: () => allowed({ headers: [set(':path', '/other')] }) },
  'a new host': { check: () => allowed({ headers: [set('host', 'b.test')] }) },
  'a new content-length': {
    request: { method: 'POST', body: [Buffer.from('hello')] },
    check: () => allowed({ headers: [set('content-length', '3')] })
  },
  'parameters set': {
    check: () =>
      allowed({
        queryParametersToSet: [
          { key: 'b', value: 'n' },
          { key: 'c', value: '' }
        ]
      })
  },
  'parameters removed': { check: () => allowed({ queryParametersToRemove: ['a', 'none'] }) },
  'all parameters removed': { check: () => allowed({ queryParametersToRemove: ['a', 'b'] }) },
  'a parameter set and removed': {
    check: () => allowed({ queryParametersToSet: [{ key: 'a', value: 'n' }], queryParametersToRemove: ['a'] })
  },
  'a parameter for a path without query': {
    request: { path: '/p' },
    check: () => allowed({ queryParametersToSet: [{ key: 'c', value: 'd' }] })
  },
  'a parameter that has to be escaped': {
    check: () => allowed({ queryParametersToSet: [{ key: 'c', value: 'x y&z=ü' }] })
  },
  'Set-Cookie for the response, twice': {
    check: () => allowed({ responseHeadersToAdd: [option('set-cookie', 'a=b'), option('set-cookie', 'c=d')] })
  },
  'status OK without an answer': {
    check: () => ({ status: status(0), httpResponse: undefined, dynamicMetadata: undefined })
  },
  'no status': { check: () => ({ status: undefined, httpResponse: undefined, dynamicMetadata: undefined }) },
  'an empty message': { check: () => Buffer.alloc(0) },
  'a backend that fails': {
    check: () => allowed({ responseHeadersToAdd: [set('x-r', '1')] }),
    backend: reply(503, ['X-B', '1'], 'broken')
  },
  'a backend that breaks off': {
    request: { method: 'POST', body: [Buffer.from('hello')] },
    check: () => allowed({ responseHeadersToAdd: [set('x-r', '1')] }),
    backend: (response) => void response.destroy(),
    isOwnWords: true
  },
  'fields for the response of 304': {
    check: () => allowed({ responseHeadersToAdd: [set('x-r', '1')] }),
    backend: (response) => void response.writeHead(304, ['Etag', '"1"']).end()
  },
  'a body behind it': {
    request: { method: 'POST', body: [Buffer.alloc(100_000, 'x')] },
    check: () => allowed({ headers: [set('x-n', '1')] })
  }
})

const DENIED: Case[] = group('extAuth gRPC, denied', PLAIN, {
  '401 with fields and a body': {
    check: () => html(401, [set('www-authenticate', 'Basic')], '<p>no</p>')
  },
  'over HTTP/2': { request: { http: 2 }, check: () => html(403, [set('x-why', 'because')], 'no') },
  'HEAD gets no body': { request: { method: 'HEAD' }, check: () => html(403, [], 'no') },
  'no content type': { check: () => denied(403, [], 'no') },
  'without a body': { check: () => denied(403, [], '') },
  'without an answer': {
    check: () => ({ status: status(7), httpResponse: undefined, dynamicMetadata: undefined }),
    isOwnWords: true
  },
  UNAUTHENTICATED: {
    check: () => ({ status: status(16), httpResponse: undefined, dynamicMetadata: undefined }),
    isOwnWords: true
  },
  'status 0': { check: () => html(0, [], 'no') },
  'status 200': { check: () => html(200, [], 'no') },
  'status 302': { check: () => denied(302, [set('location', '/login')], '') },
  'status 429': { check: () => html(429, [set('retry-after', '3')], 'slow') },
  'status 503': { check: () => html(503, [], 'broken') },
  'two cookies': { check: () => html(401, [option('set-cookie', 'a=b'), option('set-cookie', 'c=d')], 'no') },
  ...each((name, action) => ({
    [`a field twice with ${name}`]: {
      check: () => html(403, [option('x-n', '1', action), option('x-n', '2', action)], 'no')
    }
  })),
  'a body of UTF-8': { check: () => html(403, [], 'Grüße') },
  'a request with a body': {
    request: { method: 'POST', body: [Buffer.from('hello')] },
    check: () => html(403, [], 'no')
  },
  'a request of gRPC': {
    request: {
      http: 2,
      method: 'POST',
      headers: ['content-type', 'application/grpc', 'te', 'trailers'],
      body: [Buffer.alloc(5)]
    },
    check: () => html(403, [], 'no')
  },
  'with an OK answer': {
    check: () => ({ ...allowed({ headers: [set('x-n', '1')] }), status: status(7) }),
    isOwnWords: true
  }
})

const SLOW = grpcCheck({ timeout: SHORT })
const OPEN = grpcCheck({ envoy: { failure_mode_allow: true }, weir: { failureMode: 'FailOpen' }, timeout: SHORT })
const STATUS = grpcCheck({
  envoy: { status_on_error: { code: 503 } },
  weir: { failureMode: { denyWithStatus: 503 } },
  timeout: SHORT
})
const DEAD = grpcCheck({ service: 'dead', timeout: SHORT })
const DEAD_OPEN = grpcCheck({
  service: 'dead',
  envoy: { failure_mode_allow: true },
  weir: { failureMode: 'FailOpen' },
  timeout: SHORT
})

const GARBAGE = () => Buffer.from([0xff])
const fails = { isOwnWords: true }

const FAILED: Case[] = [
  ...group('extAuth gRPC, failure refuses', SLOW, {
    'too late': { check: () => null, ...fails },
    'no message': { check: GARBAGE, ...fails }
  }),
  ...group('extAuth gRPC, failure passes', OPEN, {
    'too late': { check: () => null },
    'no message': { check: GARBAGE }
  }),
  ...group('extAuth gRPC, failure has a status', STATUS, {
    'too late': { check: () => null, ...fails },
    'a denial has its own': { check: () => html(401, [], 'no') }
  }),
  ...group('extAuth gRPC, nobody listens', DEAD, { 'it refuses': fails }),
  ...group('extAuth gRPC, nobody listens and failures pass', DEAD_OPEN, { 'it passes': {} })
]

export const GRPC_CHECK_ANSWERS: readonly Case[] = [...ACTION_CASES, ...ALLOWED, ...DENIED, ...FAILED]
