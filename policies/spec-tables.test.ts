/**
 * The specification's tables of traffic policies, row by row: for each constraint a value just inside
 * is accepted, and one just outside is refused with its path.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  cel,
  fileProblems,
  letters,
  NAME_LONG,
  NO_DURATION,
  names,
  ROUTE,
  type Row,
  type Table,
  times,
  walk
} from '#engine/testing/spec-table.ts'

const map = (count: number) => Object.fromEntries(times(count, (i) => [`x-${i}`, '"v"']))
const plain = (count: number) => Object.fromEntries(times(count, (i) => [`x-${i}`, 'v']))
const fields = (count: number) => times(count, (i) => ({ name: `x-${i}`, value: '"v"' }))

const SIXTEEN = 'must have 1 to 16 entries'
const NOTE_NAME = 'must be a letter and up to 63 letters, digits, "_", "." and "-"'
const NO_PSEUDO = 'is a pseudo header: only set of a transformation can change one'
const NO_NAME = 'is not a header name'

type Side = 'request' | 'response'

/** The path of one side, and a configuration of it. */
const transformation = (side: Side) => ({
  at: `transformation.${side}`,
  of: (value: object) => ({ transformation: { [side]: value } })
})

const transformFields = (side: Side, key: 'set' | 'add'): Table => {
  const { at, of } = transformation(side)
  return {
    [`${at}.${key}: 1..16, as a list or as a map`]: [
      [of({ [key]: fields(1) }), of({ [key]: fields(16) }), of({ [key]: map(1) }), of({ [key]: map(16) })],
      [
        [of({ [key]: [] }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: fields(17) }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: {} }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: map(17) }), `${at}.${key}: ${SIXTEEN}`]
      ]
    ],
    [`${at}.${key}[].name: HeaderName, required`]: [
      [
        of({ [key]: [{ name: letters(256), value: '"v"' }] }),
        of({ [key]: [{ name: "A!#$%&'*+-.^_`|~9", value: '"v"' }] })
      ],
      [
        [of({ [key]: [{ name: '', value: '"v"' }] }), `${at}.${key}[0].name: must not be empty`],
        [of({ [key]: [{ name: letters(257), value: '"v"' }] }), `${at}.${key}[0].name: ${NAME_LONG}`],
        [of({ [key]: [{ name: 'a b', value: '"v"' }] }), `${at}.${key}[0].name: ${NO_NAME}`],
        [of({ [key]: [{ value: '"v"' }] }), `${at}.${key}[0].name: is required`],
        [
          of({ [key]: { ':scheme': '"v"' } }),
          `${at}.${key}[":scheme"]: ${key === 'set' ? 'of the pseudo headers, only' : NO_PSEUDO}`
        ],
        [of({ [key]: { 'a b': '"v"' } }), `${at}.${key}["a b"]: ${NO_NAME}`],
        [of({ [key]: { [letters(257)]: '"v"' } }), `${at}.${key}.${letters(257)}: ${NAME_LONG}`]
      ]
    ],
    [`${at}.${key}[].value: CELExpression, required`]: [
      [of({ [key]: [{ name: 'a', value: cel(16_384) }] }), of({ [key]: { a: '1' } })],
      [
        [of({ [key]: [{ name: 'a', value: '' }] }), `${at}.${key}[0].value: must not be empty`],
        [
          of({ [key]: [{ name: 'a', value: cel(16_385) }] }),
          `${at}.${key}[0].value: must have at most 16384 characters`
        ],
        [of({ [key]: [{ name: 'a' }] }), `${at}.${key}[0].value: is required`],
        [of({ [key]: { a: 'no(' } }), `${at}.${key}.a: expression`],
        [of({ [key]: [{ name: 'a', value: '1', more: 1 }] }), `${at}.${key}[0].more: is not a known key`]
      ]
    ]
  }
}

