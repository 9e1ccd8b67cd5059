/** extAuth over HTTP: what the service is asked, and what becomes of its answer. */
import { type Case, group } from './case.ts'
import { reply } from './servers.ts'
import { httpCheck, SHORT } from './setups.ts'

const exact = (...names: string[]) => ({ patterns: names.map((name) => ({ exact: name })) })

/** The service sees the client's Host: Weir asks by the name of the service unless it is told so. */
const HOST = { allowedRequestHeaders: ['host', 'authorization'] }
const PLAIN = httpCheck({ check: HOST })
const FIELDS = httpCheck({
  envoy: { allowed_headers: exact('x-in', 'cookie') },
  http: { authorization_response: { allowed_upstream_headers: exact('x-user', 'x-roles') } },
  check: {
    allowedRequestHeaders: ['host', 'authorization', 'x-in', 'cookie'],
    allowedResponseHeaders: ['x-user', 'x-roles']
  }
})
const ADDED = httpCheck({
  http: { authorization_request: { headers_to_add: [{ key: 'x-gate', value: 'edge' }] } },
  check: { ...HOST, addRequestHeaders: { 'x-gate': '"edge"' } }
})
const PREFIX = httpCheck({
  http: { path_prefix: '/check' },
  check: { ...HOST, path: '"/check" + request.pathAndQuery' }
})
const BODY_BYTES = 20
const BODY = httpCheck({
  envoy: { with_request_body: { max_request_bytes: BODY_BYTES, allow_partial_message: false } },
  weir: { forwardBody: { maxSize: BODY_BYTES } },
  check: HOST
})

const text = (value: string): Buffer[] => [Buffer.from(value)]
const POST = { method: 'POST' }
const TYPE = ['Content-Type', 'text/html']

const REQUESTS: Case[] = [
  ...group('extAuth HTTP, request', PLAIN, {
    GET: {},
    'over HTTP/2': { request: { http: 2 } },
    HEAD: { request: { method: 'HEAD' } },
    POST: { request: { ...POST, body: text('hello') } },
    DELETE: { request: { method: 'DELETE' } },
    'an authorization': { request: { headers: ['Authorization', 'Bearer t', 'X-Other', '1'] } },
    'a cookie that is not told': { request: { headers: ['Cookie', 'a=b'] } },
    'an escaped path': { request: { path: '/x%20y?q=%42+c' } },
    'an empty query': { request: { path: '/p?' } },
    'no query': { request: { path: '/p' } },
    'a doubled slash': { request: { path: '//a//b' } },
    'a host with a port': { request: { host: 'a.test:8080' } }
  }),
  ...group('extAuth HTTP, fields', FIELDS, {
    'two of them, one twice': { request: { headers: ['X-In', '1', 'X-In', '2', 'Cookie', 'a=b', 'X-Other', '3'] } },
    'two cookies over HTTP/2': { request: { http: 2, headers: ['cookie', 'a=b', 'cookie', 'c=d'] } },
    'UTF-8 in one': { request: { headers: ['X-In', 'caf\xc3\xa9'] } },
    'set on the request': { httpCheck: reply(200, ['X-User', 'ann', 'X-Other', '1']) },
    'in place of those of the client': {
      request: { headers: ['X-User', 'root', 'X-User', 'admin'] },
      httpCheck: reply(200, ['X-User', 'ann'])
    },
    'twice in the answer': { httpCheck: reply(200, ['X-Roles', 'a', 'X-Roles', 'b']) },
    'of the client that the service does not say': { request: { headers: ['X-User', 'root'] } }
  }),
  ...group('extAuth HTTP, added fields', ADDED, {
    'a constant': {},
    'in place of that of the client': { request: { headers: ['X-Gate', 'client'] } }
  }),
  ...group('extAuth HTTP, path', PREFIX, {
    'with a prefix': {},
    'with a prefix, no query': { request: { path: '/p' } }
  }),
  ...group('extAuth HTTP, body', BODY, {
    none: {},
    'a small one': { request: { ...POST, body: text('hello') } },
    'a small one over HTTP/2': { request: { ...POST, http: 2, body: text('hello') } },
    'as long as may be': { request: { ...POST, body: text('x'.repeat(BODY_BYTES)) } },
    'one byte too long': { request: { ...POST, body: text('x'.repeat(BODY_BYTES + 1)) }, isOwnWords: true },
    chunks: { request: { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] } },
    octets: { request: { ...POST, body: [Buffer.from([0xff, 0, 0xfe])] } }
  })
]

const ANSWERS: Case[] = group('extAuth HTTP, answer', PLAIN, {
  '200 with a body': { httpCheck: reply(200, TYPE, 'fine') },
  '201': { httpCheck: reply(201, TYPE, 'made'), isOwnWords: true },
  '204': { httpCheck: (response) => void response.writeHead(204).end(), isOwnWords: true },
  '302': { httpCheck: reply(302, ['Location', '/login']) },
  '401 with a body': { httpCheck: reply(401, ['WWW-Authenticate', 'Basic', ...TYPE], 'no') },
  '401 over HTTP/2': { request: { http: 2 }, httpCheck: reply(401, ['WWW-Authenticate', 'Basic', ...TYPE], 'no') },
  '403 with other fields': {
    httpCheck: reply(403, ['X-Why', 'because', 'Set-Cookie', 'a=b', 'Set-Cookie', 'c=d', ...TYPE], 'no')
  },
  '403 without a body': { httpCheck: reply(403) },
  '403 to HEAD': { request: { method: 'HEAD' }, httpCheck: reply(403, TYPE) },
  '403 in chunks': {
    httpCheck: (response) => {
      response.sendDate = false
      response.writeHead(403, TYPE)
      response.write('n')
      response.end('o')
    }
  },
  '404': { httpCheck: reply(404, TYPE, 'no such') },
  '429': { httpCheck: reply(429, ['Retry-After', '3', ...TYPE], 'slow') },
  '500': { httpCheck: reply(500, TYPE, 'broken'), isOwnWords: true },
  '503': { httpCheck: reply(503, TYPE, 'broken'), isOwnWords: true },
  '403 for a request with a body': { request: { ...POST, body: text('hello') }, httpCheck: reply(403, TYPE, 'no') },
  '403 with a large body': { httpCheck: reply(403, TYPE, 'x'.repeat(100_000)) }
})

const SLOW = httpCheck({ check: HOST, timeout: SHORT })
const OPEN = httpCheck({
  check: HOST,
  timeout: SHORT,
  envoy: { failure_mode_allow: true },
  weir: { failureMode: 'FailOpen' }
})
const DEAD = httpCheck({ check: HOST, service: 'dead', timeout: SHORT })
const late = { httpCheck: () => undefined }
const cut = { httpCheck: (response: { destroy(): void }) => response.destroy() }
const refused = { isOwnWords: true }

const FAILED: Case[] = [
  ...group('extAuth HTTP, failure refuses', SLOW, {
    'too late': { ...late, ...refused },
    'a connection that ends': { ...cut, ...refused }
  }),
  ...group('extAuth HTTP, failure passes', OPEN, {
    'too late': late,
    'a connection that ends': cut,
    'status 500': { httpCheck: reply(500, TYPE, 'broken') },
    'a denial is none': { httpCheck: reply(403, TYPE, 'no') }
  }),
  ...group('extAuth HTTP, nobody listens', DEAD, { 'it refuses': refused })
]

export const HTTP_CHECK: readonly Case[] = [...REQUESTS, ...ANSWERS, ...FAILED]
