/** `mcp` backends, the shortcut `mcp`, and rules about what servers offer: from the file to the Snapshot. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { McpBackend, McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { McpOpenApiTarget } from '#backends/mcp/targets/openapi/config.ts'
import type { McpHttpTarget } from '#backends/mcp/targets/remote.ts'
import { keyAuth } from '#engine/contract/backend-auth/schema.ts'
import { formatErrors, loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

const FILES: Readonly<Record<string, string>> = {
  '/etc/weir/api.yaml': 'openapi: 3.1.0\nservers: [{ url: "https://a.example/v2/" }]\npaths: { /a: { $ref: "#/b" } }\n',
  '/etc/weir/api.json': '{"openapi":"3.0.0","paths":{}}',
  '/etc/weir/bad.yaml': 'a: [',
  '/etc/weir/list.yaml': '- a',
  '/etc/weir/key': ' 0123456789abcdef\n',
  '/etc/weir/short': 'abc'
}

const URLS: Readonly<Record<string, string>> = {
  'https://a.example/api.json': '{"openapi":"3.1.0","servers":[{"url":"/from/url"}]}'
}
const fails = (message: string): never => {
  throw new Error(message)
}

const load = (text: string, env = {}) =>
  loadConfig(text, {
    file: 'weir.yaml',
    folder: '/etc/weir',
    env,
    policies,
    backends,
    readFile: (path) => FILES[path] ?? assert.fail(`no file ${path}`),
    readUrl: (url) => URLS[url] ?? fails(`cannot fetch ${url}: the answer has status 404`)
  })

function good(text: string, env = {}): SnapshotDraft {
  const result = load(text, env)
  return result.ok ? result.snapshot : assert.fail(formatErrors(result.errors))
}

function mistakes(text: string): string[] {
  const result = load(text)
  assert.equal(result.ok, false, `accepted: ${text}`)
  if (result.ok) return []
  return result.errors.map(({ line, path, message, hint }) => `${line} ${path}: ${message}${hint ? ` (${hint})` : ''}`)
}

const backendOf = (settings: string, env = {}) =>
  good(`binds: []\nbackends:\n  - name: tools\n    mcp: { ${settings} }`, env).backends.tools as McpBackend
const targets = (text: string): readonly McpTarget[] => backendOf(`targets: [${text}]`).targets
const wrong = (settings: string) => mistakes(`binds: []\nbackends:\n  - name: tools\n    mcp: { ${settings} }`)
const wrongTarget = (text: string) => wrong(`targets: [${text}]`)
const NONE = { authorization: null }
const ECHO = '{ name: a, stdio: { cmd: echo } }'

test('a backend of one target has the defaults of the specification and of peers', () => {
  assert.deepEqual(backendOf('targets: [{ name: everything, stdio: { cmd: npx, args: [-y, server] } }]'), {
    kind: 'mcp',
    targets: [{ name: 'everything', kind: 'stdio', cmd: 'npx', args: ['-y', 'server'], env: {}, cwd: null, ...NONE }],
    sessionRouting: 'Stateful',
    prefixMode: 'conditional',
    failureMode: 'failClosed',
    authorization: null,
    session: { key: null, idleMs: 1_800_000 },
    targetTimeoutMs: 30_000,
    forwardHeaders: [],
    messageBytesMax: 8_388_608,
    policies: {}
  })
})

test('an address is a URL, or host, port and path; its scheme decides about TLS', () => {
  const of = (text: string) => {
    const [{ kind, host, port, path, hasTls }] = targets(`{ name: a, ${text} }`) as [McpHttpTarget]
    return [kind, `${hasTls ? 'https' : 'http'}://${host}:${port}${path}`]
  }
  const cases: [text: string, kind: string, address: string][] = [
    ['mcp: { host: "http://localhost:3005/mcp" }', 'http', 'http://localhost:3005/mcp'],
    ['mcp: { host: "https://A.example" }', 'http', 'https://a.example:443/mcp'],
    ['mcp: { host: "https://a.example/" }', 'http', 'https://a.example:443/'],
    ['mcp: { host: "https://a.example/x/?key=1&b" }', 'http', 'https://a.example:443/x/?key=1&b'],
    ['mcp: { host: localhost, port: 3001, path: /x }', 'http', 'http://localhost:3001/x'],
    ['mcp: { host: "localhost:3001" }', 'http', 'http://localhost:3001/mcp'],
    ['mcp: { host: a.example }, policies: { tls: {} }', 'http', 'https://a.example:443/mcp'],
    ['mcp: { host: "http://[::1]:1" }', 'http', 'http://::1:1/mcp'],
    ['sse: { host: "http://a:1" }', 'sse', 'http://a:1/sse'],
    ['static: { host: a, port: 1 }', 'http', 'http://a:1/mcp'],
    ['static: { host: a, port: 1, protocol: SSE }', 'sse', 'http://a:1/sse'],
    ['static: { host: a, port: 1, path: /x, policies: { backendTLS: {} } }', 'http', 'https://a:1/x']
  ]
  for (const [text, kind, address] of cases) assert.deepEqual(of(text), [kind, address], text)
})

test('a target is shown a key, as a bearer token or where it wants it', () => {
  const authOf = (text: string) => {
    const [target] = targets(`{ name: a, mcp: { host: b }, policies: { ${text} } }`)
    return (target as McpHttpTarget).auth
  }
  assert.deepEqual(authOf('auth: { key: abc }'), keyAuth('abc'))
  assert.deepEqual(authOf('backendAuth: { key: "Basic YTpi" }'), keyAuth('Basic YTpi'))
  const named = authOf('auth: { key: abc, location: { header: { name: X-Api-Key } } }')
  assert.deepEqual(named, keyAuth('abc', { header: { name: 'x-api-key' } }))
  assert.equal(authOf('tls: {}'), null)
})

test('an OpenAPI document is text, a file, or stands there itself', () => {
  const of = (schema: string, more = '') => {
    const [target] = targets(`{ name: a, openapi: { host: "http://b:1", schema: ${schema}${more} } }`)
    const { kind, document, pathPrefix, port } = target as McpOpenApiTarget
    return [kind, document!.openapi ?? document!.swagger, pathPrefix, port]
  }
  assert.deepEqual(of('{ file: api.yaml }'), ['openapi', '3.1.0', '/v2', 1])
  assert.deepEqual(of('{ file: /etc/weir/api.json }'), ['openapi', '3.0.0', '', 1])
  assert.deepEqual(of('{ file: api.yaml }', ', path: /base/'), ['openapi', '3.1.0', '/base', 1])
  assert.deepEqual(of(`'{"openapi":"3.1.1"}'`), ['openapi', '3.1.1', '', 1])
  assert.deepEqual(of('{ openapi: 3.0.3, paths: {} }'), ['openapi', '3.0.3', '', 1])
  assert.deepEqual(of('{ swagger: "2.0", basePath: /v1 }'), ['openapi', '2.0', '/v1', 1])
  assert.deepEqual(of('{ url: "https://a.example/api.json" }'), ['openapi', '3.1.0', '/from/url', 1])
  const server = (url: string, variables = '{}') =>
    of(`{ openapi: 3.0.3, servers: [{ url: "${url}", variables: ${variables} }] }`)[2]
  assert.equal(
    server('https://{region}.example/{base}/x', '{ region: { default: eu }, base: { default: api } }'),
    '/api/x'
  )
  assert.equal(server('https://{region}.example/v1'), '/v1')
  assert.equal(server('/{base}'), '')
})

test('settings of the backend, by their names here and elsewhere', () => {
  const more = 'prefixMode: never, failureMode: FailOpen, targetTimeout: 5s, maxMessageSize: 1024'
  const backend = backendOf(
    `targets: [${ECHO}], statefulMode: stateless, ${more}, forwardHeaders: [X-Tenant, x-tenant], session: { key: $SEAL, idleTimeout: 1m }`,
    { SEAL: '0123456789abcdef' }
  )
  assert.equal(backend.sessionRouting, 'Stateless')
  assert.deepEqual(
    [backend.prefixMode, backend.failureMode, backend.targetTimeoutMs, backend.messageBytesMax, backend.forwardHeaders],
    ['never', 'failOpen', 5_000, 1_024, ['x-tenant']]
  )
  assert.deepEqual(backend.session, { key: '0123456789abcdef', idleMs: 60_000 })
  assert.equal(backendOf(`targets: [${ECHO}], session: { key: { file: key } }`).session.key, '0123456789abcdef')
  assert.equal(backendOf(`targets: [${ECHO}], sessionRouting: Stateless`).sessionRouting, 'Stateless')
})

test('mistakes of targets are reported by name', () => {
  const cases: [text: string, message: RegExp][] = [
    ['', /targets: must have 1 to 32 entries/],
    ['{ name: a }', /must have exactly one of mcp, sse, stdio, openapi, static$/],
    ['{ name: a, mcp: { host: b }, sse: { host: b } }', /must have exactly one of .*, not mcp and sse/],
    ['{ name: a_b, mcp: { host: b } }', /name: must have only lower-case letters, digits and "-".*"_" and "\+"/],
    ['{ name: A, mcp: { host: b } }', /name: must have only lower-case/],
    [`${ECHO}, ${ECHO}`, /targets\[1\]\.name: two targets are called a/],
    ['{ name: a, selector: { services: {} } }', /selector looks for Services of Kubernetes/],
    ['{ name: a, mcp: { host: b, pat: /x } }', /pat: is not a known key \(did you mean "path"\?/],
    ['{ name: a, mcp: { host: "ftp://b" } }', /host: must be a URL such as "https:\/\/host\/mcp", or a host/],
    ['{ name: a, mcp: { host: "http://u:p@b/" } }', /host: must be a URL/],
    ['{ name: a, mcp: { host: "http://b:1/", port: 2 } }', /port: says again what host says: 1/],
    ['{ name: a, mcp: { host: "http://b/x", path: /y } }', /path: says again what host says: \/x/],
    ['{ name: a, mcp: { backend: b, host: c } }', /'backend' is not in this version/],
    ['{ name: a, stdio: { cmd: b, clearEnv: true } }', /'clearEnv' is not in this version/],
    ['{ name: a, stdio: { cmd: b, env: { "A B": c } } }', /must be the name of a variable/],
    ['{ name: a, stdio: { cmd: b }, policies: { tls: {} } }', /tls: means nothing to a program/],
    ['{ name: a, mcp: { host: b }, policies: { http: {} } }', /policy of an MCP target 'http' is not in this version/],
    [
      '{ name: a, mcp: { host: b }, policies: { auth: { azure: {} } } }',
      /authentication 'azure' is not in this version/
    ],
    ['{ name: a, stdio: { cmd: b }, policies: { auth: { key: c } } }', /auth: means nothing to a program/],
    ['{ name: a, mcp: { host: b }, policies: { auth: { aws: {} } } }', /auth: needs aws\.region and aws\.service here/],
    ['{ name: a, mcp: { host: b }, policies: { auth: { secretRef: { name: c } } } }', /there is no secret 'c'/],
    [
      '{ name: a, mcp: { host: b }, policies: { auth: { key: c }, backendAuth: { key: d } } }',
      /says again what auth says/
    ],
    ['{ name: a, static: { host: b, port: 1, policies: { tls: {} } }, policies: { tls: {} } }', /static.policies too/],
    [
      '{ name: a, openapi: { host: b, schema: { url: "http://c" } } }',
      /openapi\.schema\.url: cannot fetch http:\/\/c: the answer has status 404/
    ],
    ['{ name: a, openapi: { host: b, schema: { url: "ftp://c" } } }', /schema\.url: must be an http/],
    ['{ name: a, openapi: { host: b, schema: { url: "http://u:p@c" } } }', /schema\.url: must be an http/],
    [
      '{ name: a, openapi: { host: b, schema: { openapi: 3.0.0 }, operations: {} } }',
      /operations: must have at least one/
    ],
    ['{ name: a, openapi: { host: b, schema: { file: bad.yaml } } }', /schema\.file: bad\.yaml: /],
    ['{ name: a, openapi: { host: b, schema: { file: list.yaml } } }', /must be an object/],
    ['{ name: a, openapi: { host: b, schema: "{" } }', /openapi\.schema: the document: /],
    [
      '{ name: a, openapi: { host: b, schema: pets.json } }',
      /must be an object; a file is named by \{ file: pets.json \}/
    ],
    ['{ name: a, openapi: { host: b } }', /schema: is required/]
  ]
  for (const [text, message] of cases) {
    const all = wrongTarget(text)
    assert.equal(all.length, 1, `${text}\n${all.join('\n')}`)
    assert.match(all[0]!, message)
  }
})

test('names of targets in client configurations are refused with the names of the file', () => {
  const target = (text: string) => wrongTarget(text).join('\n')
  assert.match(target('{ name: a, stdio: { command: npx, args: [x] } }'), /stdio\.command: is called cmd here/)
  assert.match(target('{ name: a, mcp: { url: "http://b/mcp" } }'), /mcp\.url: is called host here, which takes a URL/)
  assert.match(
    mistakes('mcpServers: { everything: { command: npx } }').join('\n'),
    /mcpServers: servers are listed here as mcp: \{ targets: \[\{ name, stdio: \{ cmd, args/
  )
})

test('mistakes of settings are reported by name', () => {
  const cases: [text: string, message: RegExp][] = [
    ['sessionRouting: Stateful, statefulMode: stateful', /statefulMode: says again what sessionRouting says/],
    ['prefixMode: sometimes', /must be one of conditional, always, never/],
    ['session: { key: short }', /session\.key: must have at least 16 characters/],
    ['session: { key: { file: short } }', /session\.key\.file: short: a session key must have at least 16/],
    ['forwardHeaders: [cookie]', /is never forwarded to MCP servers/],
    ['forwardHeaders: [Mcp-Session-Id]', /is never forwarded/],
    ['targetTimeout: 0s', /must be longer than nothing/],
    ['maxMessageSize: 1', /must be a whole number from 1024/],
    ['dnsRebindingProtection: true', /another origin is refused in any case/]
  ]
  for (const [text, message] of cases) {
    const all = wrong(`targets: [${ECHO}], ${text}`)
    assert.equal(all.length, 1, `${text}\n${all.join('\n')}`)
    assert.match(all[0]!, message)
    assert.doesNotMatch(all[0]!, /abc/)
  }
  assert.match(mistakes('mcp: { targets: [], gateways: x }').join(), /mcp setting 'gateways' is not in this version/)
})

// --- rules ---

const RULES = `
policies: { mcpAuthorization: { rules: [g] } }
binds:
  - port: 80
    listeners:
      - policies: { mcpAuthorization: { rules: [l] } }
        routes:
          - policies: { mcp: { authorization: { rules: [r] } } }
            backends:
              - { backend: tools, policies: { mcpAuthorization: { rules: [{ deny: f }] } } }
              - { mcp: { targets: [${ECHO}] } }
backends:
  - name: tools
    policies: { mcpAuthorization: { rules: [b, { require: q }] } }
    mcp:
      targets: [{ name: a, stdio: { cmd: b }, policies: { mcpAuthorization: { rules: [t] } } }]
`.replace(/\b([glrfbqt])(?=[\] ]*[},\]])/g, (all, letter: string) =>
  /[glrfbqt]/.test(letter) ? `'"${letter}" == ""'` : all
)

test('rules of all levels add up in the backends that they reach', () => {
  const text = RULES.replace('cmd: \'"b" == ""\'', 'cmd: b')
  const { backends } = good(text)
  const letters = ({ allow, deny, require }: NonNullable<McpBackend['authorization']>) =>
    [allow, deny, require].map((list) => list.map((source) => source[1]).join('')).join('|')
  const own = backends['listener0/route0/0'] as McpBackend
  assert.equal(letters(own.authorization!), 'bglr|f|q')
  assert.equal(letters(own.targets[0]!.authorization!), 't||')
  assert.equal(letters((backends['listener0/route0/1'] as McpBackend).authorization!), 'glr||')
  assert.equal(letters((backends.tools as McpBackend).authorization!), 'b||q')
})

test('a named backend of which routes say nothing is one for all of them', () => {
  const routes = '{ name: x, backends: [{ backend: tools }] }, { name: y, backends: [{ backend: tools }] }'
  const { backends, binds } = good(
    `binds: [{ port: 80, listeners: [{ routes: [${routes}] }] }]\nbackends: [{ name: tools, mcp: { targets: [${ECHO}] } }]`
  )
  assert.deepEqual(Object.keys(backends), ['tools'])
  assert.equal(binds[0]!.listeners[0]!.routes[1]!.backends[0]!.backend, 'tools')
})

test('the form of resources: a list of expressions and an action', () => {
  const of = (text: string) =>
    backendOf(`targets: [{ name: a, stdio: { cmd: b }, policies: { mcpAuthorization: ${text} } }]`).targets[0]!
      .authorization
  assert.deepEqual(of('{ policy: { matchExpressions: ["true", "false"] } }'), {
    allow: ['true', 'false'],
    deny: [],
    require: []
  })
  assert.deepEqual(of('{ action: Require, policy: { matchExpressions: ["true", "false"] } }')!.require, [
    '(true) || (false)'
  ])
  assert.deepEqual(of('{ action: Deny, policy: { matchExpressions: ["true"] } }')!.deny, ['true'])
  assert.deepEqual(of('{ rules: [] }'), { allow: [], deny: [], require: [] })
})

test('mistakes of rules are reported at their place', () => {
  const route = (policies: string, backend: string) =>
    `binds: [{ port: 80, listeners: [{ routes: [{ policies: { ${policies} }, backends: [{ ${backend} }] }] }] }]`
  const mcp = `mcp: { targets: [${ECHO}] }`
  const rules = (text: string) => `mcpAuthorization: { rules: [${text}] }`
  const cases: [text: string, message: RegExp][] = [
    [
      route(rules(`'mcp.tol.name == "a"'`), mcp),
      /rules\[0\]: expression 1:5: mcp has no field "tol"; did you mean "tool"\?/
    ],
    [route(rules(`'mcp.tool.name'`), mcp), /the result is string, and bool is wanted here/],
    [route(rules(`{ alow: 'true' }`), mcp), /alow: is not a known key \(did you mean "allow"\?/],
    [route(rules(`'true'`), 'host: "a:1"'), /acts on MCP servers, and no backend below has any/],
    [route('', `host: "a:1", policies: { ${rules(`'true'`)} }`), /acts on MCP servers, which this backend has not/],
    [
      route(`${rules(`'true'`)}, mcp: { authorization: { rules: [] } }`, mcp),
      /mcp: says again what mcpAuthorization says/
    ],
    [
      route('mcp: { authentication: {} }', mcp),
      /'mcp.authentication' is not in this version of weir; the file has it on routes/
    ],
    [
      `policies: [{ phase: PreRouting, ${rules(`'true'`)} }]\nmcp: { targets: [${ECHO}] }`,
      /is for backends, which are not known in the phase PreRouting/
    ],
    [
      `binds: []\nbackends: [{ name: a, ${mcp}, policies: { auth: { key: a } } }]`,
      /means nothing to the targets of this backend, which are programs \(stdio\)/
    ]
  ]
  for (const [text, message] of cases) {
    const all = mistakes(text)
    assert.equal(all.length, 1, `${text}\n${all.join('\n')}`)
    assert.match(all[0]!, message)
  }
})

// --- the shortcut ---

test('the shortcut serves everything on a port of its own', () => {
  const { binds, backends } = good(
    `policies: { mcpAuthorization: { rules: ['"g" == ""'] } }\nmcp: { targets: [${ECHO}], policies: { cors: { allowOrigins: ["*"] }, mcpAuthorization: { rules: ['true'] } } }`
  )
  const [bind] = binds
  assert.equal(bind!.port, 3000)
  const [listener] = bind!.listeners
  assert.deepEqual(listener!.routes[0]!.matches, [{ path: { prefix: '/' }, headers: [], query: [] }])
  assert.deepEqual(Object.keys(listener!.policies), ['cors'])
  const [{ backend }] = listener!.routes[0]!.backends as unknown as [{ backend: string }]
  assert.deepEqual((backends[backend] as McpBackend).authorization!.allow, ['"g" == ""', 'true'])
  assert.equal(good(`mcp: { port: 3100, targets: [${ECHO}] }`).binds[0]!.port, 3100)
})

test('its port is not shared, and its mistakes have their place', () => {
  assert.match(
    mistakes(`mcp: { mcpGuardrails: {}, targets: [${ECHO}] }`).join(),
    /mcp\.mcpGuardrails: mcp setting 'mcpGuardrails' is not in this version/
  )
  assert.match(
    mistakes(`binds: [{ port: 3000, listeners: [{}] }]\nmcp: { targets: [${ECHO}] }`).join(),
    /mcp\.port: port 3000 is already the port of the bind in line 1/
  )
  assert.match(mistakes('mcp: { targts: [] }').join(), /2? ?mcp\.targts: is not a known key \(did you mean "targets"/)
  assert.deepEqual(mistakes('mcp:\n  targets:\n    - { name: a, stdio: { cmd: b, arg: [] } }'), [
    '3 mcp.targets[0].stdio.arg: is not a known key (did you mean "args"? allowed: cmd, args, env, cwd)'
  ])
})

test('policies that point at a target of a backend stand there', () => {
  const { backends } = good(`
binds: []
policies:
  - targetRefs: [{ kind: Backend, name: tools, sectionName: b }]
    mcpAuthorization: { rules: ['true'] }
    auth: { key: abc }
  - { targetRefs: [{ kind: Backend, name: tools }], mcpAuthorization: { rules: ['false'] } }
backends:
  - name: tools
    mcp: { targets: [{ name: a, mcp: { host: x } }, { name: b, mcp: { host: y } }] }
`)
  const { targets, authorization } = backends.tools as McpBackend
  assert.deepEqual(authorization!.allow, ['false'])
  assert.equal(targets[0]!.authorization, null)
  assert.deepEqual(targets[1]!.authorization!.allow, ['true'])
  assert.deepEqual((targets[1] as McpHttpTarget).auth, keyAuth('abc'))
})
