/** rateLimit.global: descriptors, and what becomes of the service's answer. */
import { type Case, group } from './case.ts'
import { limits, SHORT } from './setups.ts'

const HEADER = (name: string, key: string, skips = false) => ({
  request_headers: { header_name: name, descriptor_key: key, skip_if_absent: skips }
})
const USER = { actions: [[HEADER('x-user', 'user')]], descriptors: [{ user: 'request.headers["x-user"]' }] }

const PLAIN = limits(USER)
const SEVERAL = limits({
  actions: [
    [HEADER('x-user', 'user')],
    [HEADER('x-user', 'user'), HEADER(':path', 'path')],
    [HEADER(':method', 'method'), { remote_address: {} }],
    [{ generic_key: { descriptor_value: 'all' } }]
  ],
  descriptors: [
    { user: 'request.headers["x-user"]' },
    { user: 'request.headers["x-user"]', path: 'request.pathAndQuery' },
    { method: 'request.method', remote_address: 'source.address' },
    { generic_key: '"all"' }
  ]
})
const MATCHED = limits({
  actions: [
    [
      {
        header_value_match: {
          descriptor_key: 'kind',
          descriptor_value: 'paid',
          headers: [{ name: 'x-plan', string_match: { exact: 'gold' } }]
        }
      }
    ]
  ],
  descriptors: [{ kind: '{"gold": "paid"}[request.headers["x-plan"]]' }]
})
const user = ['X-User', 'ann']

const DESCRIPTORS: Case[] = [
  ...group('rateLimit.global, descriptors', PLAIN, {
    'one of a field': { request: { headers: user } },
    'over HTTP/2': { request: { http: 2, headers: ['x-user', 'ann'] } },
    'a field that is not there': {},
    'an empty field': { request: { headers: ['X-User', ''] } },
    'a field twice': { request: { headers: ['X-User', 'a', 'X-User', 'b'] } },
    'a field of UTF-8': { request: { headers: ['X-User', 'caf\xc3\xa9'] } },
    'a field of Latin-1': { request: { headers: ['X-User', 'caf\xe9'] } },
    'a field with quotes': { request: { headers: ['X-User', 'a"b\\c'] } },
    'a long field': { request: { headers: ['X-User', 'u'.repeat(8000)] } },
    'a request with a body': { request: { method: 'POST', headers: user, body: [Buffer.alloc(50_000, 'x')] } }
  }),
  ...group('rateLimit.global, several descriptors', SEVERAL, {
    'all of them': { request: { headers: user } },
    'two that fail': {},
    'an escaped path': { request: { headers: user, path: '/x%20y?q=1' } }
  }),
  ...group('rateLimit.global, a descriptor of a match', MATCHED, {
    'that matches': { request: { headers: ['X-Plan', 'gold'] } },
    'that does not': { request: { headers: ['X-Plan', 'tin'] } }
  })
]

const field = (key: string, value: string) => ({ key, value, rawValue: Buffer.alloc(0) })
const status = (code: 1 | 2, left: number) => ({
  code,
  currentLimit: { name: 'shop', requestsPerUnit: 10, unit: 2 as const },
  limitRemaining: left,
  durationUntilReset: { seconds: 30n, nanos: 0 },
  quota: undefined
})
const ok = { overallCode: 1 as const }
const over = { overallCode: 2 as const }
const request = { headers: user }

const ANSWERS: Case[] = group('rateLimit.global, answer', PLAIN, {
  'OK without a limit': { request, limit: () => ok },
  'OK with a limit': { request, limit: () => ({ ...ok, statuses: [status(1, 4)] }) },
  'OK with fields': {
    request: { headers: [...user, 'X-Count', 'client'] },
    limit: () => ({
      ...ok,
      requestHeadersToAdd: [field('x-count', '1'), field('x-new', '2')],
      responseHeadersToAdd: [field('x-told', '3'), field('x-from', 'limit')]
    })
  },
  'over the limit': { request, limit: () => ({ ...over, statuses: [status(2, 0)] }), isOwnWords: true },
  'over the limit, over HTTP/2': { request: { ...request, http: 2 }, limit: () => over, isOwnWords: true },
  'over the limit with a body and fields': {
    request,
    limit: () => ({
      ...over,
      rawBody: Buffer.from('slow down'),
      responseHeadersToAdd: [field('x-told', '3'), field('content-type', 'text/html')]
    })
  },
  'over the limit for a request with a body': {
    request: { ...request, method: 'POST', body: [Buffer.from('hello')] },
    limit: () => over,
    isOwnWords: true
  },
  'over the limit to HEAD': {
    request: { ...request, method: 'HEAD' },
    limit: () => ({ ...over, rawBody: Buffer.from('slow'), responseHeadersToAdd: [field('content-type', 'text/html')] })
  },
  'a code that says nothing': { request, limit: () => ({ overallCode: 0 }), isOwnWords: true },
  'a field that is none': { request, limit: () => ({ ...ok, responseHeadersToAdd: [field('x-told', 'a\nb')] }) },
  'a new host': { request, limit: () => ({ ...ok, requestHeadersToAdd: [field('host', 'b.test')] }) }
})

const SLOW_OPEN = limits({ ...USER, timeout: SHORT, weir: { failureMode: 'FailOpen' } })
const SLOW = limits({ ...USER, timeout: SHORT, envoy: { failure_mode_deny: true } })
const STATUS = limits({
  ...USER,
  timeout: SHORT,
  envoy: { failure_mode_deny: true, status_on_error: { code: 503 } },
  weir: { failureMode: { denyWithStatus: 503 } }
})
const DEAD = limits({ ...USER, timeout: SHORT, service: 'dead', envoy: { failure_mode_deny: true } })
const DEAD_OPEN = limits({ ...USER, timeout: SHORT, service: 'dead', weir: { failureMode: 'FailOpen' } })
const late = { request, limit: () => null }
const error = { request, limit: () => new Error('no') }
const garbage = { request, limit: () => Buffer.from([0xff]) }
const refused = { isOwnWords: true }

const FAILED: Case[] = [
  ...group('rateLimit.global, failure passes', SLOW_OPEN, {
    'too late': late,
    'an error': error,
    'no message': garbage
  }),
  ...group('rateLimit.global, failure refuses', SLOW, {
    'too late': { ...late, ...refused },
    'an error': { ...error, ...refused },
    'no message': { ...garbage, ...refused },
    'over the limit is no failure': { request, limit: () => over, ...refused }
  }),
  ...group('rateLimit.global, failure has a status', STATUS, { 'an error': { ...error, ...refused } }),
  ...group('rateLimit.global, nobody listens', DEAD, { 'it refuses': { request, ...refused } }),
  ...group('rateLimit.global, nobody listens and failures pass', DEAD_OPEN, { 'it passes': { request } })
]

const WITH_FIELDS = limits({ ...USER, envoy: { enable_x_ratelimit_headers: 'DRAFT_VERSION_03' } })
const FIELDS: Case[] = group('rateLimit.global, fields of limits', WITH_FIELDS, {
  'of an answer': { request, limit: () => ({ ...ok, statuses: [status(1, 4)] }) },
  'of a refusal': { request, limit: () => ({ ...over, statuses: [status(2, 0)] }) }
})

export const LIMITS: readonly Case[] = [...DESCRIPTORS, ...ANSWERS, ...FIELDS, ...FAILED]
