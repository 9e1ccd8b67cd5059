/** Policies of requests (docs/specification.md#traffic-policies). */
import { accepts, chars, refuses, type Table, times, traffic } from './case.ts'

const POST = 'traffic.phase: "PostRouting"'
const SET = [{ name: 'x-a', value: '"1"' }]
const NAMES = { add: SET, set: SET, remove: ['x-b'] }

export const requests: Table = {
  accepted: accepts('GatewayPolicy', [
    [
      'what is changed in requests and answers',
      traffic({
        phase: 'PostRouting',
        transformation: {
          request: {
            ...NAMES,
            set: [{ name: ':path', value: '"/"' }],
            metadata: [{ name: 'who', value: 'jwt.sub' }],
            body: 'request.body'
          },
          response: { ...NAMES, metadata: [{ name: 'code', value: 'response.code' }], body: '"{}"' }
        },
        headerModifiers: { request: NAMES, response: NAMES },
        hostRewrite: 'Auto',
        timeouts: { request: '10s', backendRequest: '5s' },
        directResponse: { status: 404, body: 'none' }
      })
    ],
    [
      'an answer that is computed',
      traffic({ directResponse: { status: 200, bodyExpression: 'request.path' } }),
      [POST]
    ],
    [
      'retries',
      traffic({
        retry: {
          attempts: 2,
          codes: [503],
          backoff: '25ms',
          precondition: 'request.method == "GET"',
          condition: 'response.code == 503',
          budget: { percent: 20, minPerSecond: 10 }
        }
      }),
      [POST]
    ],
    [
      'browsers',
      traffic({
        cors: {
          allowOrigins: ['https://*.example.com'],
          allowMethods: ['GET'],
          allowHeaders: ['authorization'],
          exposeHeaders: ['x-a'],
          allowCredentials: true,
          maxAge: 60
        },
        csrf: { additionalOrigins: ['https://example.com:8443'] }
      }),
      [POST]
    ],
    ['rules', traffic({ authorization: { policy: { matchExpressions: ['jwt.sub == "a"'] }, action: 'Deny' } }), [POST]],
    [
      'a rule by its default',
      traffic({ authorization: { policy: { matchExpressions: ['true'] } } }),
      ['traffic.authorization.action: "Allow"', POST]
    ]
  ]),
  refused: refuses('GatewayPolicy', [
    [
      'no transformation',
      traffic({ transformation: {} }),
      'traffic.transformation',
      'must have at least one of request, response'
    ],
    [
      'a transformation of nothing',
      traffic({ transformation: { request: {} } }),
      'traffic.transformation.request',
      'must have at least one of metadata, set, add, remove, body'
    ],
    [
      'nothing to set',
      traffic({ transformation: { request: { set: [] } } }),
      'traffic.transformation.request.set',
      'should have at least 1 items'
    ],
    [
      'too much to set',
      traffic({ transformation: { request: { set: times(17, (i) => ({ name: `a${i}`, value: '1' })) } } }),
      'traffic.transformation.request.set',
      'must have at most 16 items'
    ],
    [
      'too much to add',
      traffic({ transformation: { response: { add: times(17, (i) => ({ name: `a${i}`, value: '1' })) } } }),
      'traffic.transformation.response.add',
      'must have at most 16 items'
    ],
    [
      'too much to remove',
      traffic({ transformation: { request: { remove: times(17, (i) => `a${i}`) } } }),
      'traffic.transformation.request.remove',
      'must have at most 16 items'
    ],
    [
      'no header name',
      traffic({ transformation: { request: { set: [{ name: 'a b', value: '1' }] } } }),
      'traffic.transformation.request.set[0].name',
      'should match'
    ],
    [
      'a header name that is too long',
      traffic({ transformation: { request: { add: [{ name: chars(257), value: '1' }] } } }),
      'traffic.transformation.request.add[0].name',
      'may not be more than 256'
    ],
    [
      'a header without a value',
      traffic({ transformation: { request: { set: [{ name: 'a' }] } } }),
      'traffic.transformation.request.set[0].value',
      'Required'
    ],
    [
      'an empty body',
      traffic({ transformation: { request: { body: '' } } }),
      'traffic.transformation.request.body',
      'should be at least 1 chars'
    ],
    [
      'removing host',
      traffic({ transformation: { request: { remove: ['Host'] } } }),
      'traffic.transformation.request.remove[0]',
      'host cannot be removed'
    ],
    [
      'what frames a message',
      traffic({ headerModifiers: { request: { remove: ['connection'] } } }),
      'traffic.headerModifiers.request.remove[0]',
      'frames the message'
    ],
    [
      'no modifiers',
      traffic({ headerModifiers: {} }),
      'traffic.headerModifiers',
      'must have at least one of request, response'
    ],
    [
      'modifiers of nothing',
      traffic({ headerModifiers: { request: {} } }),
      'traffic.headerModifiers.request',
      'must have at least one of add, set, remove'
    ],
    [
      'a way to rewrite that is not known',
      traffic({ hostRewrite: 'Always' }),
      'traffic.hostRewrite',
      'supported values: "Auto", "None"'
    ],
    ['no timeout', traffic({ timeouts: {} }), 'traffic.timeouts', 'must have at least one of request, backendRequest'],
    [
      'a timeout that is no duration',
      traffic({ timeouts: { request: '10' } }),
      'traffic.timeouts.request',
      'should match'
    ],
    ['no status', traffic({ directResponse: { body: 'a' } }), 'traffic.directResponse.status', 'Required'],
    [
      'an interim status',
      traffic({ directResponse: { status: 199 } }),
      'traffic.directResponse.status',
      'greater than or equal to 200'
    ],
    [
      'a status of nobody',
      traffic({ directResponse: { status: 600 } }),
      'traffic.directResponse.status',
      'less than or equal to 599'
    ],
    [
      'an empty answer',
      traffic({ directResponse: { status: 200, body: '' } }),
      'traffic.directResponse.body',
      'should be at least 1 chars'
    ],
    [
      'a long answer',
      traffic({ directResponse: { status: 200, body: chars(4097) } }),
      'traffic.directResponse.body',
      'may not be more than 4096'
    ],
    [
      'a body where none is',
      traffic({ directResponse: { status: 204, body: 'a' } }),
      'traffic.directResponse.body',
      'a response with status 204, 205 or 304 has no body'
    ],
    [
      'two answers',
      traffic({ directResponse: { status: 200, body: 'a', bodyExpression: '"a"' } }),
      'traffic.directResponse',
      'must have at most one of body, bodyExpression'
    ],
    [
      'no origins',
      traffic({ csrf: { additionalOrigins: [] } }),
      'traffic.csrf.additionalOrigins',
      'should have at least 1 items'
    ],
    [
      'too many origins',
      traffic({ csrf: { additionalOrigins: times(17, (i) => `https://a${i}`) } }),
      'traffic.csrf.additionalOrigins',
      'must have at most 16 items'
    ],
    [
      'an origin that is too long',
      traffic({ csrf: { additionalOrigins: [`https://${chars(256)}`] } }),
      'traffic.csrf.additionalOrigins[0]',
      'may not be more than 256'
    ],
    ['no rules', traffic({ authorization: {} }), 'traffic.authorization.policy', 'Required'],
    [
      'rules without expressions',
      traffic({ authorization: { policy: {} } }),
      'traffic.authorization.policy.matchExpressions',
      'Required'
    ],
    [
      'an action that is not known',
      traffic({ authorization: { policy: { matchExpressions: ['true'] }, action: 'Maybe' } }),
      'traffic.authorization.action',
      'Unsupported value'
    ],
    ['a policy that is not known', traffic({ rateLimits: {} }), 'traffic.rateLimits', 'unknown field'],
    ['a filter of routes', traffic({ urlRewrite: { path: { full: '/' } } }), 'traffic.urlRewrite', 'unknown field']
  ])
}