/** The same for both sides, but for the word. */
const transform = (side: Side): Table => {
  const { at, of } = transformation(side)
  return {
    ...transformFields(side, 'set'),
    ...transformFields(side, 'add'),
    [`${at}: at least one of set, add, remove, body`]: [
      [of({ body: '"v"' }), of({ metadata: { tenant: '"v"' } })],
      [[of({}), `${at}: must have at least one of metadata, set, add, remove, body`]]
    ],
    [`${at}.metadata: names of 1..64 letters and digits, 1..16`]: [
      [of({ metadata: [{ name: letters(64), value: '"v"' }] }), of({ metadata: { 'a.b-c_1': '"v"' } })],
      [
        [of({ metadata: [] }), `${at}.metadata: ${SIXTEEN}`],
        [of({ metadata: {} }), `${at}.metadata: ${SIXTEEN}`],
        [of({ metadata: { [letters(65)]: '"v"' } }), `${at}.metadata.${letters(65)}: ${NOTE_NAME}`],
        [of({ metadata: [{ name: '1', value: '"v"' }] }), `${at}.metadata[0].name: ${NOTE_NAME}`]
      ]
    ],
    [`${at}.remove: HeaderName list, 1..16`]: [
      [of({ remove: names(1) }), of({ remove: names(16) }), of({ remove: [letters(256)] })],
      [
        [of({ remove: [] }), `${at}.remove: ${SIXTEEN}`],
        [of({ remove: names(17) }), `${at}.remove: ${SIXTEEN}`],
        [of({ remove: [''] }), `${at}.remove[0]: must not be empty`],
        [of({ remove: [letters(257)] }), `${at}.remove[0]: ${NAME_LONG}`],
        [of({ remove: ['a:b'] }), `${at}.remove[0]: ${NO_NAME}`],
        [of({ remove: [':path'] }), `${at}.remove[0]: ${NO_PSEUDO}`]
      ]
    ],
    [`${at}.body: CELExpression`]: [
      [of({ body: '1' }), of({ body: cel(16_384) })],
      [
        [of({ body: '' }), `${at}.body: must not be empty`],
        [of({ body: cel(16_385) }), `${at}.body: must have at most 16384 characters`],
        [of({ body: 5 }), `${at}.body: must be a text, not 5: put it in quotes`]
      ]
    ]
  }
}

const modifiers = (side: Side): Table => {
  const at = `headerModifiers.${side}`
  const of = (value: object) => ({ headerModifiers: { [side]: value } })
  const rows = (['set', 'add'] as const).map((key): [string, Row] => [
    `${at}.${key}: 1..16 header filters`,
    [
      [of({ [key]: plain(16) }), of({ [key]: [{ name: letters(256), value: letters(4096) }] })],
      [
        [of({ [key]: {} }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: plain(17) }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: [] }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: fields(17) }), `${at}.${key}: ${SIXTEEN}`],
        [of({ [key]: [{ name: letters(257), value: 'v' }] }), `${at}.${key}[0].name: ${NAME_LONG}`],
        [
          of({ [key]: [{ name: 'a', value: letters(4097) }] }),
          `${at}.${key}[0].value: must have at most 4096 characters`
        ],
        [of({ [key]: { 'a b': 'v' } }), `${at}.${key}["a b"]: ${NO_NAME}`]
      ]
    ]
  ])
  return {
    ...Object.fromEntries(rows),
    [`${at}.remove: 1..16`]: [
      [of({ remove: names(16) })],
      [
        [of({ remove: [] }), `${at}.remove: ${SIXTEEN}`],
        [of({ remove: names(17) }), `${at}.remove: ${SIXTEEN}`],
        [of({ remove: ['a b'] }), `${at}.remove[0]: ${NO_NAME}`]
      ]
    ],
    [`${at}: at least one of its fields`]: [[], [[of({}), `${at}: must have at least one of add, set, remove`]]]
  }
}

const origins = (count: number) => times(count, (i) => `https://a${i}.test`)
const csrf = (...additionalOrigins: readonly unknown[]) => ({ csrf: { additionalOrigins } })
const cors = (value: object) => ({ cors: { allowOrigins: ['*'], ...value } })
const allow = (matchExpressions: unknown, more: object = {}) => ({
  authorization: { policy: { matchExpressions }, ...more }
})
const limit = (value: object) => ({ rateLimit: { local: [{ unit: 'Seconds', ...value }] } })
const ONE_ENTRY = { name: 'a', expression: '1' }
const ONE_DESCRIPTOR = { entries: [ONE_ENTRY] }
const globalLimit = (value: object) => ({
  rateLimit: { global: { host: 'localhost:8081', domain: 'shop', descriptors: [ONE_DESCRIPTOR], ...value } }
})
const descriptor = (value: object) => globalLimit({ descriptors: [{ ...ONE_DESCRIPTOR, ...value }] })
const limits = (count: number) => ({ rateLimit: { local: times(count, (i) => ({ requests: i + 1, unit: 'Hours' })) } })
const answer = (value: object) => ({ directResponse: { status: 200, ...value } })
const retry = (value: object) => ({ retry: value })

