/** extProc: heads, what changes in them, and answers at once. */

import { option } from '#policies/traffic/ext-auth/services.fixture.ts'
import { mutation } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group } from './case.ts'
import { body, immediately, on, override, POST, text } from './processing-parts.ts'
import { reply } from './servers.ts'
import { processing } from './setups.ts'

const PLAIN = processing()
const REQUEST_ONLY = processing({ mode: { response_header_mode: 'SKIP' } })
const RESPONSE_ONLY = processing({ mode: { request_header_mode: 'SKIP' } })
const ATTRIBUTES = processing({
  envoy: { request_attributes: ['request.method', 'request.path'], response_attributes: ['response.code'] },
  weir: {
    requestAttributes: { 'request.method': 'request.method', 'request.path': 'request.pathAndQuery' },
    responseAttributes: { 'response.code': 'response.code' }
  }
})

const UNCHANGED: Case[] = [
  ...group('extProc, heads told', PLAIN, {
    GET: {},
    'over HTTP/2': { request: { http: 2 } },
    HEAD: { request: { method: 'HEAD' } },
    'a request with a body': { request: { ...POST, body: text('hello') } },
    'a request in chunks': { request: { ...POST, isChunked: true, body: text('hello') } },
    'an empty body': { request: { ...POST, body: [] } },
    'fields of a request': { request: { headers: ['X-A', '1', 'X-a', '2', 'Cookie', 'a=b', 'X-Empty', ''] } },
    'a field of Latin-1': { request: { headers: ['X-A', 'caf\xe9'] } },
    'a path with escapes': { request: { path: '/x%20y?q=%42' } },
    'fields of a response': {
      backend: reply(201, ['X-A', '1', 'X-A', '2', 'Set-Cookie', 'a=b', 'Set-Cookie', 'c=d'], 'made')
    },
    'a response without a body': { backend: (response) => void response.writeHead(204, ['X-A', '1']).end() },
    'a response of 304': { backend: (response) => void response.writeHead(304, ['Etag', '"1"']).end() },
    'a response in chunks': {
      backend(response) {
        response.sendDate = false
        response.writeHead(200, ['Content-Type', 'text/plain'])
        response.write('a')
        response.end('b')
      }
    },
    'a response of 500': { backend: reply(500, ['X-A', '1'], 'broken') }
  }),
  ...group('extProc, heads of requests told', REQUEST_ONLY, {
    GET: {},
    'POST with a change': {
      request: { ...POST, body: text('hello') },
      process: on('requestHeaders', { headerMutation: mutation({ 'x-n': '1' }) })
    }
  }),
  ...group('extProc, heads of responses told', RESPONSE_ONLY, {
    GET: {},
    'a change': { process: on('responseHeaders', { headerMutation: mutation({ 'x-n': '1' }) }) }
  }),
  ...group('extProc, attributes', ATTRIBUTES, { 'of both sides': {} })
]

const ACTIONS = [
  'APPEND_IF_EXISTS_OR_ADD',
  'ADD_IF_ABSENT',
  'OVERWRITE_IF_EXISTS_OR_ADD',
  'OVERWRITE_IF_EXISTS'
] as const

/** Envoy reads raw values. */
const raw = (name: string, value: string, append?: boolean) => {
  const { header, ...more } = option(name, '', 0, append)
  return { ...more, header: { ...header, rawValue: Buffer.from(value) } }
}
const setting = (...setHeaders: ReturnType<typeof raw>[]) => ({ setHeaders, removeHeaders: [] })

const actions = (): Record<string, object> =>
  Object.fromEntries(
    ACTIONS.flatMap((name, i) => {
      const action = i as 0 | 1 | 2 | 3
      return [
        [
          `${name} on a request`,
          {
            request: { headers: ['X-A', 'old'] },
            process: on('requestHeaders', { headerMutation: mutation({ 'x-a': 'new', 'x-n': 'new' }, [], action) })
          }
        ],
        [
          `${name} on a response`,
          {
            process: on('responseHeaders', { headerMutation: mutation({ 'x-from': 'new', 'x-n': 'new' }, [], action) })
          }
        ]
      ] as const
    })
  )

