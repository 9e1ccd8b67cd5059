/** Policies that ask services, and limits (docs/specification.md#traffic-policies, #rate-limits). */
import { accepts, chars, entries, refuses, SERVICE, type Table, times, traffic } from './case.ts'

const POST = 'traffic.phase: "PostRouting"'
const ASK = { backendRef: SERVICE }
const LIMIT = { requests: 1, unit: 'Seconds' }
const GLOBAL = { ...ASK, domain: 'edge', descriptors: [{ entries: [{ name: 'a', expression: 'source.address' }] }] }

export const services: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'authorization by a service over gRPC',
      traffic({
        extAuth: {
          ...ASK,
          grpc: { contextExtensions: { a: 'b' }, requestMetadata: { who: 'jwt' }, allowedRequestHeaders: ['cookie'] },
          forwardBody: { maxSize: 1024, packAsBytes: true },
          failureMode: 'FailOpen',
          timeout: '1s',
          cache: { key: ['request.path'], ttl: '10s', maxEntries: 10 },
          when: 'request.path != "/"'
        }
      }),
      [POST]
    ],
    [
      'authorization by a service over HTTP',
      traffic({
        extAuth: {
          ...ASK,
          http: {
            path: '"/check"',
            redirect: '"/login"',
            allowedRequestHeaders: ['cookie'],
            addRequestHeaders: { 'x-host': 'request.host' },
            body: '"{}"',
            allowedResponseHeaders: ['x-user'],
            responseMetadata: { user: 'response.headers["x-user"]' }
          }
        }
      }),
      [POST]
    ],
    [
      'processing by a service',
      traffic({
        extProc: {
          ...ASK,
          processingMode: {
            requestHeaderMode: 'SEND',
            responseHeaderMode: 'SKIP',
            requestBodyMode: 'STREAMED',
            responseBodyMode: 'NONE',
            requestTrailerMode: 'SKIP',
            responseTrailerMode: 'DEFAULT'
          },
          allowModeOverride: false,
          messageTimeout: '200ms',
          maxMessageTimeout: '1s',
          failureMode: 'FailClosed',
          mutationRules: {
            allowEnvoy: false,
            disallowAll: false,
            disallowSystem: true,
            disallowIsError: true,
            allowExpression: 'x-.*',
            disallowExpression: 'x-b'
          },
          requestAttributes: { a: 'request.path' },
          responseAttributes: { b: 'response.code' },
          metadataContext: { space: { c: 'request.host' } },
          observabilityMode: true,
          when: 'true'
        }
      }),
      [POST]
    ],
    [
      'limits',
      traffic({
        rateLimit: {
          local: [
            { ...LIMIT, burst: 5, key: 'source.address' },
            { tokens: 100, unit: 'Hours' }
          ],
          global: {
            ...GLOBAL,
            descriptors: [...GLOBAL.descriptors, { ...GLOBAL.descriptors[0], unit: 'Tokens' }],
            failureMode: 'FailOpen',
            timeout: '1s'
          }
        }
      }),
      [POST, 'traffic.rateLimit.global.descriptors[0].unit: "Requests"']
    ]
  ]),
  refused: refuses('GatewayPolicy', [
    [
      'both ways to ask',
      traffic({ extAuth: { ...ASK, grpc: {}, http: {} } }),
      'traffic.extAuth',
      'must have exactly one of grpc, http'
    ],
    ['no way to ask', traffic({ extAuth: ASK }), 'traffic.extAuth', 'must have exactly one of grpc, http'],
    ['nobody to ask', traffic({ extAuth: { grpc: {} } }), 'traffic.extAuth.backendRef', 'Required'],
    [
      'no body to forward',
      traffic({ extAuth: { ...ASK, grpc: {}, forwardBody: { maxSize: 0 } } }),
      'traffic.extAuth.forwardBody.maxSize',
      'greater than or equal to 1'
    ],
    [
      'a body without a size',
      traffic({ extAuth: { ...ASK, grpc: {}, forwardBody: {} } }),
      'traffic.extAuth.forwardBody.maxSize',
      'Required'
    ],
    [
      'too many extensions',
      traffic({ extAuth: { ...ASK, grpc: { contextExtensions: entries(65, 'a') } } }),
      'traffic.extAuth.grpc.contextExtensions',
      'must have at most 64 items'
    ],
    [
      'too much metadata',
      traffic({ extAuth: { ...ASK, grpc: { requestMetadata: entries(65, '1') } } }),
      'traffic.extAuth.grpc.requestMetadata',
      'must have at most 64 items'
    ],
    [
      'too many names',
      traffic({ extAuth: { ...ASK, http: { allowedRequestHeaders: times(65, (i) => `a${i}`) } } }),
      'traffic.extAuth.http.allowedRequestHeaders',
      'must have at most 64 items'
    ],
    [
      'too many names of answers',
      traffic({ extAuth: { ...ASK, http: { allowedResponseHeaders: times(65, (i) => `a${i}`) } } }),
      'traffic.extAuth.http.allowedResponseHeaders',
      'must have at most 64 items'
    ],
    [
      'too many added headers',
      traffic({ extAuth: { ...ASK, http: { addRequestHeaders: entries(65, '1') } } }),
      'traffic.extAuth.http.addRequestHeaders',
      'must have at most 64 items'
    ],
    [
      'too much of an answer',
      traffic({ extAuth: { ...ASK, http: { responseMetadata: entries(65, '1') } } }),
      'traffic.extAuth.http.responseMetadata',
      'must have at most 64 items'
    ],
    [
      'an empty name',
      traffic({ extAuth: { ...ASK, grpc: { contextExtensions: { '': 'a' } } } }),
      'traffic.extAuth.grpc.contextExtensions',
      'names must have 1 to 256 characters'
    ],
    ['nobody to process', traffic({ extProc: {} }), 'traffic.extProc.backendRef', 'Required'],
    [
      'a body mode that waits for an observer',
      traffic({ extProc: { ...ASK, observabilityMode: true, processingMode: { requestBodyMode: 'BUFFERED' } } }),
      'traffic.extProc.processingMode',
      'must be NONE or STREAMED with observabilityMode'
    ],
    ['no limits', traffic({ rateLimit: {} }), 'traffic.rateLimit', 'must have at least one of local, global'],
    [
      'no local limits',
      traffic({ rateLimit: { local: [] } }),
      'traffic.rateLimit.local',
      'should have at least 1 items'
    ],
    [
      'too many local limits',
      traffic({ rateLimit: { local: times(17, () => LIMIT) } }),
      'traffic.rateLimit.local',
      'must have at most 16 items'
    ],
    [
      'a limit of two things',
      traffic({ rateLimit: { local: [{ ...LIMIT, tokens: 1 }] } }),
      'traffic.rateLimit.local[0]',
      'must have exactly one of requests, tokens'
    ],
    [
      'a limit of nothing',
      traffic({ rateLimit: { local: [{ unit: 'Seconds' }] } }),
      'traffic.rateLimit.local[0]',
      'must have exactly one of requests, tokens'
    ],
    [
      'a limit of none',
      traffic({ rateLimit: { local: [{ ...LIMIT, requests: 0 }] } }),
      'traffic.rateLimit.local[0].requests',
      'greater than or equal to 1'
    ],
    [
      'a limit of no tokens',
      traffic({ rateLimit: { local: [{ tokens: 0, unit: 'Hours' }] } }),
      'traffic.rateLimit.local[0].tokens',
      'greater than or equal to 1'
    ],
    [
      'a limit without a unit',
      traffic({ rateLimit: { local: [{ requests: 1 }] } }),
      'traffic.rateLimit.local[0].unit',
      'Required'
    ],
    [
      'a unit that is not known',
      traffic({ rateLimit: { local: [{ ...LIMIT, unit: 'Days' }] } }),
      'traffic.rateLimit.local[0].unit',
      'supported values: "Seconds", "Minutes", "Hours"'
    ],
    [
      'no service of limits',
      traffic({ rateLimit: { global: { ...GLOBAL, backendRef: undefined } } }),
      'traffic.rateLimit.global.backendRef',
      'Required'
    ],
    [
      'no domain',
      traffic({ rateLimit: { global: { ...GLOBAL, domain: undefined } } }),
      'traffic.rateLimit.global.domain',
      'Required'
    ],
    [
      'no descriptors',
      traffic({ rateLimit: { global: { ...GLOBAL, descriptors: [] } } }),
      'traffic.rateLimit.global.descriptors',
      'should have at least 1 items'
    ],
    [
      'too many descriptors',
      traffic({ rateLimit: { global: { ...GLOBAL, descriptors: times(17, () => GLOBAL.descriptors[0]) } } }),
      'traffic.rateLimit.global.descriptors',
      'must have at most 16 items'
    ],
    [
      'a descriptor of nothing',
      traffic({ rateLimit: { global: { ...GLOBAL, descriptors: [{ entries: [] }] } } }),
      'traffic.rateLimit.global.descriptors[0].entries',
      'should have at least 1 items'
    ],
    [
      'a cost that is not known',
      traffic({ rateLimit: { global: { ...GLOBAL, descriptors: [{ ...GLOBAL.descriptors[0], unit: 'Bytes' }] } } }),
      'traffic.rateLimit.global.descriptors[0].unit',
      'supported values: "Requests", "Tokens"'
    ],
    [
      'an entry that is too long',
      traffic({
        rateLimit: { global: { ...GLOBAL, descriptors: [{ entries: [{ name: chars(65), expression: '1' }] }] } }
      }),
      'traffic.rateLimit.global.descriptors[0].entries[0].name',
      'may not be more than 64'
    ]
  ])
}
