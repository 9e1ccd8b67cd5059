/**
 * A configuration that was never a text: objects with a kind, a namespace, a name and fields, as an API server has
 * them. They go through every check and become the Snapshot that the same intent in a file becomes; a finding names
 * the object and the field.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { type Path, pathText } from '#engine/schema/placed.ts'
import { loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import { type CompileOptions, compileConfig } from './compile.ts'
import { Origins } from './origins.ts'
import type { Finding } from './tree.ts'

interface Resource {
  readonly kind: 'Gateway' | 'HTTPRoute' | 'GatewayBackend' | 'GatewayPolicy'
  readonly name: string
  readonly spec: Readonly<Record<string, unknown>>
}

const listOf = (value: unknown) => (value ?? []) as Record<string, unknown>[]

/** The configuration that objects describe, and where each part of it came from. */
function assembled(resources: readonly Resource[]): { readonly value: object; readonly origins: Origins } {
  const origins = new Origins()
  const of = (kind: Resource['kind']) => resources.filter((resource) => resource.kind === kind)
  const spec = ({ kind, name }: Resource, ...fields: Path): Path => [`${kind} default/${name}`, 'spec', ...fields]
  const routesOf = (listener: Path) =>
    of('HTTPRoute').flatMap((route) => listOf(route.spec.rules).map((rule, i) => ({ route, rule, i, listener })))
  const binds = of('Gateway')
    .flatMap((gateway) => listOf(gateway.spec.listeners).map((listener, i) => ({ gateway, listener, i })))
    .map(({ gateway, listener: { port, ...listener }, i }, bind) => {
      const at = ['binds', bind, 'listeners', 0]
      origins.add(at, spec(gateway, 'listeners', i))
      origins.add(['binds', bind, 'port'], spec(gateway, 'listeners', i, 'port'))
      const routes = routesOf(at).map(({ route, rule, i: r }, n) => {
        origins.add([...at, 'routes', n], spec(route, 'rules', r))
        origins.add([...at, 'routes', n, 'hostnames'], spec(route, 'hostnames'))
        const { hostnames } = route.spec
        return { name: route.name, ruleName: `rule${r}`, ...(hostnames === undefined ? {} : { hostnames }), ...rule }
      })
      return { port, listeners: [{ ...listener, routes }] }
    })
  const named = of('GatewayBackend').map((backend, i) => {
    origins.add(['backends', i], spec(backend))
    return { name: backend.name, ...backend.spec }
  })
  const sets = of('GatewayPolicy').map((policy, i) => {
    const { targetRefs, traffic } = policy.spec as { targetRefs?: unknown; traffic: object }
    origins.add(['policies', i], spec(policy, 'traffic'))
    origins.add(['policies', i, 'targetRefs'], spec(policy, 'targetRefs'))
    return { ...(targetRefs === undefined ? {} : { targetRefs }), ...traffic }
  })
  const value = { binds, backends: named, ...(sets.length === 0 ? {} : { policies: sets }) }
  return { value, origins }
}

const nowhere = (): never => {
  throw new Error('cannot be read here')
}

function compile(resources: readonly Resource[], more: Partial<CompileOptions> = {}) {
  const { value, origins } = assembled(resources)
  const placeOf = (path: Path): string => {
    const [object, ...fields] = origins.of(path)
    return fields.length === 0 ? 'the gateway' : `${String(object)} ${pathText(fields)}`
  }
  const compiled = compileConfig(
    { value, isSound: true, words: { noun: 'gateway', top: 'of the gateway', placeOf } },
    {
      ...{ policies, backends, env: {}, processors: 2, memoryBytes: 2 ** 30 },
      sources: { readFile: nowhere, readLarge: nowhere, readUrl: nowhere, readYaml: nowhere },
      ...more
    }
  )
  const say = (findings: readonly Finding[]) => findings.map(({ path, message }) => `${placeOf(path)}: ${message}`)
  return 'findings' in compiled
    ? { snapshot: null, problems: say(compiled.findings) }
    : { snapshot: compiled.snapshot, problems: say(compiled.warnings) }
}

