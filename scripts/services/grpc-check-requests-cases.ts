/** extAuth over gRPC: what the service is told of requests. */
import { type Case, group } from './case.ts'
import type { Servers } from './servers.ts'
import { grpcCheck, SHORT } from './setups.ts'

const PLAIN = grpcCheck()
const BODY_BYTES = 20
const BODY = grpcCheck({
  envoy: { with_request_body: { max_request_bytes: BODY_BYTES, allow_partial_message: false } },
  weir: { forwardBody: { maxSize: BODY_BYTES } }
})
const AS_BYTES = grpcCheck({
  envoy: { with_request_body: { max_request_bytes: BODY_BYTES, pack_as_bytes: true } },
  weir: { forwardBody: { maxSize: BODY_BYTES, packAsBytes: true } }
})
const LARGE_BODY = grpcCheck({
  envoy: { with_request_body: { max_request_bytes: 300_000 } },
  weir: { forwardBody: { maxSize: 300_000 } }
})
const SOME_HEADERS = grpcCheck({
  envoy: { allowed_headers: { patterns: [{ exact: 'x-in' }, { exact: 'authorization' }] } },
  weir: { grpc: { allowedRequestHeaders: ['X-In', 'Authorization'] } }
})
const NO_HEADERS = grpcCheck({
  envoy: { allowed_headers: { patterns: [{ exact: 'x-none' }] } },
  weir: { grpc: { allowedRequestHeaders: ['x-none'] } }
})
const EXTENSIONS = {
  ...grpcCheck({ weir: { grpc: { contextExtensions: { tenant: 'blue', empty: '' } } } })
}
const WITH_EXTENSIONS = {
  ...EXTENSIONS,
  envoy: {
    ...EXTENSIONS.envoy,
    route: {
      typed_per_filter_config: {
        'envoy.filters.http.ext_authz': {
          '@type': 'type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute',
          check_settings: { context_extensions: { tenant: 'blue', empty: '' } }
        }
      }
    }
  }
}

const octets = (...values: number[]): Buffer[] => [Buffer.from(values)]
const text = (value: string): Buffer[] => [Buffer.from(value)]

const HEADS: Case[] = group('extAuth gRPC, request', PLAIN, {
  'GET without fields': {},
  'GET over HTTP/2': { request: { http: 2 } },
  HEAD: { request: { method: 'HEAD' } },
  'OPTIONS with an origin': { request: { method: 'OPTIONS', headers: ['Origin', 'https://b.test'] } },
  'DELETE with an empty body': { request: { method: 'DELETE', body: [] } },
  'a method of its own': { request: { method: 'PROPFIND' } },
  'fields in capitals': { request: { headers: ['X-In', 'Ab C', 'USER-AGENT', 'u/1'] } },
  'a field twice': { request: { headers: ['X-A', '1', 'x-a', '2', 'X-A', '3'] } },
  'a field twice over HTTP/2': { request: { http: 2, headers: ['x-a', '1', 'x-a', '2'] } },
  'two Cookie lines': { request: { headers: ['Cookie', 'a=b', 'Cookie', 'c=d'] } },
  'two cookies over HTTP/2': { request: { http: 2, headers: ['cookie', 'a=b', 'cookie', 'c=d'] } },
  'an empty field': { request: { headers: ['X-Empty', ''] } },
  'a field with blanks around': { request: { headers: ['X-A', '  in  side  '] } },
  'a field of UTF-8': { request: { headers: ['X-A', 'caf\xc3\xa9'] } },
  'a field of Latin-1': { request: { headers: ['X-A', 'caf\xe9'] } },
  'a long field': { request: { headers: ['X-A', 'v'.repeat(8000)] } },
  'fifty fields': { request: { headers: Array.from({ length: 50 }, (_, i) => [`X-${i}`, `${i}`]).flat() } },
  'an authorization': { request: { headers: ['Authorization', 'Bearer t.t.t', 'Proxy-Authorization', 'Basic q'] } },
  'forwarded fields': { request: { headers: ['X-Forwarded-For', '10.0.0.1', 'Forwarded', 'for=10.0.0.1'] } },
  'an x-envoy field of the client': {
    request: { headers: ['X-Envoy-Original-Path', '/q'] }
  },
  'no query': { request: { path: '/p' } },
  'an empty query': { request: { path: '/p?' } },
  'an escaped path': { request: { path: '/x%20y/%41?q=%42+c' } },
  'dots in a path': { request: { path: '/a/../b/./c' } },
  'a doubled slash': { request: { path: '//a//b' } },
  'an escaped slash': { request: { path: '/a%2fb%2Fc' } },
  'a long path': { request: { path: `/${'p'.repeat(5000)}` } },
  'an absolute target': { request: { path: 'http://b.test/p?q=1' } },
  'a query with a question mark and braces': { request: { path: '/p?a=?&b={c}' } },
  'a host with a port': { request: { host: 'a.test:8080' } },
  'a host in capitals': { request: { host: 'A.Test' } },
  trailers: {
    request: {
      method: 'POST',
      headers: ['TE', 'trailers'],
      body: text('ab'),
      isChunked: true,
      trailers: { 'x-t': '1' }
    }
  },
  'trailers over HTTP/2': {
    request: { http: 2, method: 'POST', headers: ['te', 'trailers'], body: text('ab'), trailers: { 'x-t': '1' } }
  },
  'trailers of a client that takes none': {
    request: { method: 'POST', body: text('ab'), isChunked: true, trailers: { 'x-t': '1' } }
  }
})