const CHANGED: Case[] = group('extProc, changes of heads', PLAIN, {
  ...actions(),
  'append true': {
    request: { headers: ['X-A', 'old'] },
    process: on('requestHeaders', { headerMutation: setting(raw('x-a', 'new', true)) })
  },
  'append false': {
    request: { headers: ['X-A', 'old'] },
    process: on('requestHeaders', { headerMutation: setting(raw('x-a', 'new', false)) })
  },
  'a field twice': {
    process: on('responseHeaders', {
      headerMutation: setting(raw('x-n', '1'), raw('x-n', '2'))
    })
  },
  'fields removed from a request': {
    request: { headers: ['X-A', '1', 'X-B', '2', 'X-A', '3'] },
    process: on('requestHeaders', { headerMutation: mutation({}, ['x-a', 'x-none']) })
  },
  'fields removed from a response': { process: on('responseHeaders', { headerMutation: mutation({}, ['x-from']) }) },
  'set and removed': { process: on('requestHeaders', { headerMutation: mutation({ 'x-n': '1' }, ['x-n']) }) },
  'changes over HTTP/2': {
    request: { http: 2, headers: ['x-a', 'old'] },
    process: on('requestHeaders', { headerMutation: mutation({ 'x-a': 'new' }) })
  },
  'a new :path': { process: on('requestHeaders', { headerMutation: mutation({ ':path': '/other?x=1' }) }) },
  'a new :status': { process: on('responseHeaders', { headerMutation: mutation({ ':status': '418' }) }) },
  'a new :method': { process: on('requestHeaders', { headerMutation: mutation({ ':method': 'PUT' }) }) },
  'a new host': { process: on('requestHeaders', { headerMutation: mutation({ host: 'b.test' }) }) },
  'a new :authority': { process: on('requestHeaders', { headerMutation: mutation({ ':authority': 'b.test' }) }) },
  'an x-envoy field': { process: on('requestHeaders', { headerMutation: mutation({ 'x-envoy-own': '1' }) }) },
  'an empty value': {
    request: { headers: ['X-A', 'old'] },
    process: on('requestHeaders', { headerMutation: mutation({ 'x-a': '' }) })
  },
  'a value of UTF-8': { process: on('requestHeaders', { headerMutation: mutation({ 'x-n': 'café' }) }) },
  'a value as text': {
    process: on('requestHeaders', { headerMutation: { setHeaders: [option('x-n', '1')], removeHeaders: [] } })
  },
  'a value with a line break': {
    process: on('requestHeaders', { headerMutation: mutation({ 'x-n': 'a\nb' }) }),
    isOwnWords: true
  },
  'a new content-length': {
    request: { ...POST, body: text('hello') },
    process: on('requestHeaders', { headerMutation: mutation({ 'content-length': '3' }) })
  },
  'a body in place of none': {
    process: on('requestHeaders', { status: 1, ...body('made') }),
    request: { ...POST, body: [] }
  },
  'a body in place of another': {
    request: { ...POST, body: text('hello') },
    process: on('requestHeaders', { status: 1, ...body('made') })
  },
  'a body in place of that of the response': { process: on('responseHeaders', { status: 1, ...body('made') }) }
})

const RULES: Record<string, object> = {
  none: {},
  'disallow all': { disallow_all: true },
  'disallow system': { disallow_system: true },
  'disallow is error': { disallow_all: true, disallow_is_error: true },
  'allow envoy': { allow_envoy: true },
  'allow an expression': { disallow_all: true, allow_expression: { regex: 'x-n.*' } },
  'disallow an expression': { disallow_expression: { regex: 'x-n.*' } },
  'one expression allows what the other does not': {
    allow_expression: { regex: 'x-.*' },
    disallow_expression: { regex: 'x-n.*' }
  },
  'an expression allows x-envoy': { allow_expression: { regex: 'x-envoy.*' } },
  'an expression allows :path': { disallow_system: true, allow_expression: { regex: ':path' } },
  'an expression is for whole names': { disallow_all: true, allow_expression: { regex: 'x-' } }
}
const camel = (key: string): string => key.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
const asText = (value: unknown): unknown => (typeof value === 'object' ? (value as { regex: string }).regex : value)
const ALL = { 'x-n': '1', 'x-other': '2', 'x-envoy-own': '3', ':path': '/other' }