const gateway = (...listeners: object[]): Resource => ({ kind: 'Gateway', name: 'main', spec: { listeners } })
const route = (name: string, ...rules: object[]): Resource => ({ kind: 'HTTPRoute', name, spec: { rules } })
const backend = (name: string, spec: Resource['spec']): Resource => ({ kind: 'GatewayBackend', name, spec })
const policy = (name: string, traffic: object, ...targetRefs: object[]): Resource => ({
  kind: 'GatewayPolicy',
  name,
  spec: targetRefs.length === 0 ? { traffic } : { traffic, targetRefs }
})

const HTTP = gateway({ port: 80, name: 'public' })
const toShop = { backends: [{ backend: 'shop' }] }
const SHOP = backend('shop', { host: 'shop:80' })
const limits = { rateLimit: { local: [{ requests: 5, unit: 'Minutes' }] } }

test('objects become the Snapshot that a file with the same intent becomes', () => {
  const { snapshot, problems } = compile([
    HTTP,
    route('shop', {
      matches: [{ path: { pathPrefix: '/shop' } }],
      policies: { timeouts: { request: '1s' } },
      ...toShop
    }),
    route('chat', { matches: [{ path: { exact: '/chat' } }], backends: [{ backend: 'models' }] }),
    SHOP,
    backend('models', { ai: { groups: [{ providers: [{ name: 'a', openai: { model: 'm' } }] }] } }),
    policy('limits', limits, { kind: 'HTTPRoute', name: 'shop' }),
    policy('all', { csrf: {} })
  ])
  const text = `
binds:
  - port: 80
    listeners:
      - name: public
        routes:
          - name: shop
            ruleName: rule0
            matches: [{ path: { pathPrefix: /shop } }]
            policies: { timeouts: { request: 1s }, rateLimit: { local: [{ requests: 5, unit: Minutes }] } }
            backends: [{ backend: shop }]
          - name: chat
            ruleName: rule0
            matches: [{ path: { exact: /chat } }]
            backends: [{ backend: models }]
backends:
  - { name: shop, host: "shop:80" }
  - { name: models, ai: { groups: [{ providers: [{ name: a, openai: { model: m } }] }] } }
policies: [{ csrf: {} }]
`
  const read = loadConfig(text, { file: 'f', env: {}, policies, backends, processors: 2, memoryBytes: 2 ** 30 })
  assert.ok(read.ok)
  assert.deepEqual(problems, [])
  assert.deepEqual(plain(snapshot), plain(read.snapshot))
})

const plain = (snapshot: SnapshotDraft | null): unknown => JSON.parse(JSON.stringify(snapshot))

const shop = route('shop', toShop)