const LONG_TEXT = 'x'.repeat(200_000)
const POST = { method: 'POST' }

const BODIES: Case[] = [
  ...group('extAuth gRPC, body that is not told', PLAIN, {
    'a small one': { request: { ...POST, body: text('hello') } },
    'a large one': { request: { ...POST, body: text(LONG_TEXT) } },
    'a large one over HTTP/2': { request: { ...POST, http: 2, body: text(LONG_TEXT) } },
    chunks: { request: { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] } }
  }),
  ...group('extAuth gRPC, body', BODY, {
    none: {},
    'an empty one': { request: { ...POST, body: [] } },
    'a small one': { request: { ...POST, body: text('hello') } },
    'a small one over HTTP/2': { request: { ...POST, http: 2, body: text('hello') } },
    'as long as may be': { request: { ...POST, body: text('x'.repeat(BODY_BYTES)) } },
    'one byte too long': { request: { ...POST, body: text('x'.repeat(BODY_BYTES + 1)) }, isOwnWords: true },
    'one byte too long over HTTP/2': {
      request: { ...POST, http: 2, body: text('x'.repeat(BODY_BYTES + 1)) },
      isOwnWords: true
    },
    chunks: { request: { ...POST, isChunked: true, body: [Buffer.from('he'), Buffer.from('llo')] } },
    'chunks that are too long': { request: { ...POST, isChunked: true, body: text('x'.repeat(30)) }, isOwnWords: true },
    'chunks and trailers': {
      request: { ...POST, headers: ['TE', 'trailers'], isChunked: true, body: text('hello'), trailers: { 'X-T': '1' } }
    },
    'octets that are no UTF-8': { request: { ...POST, body: octets(0xff, 0xfe, 0) } },
    'UTF-8': { request: { ...POST, body: text('Grüße') } }
  }),
  ...group('extAuth gRPC, body as bytes', AS_BYTES, {
    text: { request: { ...POST, body: text('hello') } },
    'octets that are no UTF-8': { request: { ...POST, body: octets(0xff, 0xfe, 0) } }
  }),
  ...group('extAuth gRPC, large body', LARGE_BODY, {
    '200,000 bytes': { request: { ...POST, body: text(LONG_TEXT) } },
    '200,000 bytes over HTTP/2': { request: { ...POST, http: 2, body: text(LONG_TEXT) } }
  })
]

const CHOSEN: Case[] = [
  ...group('extAuth gRPC, some fields told', SOME_HEADERS, {
    'both and others': { request: { headers: ['X-In', '1', 'X-In', '2', 'Authorization', 'q', 'X-Other', 'z'] } },
    'none of them': { request: { headers: ['X-Other', 'z'] } }
  }),
  ...group('extAuth gRPC, no fields told', NO_HEADERS, {
    'a request with some': { request: { headers: ['X-In', '1'] } }
  }),
  ...group('extAuth gRPC, context extensions', WITH_EXTENSIONS, { 'of the route': {} })
]

const SLOW = grpcCheck({ timeout: SHORT })
const leaves = { check: () => null, until: (servers: Servers) => servers.cancelled() > 0 }

const GONE: Case[] = group('extAuth gRPC, a client that leaves', SLOW, {
  'over HTTP/1': { request: { goes: true }, ...leaves },
  'over HTTP/2': { request: { http: 2, goes: true }, ...leaves }
})

export const GRPC_CHECK_REQUESTS: readonly Case[] = [...HEADS, ...BODIES, ...CHOSEN, ...GONE]