const TRAFFIC: Table = {
  'phase: enum; PreRouting needs a Gateway or Listener target': [
    [{ phase: 'PostRouting' }],
    [
      [
        { phase: 'PreRouting' },
        'phase: PreRouting runs before a route is chosen: put these policies on the listener or at the top'
      ],
      [{ phase: 'postRouting' }, 'phase: must be one of PreRouting, PostRouting']
    ]
  ],
  'transformation: at least one of request, response': [
    [],
    [[{ transformation: {} }, 'transformation: must have at least one of request, response']]
  ],
  ...transform('request'),
  ...transform('response'),
  'rateLimit: at least one of local, global': [
    [limits(1), limits(16)],
    [
      [{ rateLimit: {} }, 'rateLimit: must have at least one of local, global'],
      [limits(0), `rateLimit.local: ${SIXTEEN}`],
      [limits(17), `rateLimit.local: ${SIXTEEN}`]
    ]
  ],
  'rateLimit.global: backendRef, domain and descriptors required, 1..16': [
    [globalLimit({}), globalLimit({ descriptors: times(16, () => ONE_DESCRIPTOR) })],
    [
      [globalLimit({ host: undefined }), 'rateLimit.global: must have exactly one of backendRef, backend, host'],
      [globalLimit({ domain: undefined }), 'rateLimit.global.domain: is required'],
      [globalLimit({ domain: '' }), 'rateLimit.global.domain: must not be empty'],
      [globalLimit({ domain: 'a'.repeat(257) }), 'rateLimit.global.domain: must have at most 256 characters'],
      [globalLimit({ descriptors: undefined }), 'rateLimit.global.descriptors: is required'],
      [globalLimit({ descriptors: [] }), `rateLimit.global.descriptors: ${SIXTEEN}`],
      [globalLimit({ descriptors: times(17, () => ONE_DESCRIPTOR) }), `rateLimit.global.descriptors: ${SIXTEEN}`]
    ]
  ],
  'rateLimit.global.descriptors[]: entries 1..16, unit enum Requests, Tokens': [
    [descriptor({ unit: 'Tokens' }), descriptor({ entries: times(16, () => ONE_ENTRY) })],
    [
      [descriptor({ entries: [] }), `rateLimit.global.descriptors[0].entries: ${SIXTEEN}`],
      [descriptor({ entries: times(17, () => ONE_ENTRY) }), `rateLimit.global.descriptors[0].entries: ${SIXTEEN}`],
      [descriptor({ unit: 'Bytes' }), 'rateLimit.global.descriptors[0].unit: must be one of Requests, Tokens'],
      [descriptor({ entries: [{ name: 'a' }] }), 'rateLimit.global.descriptors[0].entries[0].expression: is required'],
      [
        descriptor({ entries: [{ name: 'a'.repeat(65), expression: '1' }] }),
        'rateLimit.global.descriptors[0].entries[0].name: must have at most 64 characters'
      ]
    ]
  ],
  'rateLimit.local[]: exactly one of requests, tokens, each min 1': [
    [limit({ requests: 1 }), limit({ tokens: 1 }), limit({ requests: 1_000_000_000 })],
    [
      [limit({}), 'rateLimit.local[0]: must have exactly one of requests, tokens'],
      [
        limit({ requests: 1, tokens: 1 }),
        'rateLimit.local[0]: must have exactly one of requests, tokens, not requests and tokens'
      ],
      [limit({ requests: 0 }), 'rateLimit.local[0].requests: must be a whole number from 1 to 1000000000'],
      [limit({ tokens: 0 }), 'rateLimit.local[0].tokens: must be a whole number from 1 to 1000000000'],
      [limit({ tokens: 1.5 }), 'rateLimit.local[0].tokens: must be a whole number from 1 to 1000000000']
    ]
  ],
  'rateLimit.local[].unit: required, enum': [
    ['Seconds', 'Minutes', 'Hours'].map((unit) => limit({ requests: 1, unit })),
    [
      [{ rateLimit: { local: [{ requests: 1 }] } }, 'rateLimit.local[0].unit: is required'],
      [limit({ requests: 1, unit: 'Days' }), 'rateLimit.local[0].unit: must be one of Seconds, Minutes, Hours']
    ]
  ],
  'rateLimit.local[].burst: integer': [
    [limit({ requests: 1, burst: 0 }), limit({ tokens: 1, burst: 1_000_000_000 })],
    [
      [limit({ requests: 1, burst: -1 }), 'rateLimit.local[0].burst: must be a whole number from 0 to 1000000000'],
      [limit({ requests: 1, burst: 0.5 }), 'rateLimit.local[0].burst: must be a whole number from 0 to 1000000000']
    ]
  ],
  'cors: origins, names, credentials and age (2.2; the resource is not shown)': [
    [
      cors({ allowOrigins: origins(64) }),
      cors({ allowHeaders: ['*'], allowMethods: ['*'], exposeHeaders: ['*'] }),
      cors({ allowHeaders: [letters(256)], exposeHeaders: names(64), maxAge: '1h', allowCredentials: false }),
      cors({ allowHeaders: [], allowMethods: [], maxAge: 0 })
    ],
    [
      [{ cors: {} }, 'cors.allowOrigins: is required'],
      [cors({ allowOrigins: [] }), 'cors.allowOrigins: must have 1 to 64 entries'],
      [cors({ allowOrigins: origins(65) }), 'cors.allowOrigins: must have 1 to 64 entries'],
      [cors({ allowOrigins: ['*', 'a'] }), 'cors.allowOrigins[1]: must be "*", or an origin such as'],
      [cors({ allowHeaders: ['a b'] }), 'cors.allowHeaders[0]: must be a header name'],
      [cors({ allowHeaders: [letters(257)] }), `cors.allowHeaders[0]: ${NAME_LONG}`],
      [cors({ allowHeaders: names(65) }), 'cors.allowHeaders: must have 0 to 64 entries'],
      [cors({ exposeHeaders: [':status'] }), 'cors.exposeHeaders[0]: must be a header name, not a pseudo header'],
      [cors({ allowMethods: ['A B'] }), 'cors.allowMethods[0]: must be a method such as "GET"'],
      [cors({ maxAge: '1ms' }), 'cors.maxAge: must be a whole number from 0 to 31536000, or must be whole seconds'],
      [cors({ maxAge: -1 }), 'cors.maxAge: must be a whole number from 0 to 31536000'],
      [cors({ allowCredentials: 'yes' }), 'cors.allowCredentials: must be true or false, not a text']
    ]
  ],
  'csrf.additionalOrigins: ShortString list, 1..16, <scheme>://<host>(:<port>)': [
    [csrf('https://a.test'), csrf('http://a.test:8080'), { csrf: { additionalOrigins: origins(16) } }, { csrf: {} }],
    [
      [csrf(), `csrf.additionalOrigins: ${SIXTEEN}`],
      [{ csrf: { additionalOrigins: origins(17) } }, `csrf.additionalOrigins: ${SIXTEEN}`],
      [csrf('a.test'), 'csrf.additionalOrigins[0]: must be'],
      [csrf('https://a.test', 'https://a.test/'), 'csrf.additionalOrigins[1]: must be'],
      [csrf(''), 'csrf.additionalOrigins[0]: must not be empty'],
      [csrf(`https://${letters(249)}`), `csrf.additionalOrigins[0]: ${NAME_LONG}`]
    ]
  ],
  'headerModifiers: at least one of request, response': [
    [],
    [[{ headerModifiers: {} }, 'headerModifiers: must have at least one of request, response']]
  ],
  ...modifiers('request'),
  ...modifiers('response'),
  'hostRewrite: enum': [
    [{ hostRewrite: 'Auto' }, { hostRewrite: 'None' }],
    [[{ hostRewrite: 'auto' }, 'hostRewrite: must be one of Auto, None']]
  ],
  'timeouts.request: Duration': [
    [{ timeouts: { request: '1ms' } }, { timeouts: { request: '0s' } }],
    [
      [{ timeouts: { request: '-1s' } }, `timeouts.request: ${NO_DURATION}`],
      [{ timeouts: { request: 5 } }, `timeouts.request: ${NO_DURATION}`],
      [{ timeouts: {} }, 'timeouts: must have at least one of request, backendRequest']
    ]
  ],
  'retry: the specification shows no fields; those of HTTPRouteRetry': [
    [retry({ attempts: 0 }), retry({ attempts: 32, codes: [400, 599], backoff: '1s' })],
    [
      [retry({ attempts: -1 }), 'retry.attempts: must be a whole number from 0 to 32'],
      [retry({ attempts: 33 }), 'retry.attempts: must be a whole number from 0 to 32'],
      [retry({ codes: [399] }), 'retry.codes[0]: must be a whole number from 400 to 599'],
      [retry({ codes: [500, 600] }), 'retry.codes[1]: must be a whole number from 400 to 599'],
      [retry({ backoff: 1 }), `retry.backoff: ${NO_DURATION}`],
      [retry({ precondition: '1' }), 'retry.precondition: expression']
    ]
  ],
  'authorization: policy.matchExpressions required; action': [
    [
      allow(['true']),
      allow(['true'], { action: 'Allow' }),
      allow([`"${letters(16_376)}"!=""`], { action: 'Deny' }),
      allow(['true'], { action: 'Require' })
    ],
    [
      [{ authorization: {} }, 'authorization: must have exactly one of policy, rules'],
      [{ authorization: { policy: {} } }, 'authorization.policy.matchExpressions: is required'],
      [allow([]), 'authorization.policy.matchExpressions: must have 1 to 4096 entries'],
      [allow(['true', '']), 'authorization.policy.matchExpressions[1]: must not be empty'],
      [allow([cel(16_385)]), 'authorization.policy.matchExpressions[0]: must have at most 16384 characters'],
      [allow(['1']), 'authorization.policy.matchExpressions[0]: expression 1:1'],
      [allow(['true'], { action: 'Log' }), 'authorization.action: must be one of Allow, Deny, Require']
    ]
  ],
  'directResponse: status 200..599 required, body 1..4096': [
    [answer({}), answer({ status: 599 }), answer({ body: 'a' }), answer({ body: letters(4096) })],
    [
      [{ directResponse: {} }, 'directResponse.status: is required'],
      [answer({ status: 199 }), 'directResponse.status: must be at least 200'],
      [answer({ status: 600 }), 'directResponse.status: must be at most 599'],
      [answer({ status: 200.5 }), 'directResponse.status: must be a whole number'],
      [answer({ body: '' }), 'directResponse.body: must not be empty'],
      [answer({ body: letters(4097) }), 'directResponse.body: must have at most 4096 characters']
    ]
  ]
}