/** Each has one mistake at least, which is said like this. */
const MISTAKES: [resources: Resource[], problem: string | RegExp][] = [
  // The schema: a value, a key, a policy of a target.
  [
    [HTTP, shop, SHOP, policy('limits', { rateLimit: { local: [{ requests: 0 }] } })],
    'GatewayPolicy default/limits spec.traffic.rateLimit.local[0].unit: is required'
  ],
  [
    [HTTP, shop, SHOP, policy('limits', { rateLimits: {} }, { kind: 'HTTPRoute', name: 'shop' })],
    'GatewayPolicy default/limits spec.traffic.rateLimits: is not a known key'
  ],
  [
    [HTTP, shop, SHOP, policy('limits', limits, { kind: 'Pod', name: 'shop' })],
    /^GatewayPolicy default\/limits spec\.targetRefs\[0\]\.kind: must be Gateway, HTTPRoute/
  ],
  // Targets that are not there; two policies that say the same thing of one target.
  [
    [HTTP, shop, SHOP, policy('limits', limits, { kind: 'HTTPRoute', name: 'shpo' })],
    'GatewayPolicy default/limits spec.targetRefs[0].name: there is no route "shpo"'
  ],
  [
    [
      ...[HTTP, shop, SHOP, policy('a', limits, { kind: 'HTTPRoute', name: 'shop' })],
      policy('b', limits, { kind: 'HTTPRoute', name: 'shop' })
    ],
    'GatewayPolicy default/b spec.traffic.rateLimit: another set with this target says it too: keep it in one of them'
  ],
  // Names and ports.
  [
    [HTTP, route('shop', { backends: [{ backend: 'shpo' }] }), SHOP],
    'HTTPRoute default/shop spec.rules[0].backends[0].backend: there is no backend "shpo" of the gateway'
  ],
  [
    [gateway({ port: 80 }, { port: 80 }), shop, SHOP],
    'Gateway default/main spec.listeners[1].port: ' +
      'port 80 is already the port of the bind in Gateway default/main spec.listeners[0].port'
  ],
  [
    [HTTP, route('shop', { ...toShop, ruleName: 'a' }, { ...toShop, ruleName: 'a' }), SHOP],
    'HTTPRoute default/shop spec.rules[1].ruleName: ' +
      'there is already a rule of the route "shop": "a" in HTTPRoute default/shop spec.rules[0]'
  ],
  // Policies of a phase, of a route, of a backend.
  [
    [HTTP, route('shop', { ...toShop, policies: { phase: 'PreRouting', csrf: {} } }), SHOP],
    /^HTTPRoute default\/shop spec\.rules\[0\]\.policies\.phase: PreRouting runs before a route is chosen/
  ],
  [
    [HTTP, shop, SHOP, policy('gone', { requestMirror: { backend: { backend: 'gone' } } })],
    /^GatewayPolicy default\/gone spec\.traffic\.requestMirror\.backend: there is no backend "gone" of the gateway$/
  ],
  [
    [HTTP, shop, backend('shop', { ai: { groups: [{ providers: [{ openai: {} }] }] }, policies: { http: {} } })],
    /^GatewayBackend default\/shop spec\.policies\.http: acts on backends that are plain servers/
  ],
  // Protocols, TLS, paths.
  [
    [gateway({ port: 80, protocol: 'TCP', hostname: 'a.b' })],
    'Gateway default/main spec.listeners[0].hostname: connections of plain TCP name no host: only TLS does'
  ],
  [
    [gateway({ port: 443, protocol: 'HTTPS', tls: { cert: 'a.pem', key: 'b.pem' } }), shop, SHOP],
    'Gateway default/main spec.listeners[0].tls.cert: cannot be read here'
  ],
  [
    [HTTP, route('shop', { ...toShop, matches: [{ path: { exact: '/a%zz' } }] }), SHOP],
    'HTTPRoute default/shop spec.rules[0].matches[0].path.exact: has a % that begins no escape'
  ]
]

test('mistakes of every kind of check name the object and the field', () => {
  for (const [resources, expected] of MISTAKES) {
    const { snapshot, problems } = compile(resources)
    assert.equal(snapshot, null, String(expected))
    if (typeof expected === 'string') assert.ok(problems.includes(expected), `${expected}\n${problems.join('\n')}`)
    else
      assert.ok(
        problems.some((one) => expected.test(one)),
        `${expected}\n${problems.join('\n')}`
      )
    for (const one of problems) assert.match(one, /^\w+ default\/\w+ spec/)
  }
})

test('problems found by compiling, by the environment or by building a Runtime have their place, too', () => {
  const resources = [HTTP, route('shop', toShop), SHOP]
  const expression = { authorization: { rules: ['request.pth == "/"'] } }
  assert.match(
    compile([...resources, policy('rules', expression)]).problems[0]!,
    /^GatewayPolicy default\/rules spec\.traffic\.authorization/
  )
  assert.match(compile(resources, { env: { ADMIN_ADDR: 'x' } }).problems[0]!, /environment variable ADMIN_ADDR must be/)
  const late = { path: 'binds[0].listeners[0].routes[0]', message: 'cannot be built' }
  assert.deepEqual(compile(resources, { check: () => [late] }).problems, [
    'HTTPRoute default/shop spec.rules[0]: cannot be built'
  ])
})

test('warnings name the object and the field', () => {
  const star = route('shop', { ...toShop, matches: [{ path: { pathPrefix: '/a*' } }] }, toShop)
  const { problems } = compile([
    HTTP,
    { ...star, spec: { ...star.spec, hostnames: ['a.example'] } },
    backend('shop', { host: 'localhost:80' }),
    policy('edit', { transformation: { request: { set: { 'x-user': 'jwt.sub' } } } }, { kind: 'Route', name: 'shop' })
  ])
  assert.deepEqual(problems.toSorted(), [
    'GatewayBackend default/shop spec.host: ' +
      'is port 80 of this gateway itself: a route that leads back to itself is asked without end',
    'GatewayPolicy default/edit spec.traffic.transformation: reads jwt, which is never there without ' +
      'jwtAuthentication or mcpAuthentication',
    'HTTPRoute default/shop spec.rules[0].matches[0].path.pathPrefix: ' +
      'the star is taken literally: a prefix covers what is below it without one'
  ])
})
