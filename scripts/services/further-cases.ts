/** Clients that speak gRPC, answers that say an error, and what the next policy sees of dynamic metadata. */
import { allowed, denied, option, status } from '#policies/traffic/ext-auth/services.fixture.ts'
import { answerTo } from '#policies/traffic/ext-proc/services.fixture.ts'
import { type Case, group, type Setup } from './case.ts'
import { immediately, instead } from './processing-parts.ts'
import { grpcCheck, limits, processing, SHORT } from './setups.ts'

const CALL = {
  http: 2,
  method: 'POST',
  body: [],
  headers: ['content-type', 'application/grpc', 'te', 'trailers']
} as const
const html = option('content-type', 'text/html', 2)

// --- metadata ---

/** A field of the request says what expressions see of the metadata at `namespace` and `key`. */
function showing(setup: Setup, envoyPath: string, expression: string): Setup {
  const header = { key: 'x-seen', value: `%DYNAMIC_METADATA(${envoyPath})%` }
  const action = { header, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD', keep_empty_value: true }
  const route = { request_headers_to_add: [action] }
  return {
    envoy: { ...setup.envoy, route },
    weir(ports) {
      const own = setup.weir(ports)
      const transformation = { request: { set: { 'x-seen': expression } } }
      return { ...own, policies: { ...own.policies, transformation } }
    }
  }
}

const CHECK_METADATA = showing(grpcCheck(), 'envoy.filters.http.ext_authz:tier', 'extauthz.tier')
const CHECK_TREE = showing(grpcCheck(), 'envoy.filters.http.ext_authz:user:name', 'extauthz.user.name')
const RECEIVING = { metadata_options: { receiving_namespaces: { untyped: ['class'] } } }
const PROCESS_METADATA = showing(processing({ envoy: RECEIVING }), 'class:tier', 'extproc["class"].tier')
const UNNAMED = showing(processing(), 'class:tier', 'extproc["class"].tier')

const METADATA: Case[] = [
  ...group('extAuth gRPC, metadata for what follows', CHECK_METADATA, {
    'a text': { check: () => allowed({}, { tier: 'gold' }) },
    'a text of UTF-8': { check: () => allowed({}, { tier: 'café' }) },
    'an empty text': { check: () => allowed({}, { tier: '' }) }
  }),
  ...group('extAuth gRPC, metadata in metadata', CHECK_TREE, {
    'a text': { check: () => allowed({}, { user: { name: 'ann' } }) }
  }),
  ...group('extProc, metadata for what follows', PROCESS_METADATA, {
    'of the request': {
      process: instead('requestHeaders', (message) => [
        answerTo(message, {}, { dynamicMetadata: { class: { tier: 'gold' } } })
      ])
    },
    'of two namespaces': {
      process: instead('requestHeaders', (message) => [
        answerTo(message, {}, { dynamicMetadata: { class: { tier: 'gold' }, other: { tier: 'no' } } })
      ])
    }
  }),
  ...group('extProc, metadata that the configuration does not name', UNNAMED, {
    'of the request': {
      process: instead('requestHeaders', (message) => [
        answerTo(message, {}, { dynamicMetadata: { class: { tier: 'gold' } } })
      ])
    }
  })
]

// --- clients of gRPC, and errors ---

const errorOf = (code: number, body = 'broken') => ({
  status: status(13),
  httpResponse: {
    $case: 'errorResponse' as const,
    value: { status: code === 0 ? undefined : { code: code as 502 }, headers: [html], body }
  },
  dynamicMetadata: undefined
})
const statusAlone = (code: number) => ({ status: status(code), httpResponse: undefined, dynamicMetadata: undefined })
const SLASH = { generic_key: { descriptor_value: 'a' } }
const LIMIT = limits({ actions: [[SLASH]], descriptors: [{ generic_key: '"a"' }] })

const CALLS: Case[] = [
  ...group('extAuth gRPC, a client of gRPC', grpcCheck(), {
    'is denied with 401': { request: CALL, check: () => denied(401, [], '') },
    'is denied with 403': { request: CALL, check: () => denied(403, [option('x-why', 'no')], '') },
    'is denied with 404': { request: CALL, check: () => denied(404, [], '') },
    'is denied with 429': { request: CALL, check: () => denied(429, [], '') },
    'is denied with 503': { request: CALL, check: () => denied(503, [], '') },
    'is denied in words': { request: CALL, check: () => denied(403, [], 'not you') },
    'is denied with a status of the service alone': { request: CALL, check: () => statusAlone(7) },
    'is denied with another status of the service': { request: CALL, check: () => statusAlone(16) },
    'is denied with grpc-status among the fields': {
      request: CALL,
      check: () => denied(403, [option('grpc-status', '9', 2)], '')
    },
    'gets an error of the service': { request: CALL, check: () => errorOf(502, '') }
  }),
  ...group('extAuth gRPC, a client of gRPC and failures', grpcCheck({ timeout: SHORT }), {
    'are refused': { request: CALL, check: () => null, isOwnWords: true }
  }),
  ...group('extAuth gRPC, an error', grpcCheck(), {
    'with a status': { check: () => errorOf(502) },
    'without a status': { check: () => errorOf(0) },
    'of status 403': { check: () => errorOf(403) }
  }),
  ...group(
    'extAuth gRPC, an error and failures pass',
    grpcCheck({ envoy: { failure_mode_allow: true }, weir: { failureMode: 'FailOpen' } }),
    { 'with a status': { check: () => errorOf(502) } }
  ),
  ...group('rateLimit.global, a client of gRPC', LIMIT, {
    'is over its limit': { request: CALL, limit: () => ({ overallCode: 2 as const }) }
  }),
  ...group('extProc, a client of gRPC', processing(), {
    'is answered at once with 403': { request: CALL, process: immediately('requestHeaders', 403) },
    'is answered at once with a status of gRPC': {
      request: CALL,
      process: immediately('requestHeaders', 403, { grpcStatus: { status: 5 } })
    },
    'is answered in words': {
      request: CALL,
      process: immediately('requestHeaders', 429, { body: Buffer.from('later') })
    }
  })
]

export const FURTHER: readonly Case[] = [...METADATA, ...CALLS]