const RULED: Case[] = Object.entries(RULES).flatMap(([name, rules]) => {
  const own = Object.fromEntries(Object.entries(rules).map(([key, value]) => [camel(key), asText(value)]))
  return group(
    'extProc, mutation rules',
    processing({ envoy: { mutation_rules: rules }, weir: { mutationRules: own } }),
    {
      [name]: {
        request: { headers: ['X-Gone', '1'] },
        process: on('requestHeaders', { headerMutation: mutation(ALL, ['x-gone']) }),
        isOwnWords: name === 'disallow is error'
      }
    }
  )
})

const html = mutation({ 'content-type': 'text/html' })
const IMMEDIATE: Case[] = group('extProc, immediate response', PLAIN, {
  'to a request': { process: immediately('requestHeaders', 403, { headers: html, body: Buffer.from('no') }) },
  'over HTTP/2': {
    request: { http: 2 },
    process: immediately('requestHeaders', 403, { headers: html, body: Buffer.from('no') })
  },
  'without a body': {
    process: immediately('requestHeaders', 401, { headers: mutation({ 'www-authenticate': 'Basic' }) })
  },
  'with two cookies': {
    process: immediately('requestHeaders', 403, {
      headers: setting(raw('set-cookie', 'a=b'), raw('set-cookie', 'c=d'))
    })
  },
  'with two cookies to append': {
    process: immediately('requestHeaders', 403, {
      headers: setting(raw('set-cookie', 'a=b', true), raw('set-cookie', 'c=d', true))
    })
  },
  'without a content type': { process: immediately('requestHeaders', 403, { body: Buffer.from('no') }) },
  'status 200': { process: immediately('requestHeaders', 200, { headers: html, body: Buffer.from('cached') }) },
  'to a request with a body': {
    request: { ...POST, body: text('hello') },
    process: immediately('requestHeaders', 403, { headers: html, body: Buffer.from('no') })
  },
  'to HEAD': {
    request: { method: 'HEAD' },
    process: immediately('requestHeaders', 403, { headers: html, body: Buffer.from('no') })
  },
  'in place of a response': {
    process: immediately('responseHeaders', 502, { headers: html, body: Buffer.from('bad') })
  },
  'status 0': { process: immediately('requestHeaders', 0, { headers: html, body: Buffer.from('no') }) }
})

const OVERRIDE = processing({ envoy: { allow_mode_override: true }, weir: { allowModeOverride: true } })
const OVERRIDDEN: Case[] = [
  ...group('extProc, mode override', OVERRIDE, {
    'asks for the body of the request': {
      request: { ...POST, body: text('hello') },
      process: on('requestHeaders', {}, override({ requestBodyMode: 2 }))
    },
    'asks for no response': { process: on('requestHeaders', {}, override({ responseHeaderMode: 2 })) },
    'asks for the body of the response': { process: on('responseHeaders', {}, override({ responseBodyMode: 2 })) },
    'asks for both bodies': {
      request: { ...POST, body: text('hello') },
      process: on('requestHeaders', {}, override({ requestBodyMode: 2, responseBodyMode: 2 }))
    }
  }),
  ...group('extProc, mode override that is not allowed', PLAIN, {
    'asks for the body of the request': {
      request: { ...POST, body: text('hello') },
      process: on('requestHeaders', {}, override({ requestBodyMode: 2 }))
    }
  })
]

export const PROCESSING_HEADS: readonly Case[] = [...UNCHANGED, ...CHANGED, ...RULED, ...IMMEDIATE, ...OVERRIDDEN]