walk(TRAFFIC, ROUTE)

test('policies of the specification that this version has not are refused by name', () => {
  const later = ['mcpGuardrails']
  for (const name of later) {
    const problem = `${ROUTE.path}${name}: policy '${name}' is not in this version of weir`
    // A hint may follow where it belongs to.
    const problems = fileProblems(ROUTE.file({ [name]: {} }))
    assert.deepEqual([problems.length, problems[0]?.split(';')[0]], [1, problem])
  }
})

test('a policy that reads the route cannot run before routing', () => {
  for (const [key, config] of Object.entries({
    timeouts: { request: '1s' },
    timeout: { requestTimeout: '1s' },
    retry: {},
    hostRewrite: 'Auto',
    requestMirror: { backend: { host: 'a:1' } },
    urlRewrite: { authority: 'auto' }
  })) {
    const file = { binds: [{ port: 80, listeners: [{ policies: { phase: 'PreRouting', [key]: config } }] }] }
    const [problem, ...more] = fileProblems(file)
    assert.deepEqual(more, [])
    assert.match(
      problem!,
      new RegExp(`^binds\\[0\\]\\.listeners\\[0\\]\\.policies\\.${key}: .* is a setting of the route`)
    )
  }
})

test('variables of expressions: read, or refused by name', () => {
  const rule = (source: string) => fileProblems(ROUTE.file({ authorization: { rules: [source] } }))
  for (const source of [
    'jwt.sub == "a" && jwt.nested.key == "v" && "r" in jwt.roles && jwt.email.endsWith("@a.test")',
    'request.path == "/" && source.address == "192.0.2.1" && apiKey.team == "a" && basicAuth.username == "b"'
  ]) {
    assert.deepEqual(rule(source), [])
  }
  for (const name of ['mcp', 'mcpGuardrails', 'llm', 'response', 'backend']) {
    const [problem, ...more] = rule(`${name}.a == "b"`)
    assert.deepEqual(more, [])
    assert.ok(problem!.startsWith(`${ROUTE.path}authorization.rules[0]: expression 1:1: ${name} cannot be read here`))
  }
})

test('each kind of policy has its places', () => {
  const traffic = { timeouts: { request: '1s' } }
  const onListener = (value: unknown) => ({ binds: [{ port: 80, listeners: [{ policies: value }] }] })
  const onBackend = (value: unknown) => ({ backends: [{ name: 'b', host: 'b:80', policies: value }] })
  for (const file of [{ policies: traffic }, onListener(traffic), ROUTE.file(traffic)]) {
    assert.deepEqual(fileProblems(file), [])
  }
  for (const policies of [{ phase: 'PreRouting' }, [{ phase: 'PreRouting' }, { phase: 'PostRouting' }]]) {
    assert.deepEqual([...fileProblems({ policies: policies }), ...fileProblems(onListener(policies))], [])
  }
  const place = "policy 'accessLog' applies to the whole gateway: its place is frontendPolicies"
  assert.deepEqual(fileProblems(ROUTE.file({ accessLog: {} })), [`${ROUTE.path}accessLog: ${place}`])
  assert.deepEqual(fileProblems(onBackend(traffic)), [
    "backends[0].policies.timeouts: policy 'timeouts' is not accepted on a backend: put it on the route"
  ])
})
