import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import { backends } from '#backends/index.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { z } from '#engine/schema/schema.ts'
import { formatErrors, hashOf, loadConfig } from './load.ts'
import { good, load, mistakes, POLICIES, warningsOf, withRoute } from './testing/fakes.ts'

const testdata = (name: string) => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8')

test('ten mistakes give ten messages in one run, in the order of the file', () => {
  const file = 'ten-mistakes.yaml'
  const result = loadConfig(testdata(file), {
    file,
    env: {},
    policies: POLICIES,
    backends,
    processors: 8,
    memoryBytes: 2 ** 34
  })
  assert.equal(result.ok, false)
  if (result.ok) return
  assert.equal(`${formatErrors(result.errors)}\n`, testdata('ten-mistakes.txt'))
  assert.equal(result.errors.length, 10)
})

test('a fault of a schema refuses the file and ends nothing', () => {
  const faulty: Policy = {
    ...POLICIES[0]!,
    name: 'faulty',
    aliases: [],
    schema: z.string().transform(() => {
      throw new TypeError('x is undefined')
    })
  }
  const text = withRoute('policies: { faulty: "a" }')
  const result = loadConfig(text, { file: 'a.yaml', env: {}, policies: [...POLICIES, faulty], backends })
  assert.ok(!result.ok)
  assert.match(formatErrors(result.errors), /^a.yaml:1:1: weir cannot read this file, .* \(TypeError: x is undefined\)/)
})

test('a file with everything becomes the Snapshot', () => {
  const snapshot = good(testdata('everything.yaml'), { CHECKOUT_PORT: '8443' })
  assert.deepEqual(snapshot, JSON.parse(testdata('everything.json')))
  assert.deepEqual(structuredClone(snapshot), snapshot)
})

test('YAML and JSON of the same content give the same Snapshot', () => {
  const yaml = 'binds:\n- port: 80\n  listeners:\n  - routes:\n    - hostnames: [A.example]\n'
  const json =
    '{\n\t"$schema": "./weir.schema.json",\n\t"binds": [{"port": 80, "listeners": [{"routes": [{"hostnames": ' +
    '["A.example"]}]}]}]\n}'
  assert.deepEqual(good(json), good(yaml))
})

test('defaults of the specification', () => {
  const { frontend, process, binds, backends } = good(withRoute('backends: [{ host: "a:1" }]'))
  assert.deepEqual(frontend.http, {
    maxBufferBytes: 2_097_152,
    headersMax: 100,
    idleTimeoutMs: 600_000,
    headTimeoutMs: 30_000,
    bodyTimeoutMs: 60_000,
    sendTimeoutMs: 60_000,
    headBytesMax: 49_152,
    uriBytesMax: 16_384,
    bodyBytesMax: 0
  })
  assert.deepEqual(frontend.tcp.keepalive, { timeMs: 180_000 })
  assert.deepEqual(process, {
    adminAddr: 'localhost:15000',
    statsAddr: '[::]:15020',
    readinessAddr: '[::]:15021',
    workerThreads: 8,
    bufferedBytesMax: 1_073_741_824,
    logging: { level: 'info', format: 'text' },
    terminationDeadlineMs: 5_000,
    terminationMinDeadlineMs: 0,
    upstream: { connectTimeoutMs: 10_000, poolIdleTimeoutMs: 90_000, poolMaxSize: 1024, requestsPerConnectionMax: 0 }
  })
  const [route] = binds[0]!.listeners[0]!.routes
  assert.deepEqual(route, {
    name: 'route0',
    hostnames: [],
    matches: [{ path: { prefix: '/' }, headers: [], query: [] }],
    policies: {},
    backends: [{ backend: 'listener0/route0/0', weight: 1, policies: {} }]
  })
  assert.deepEqual(Object.keys(backends), ['listener0/route0/0'])
})

test('inline backends of listeners of one name on two ports stay apart', () => {
  const bind = (port: number) =>
    `{ port: ${port}, listeners: [{ name: web, routes: [{ backends: [{ host: "a:${port}" }] }] }] }`
  const { binds, backends } = good(`binds: [${bind(80)}, ${bind(81)}]`)
  const keys = binds.map((bind) => bind.listeners[0]!.routes[0]!.backends[0]!.backend)
  assert.deepEqual(keys, ['web/route0/0', '81/web/route0/0'])
  assert.deepEqual(
    keys.map((key) => (backends[key] as StaticBackend).port),
    [80, 81]
  )
})

test('aliases of policies end under the canonical name, parts put together', () => {
  const route = good(
    withRoute(
      'policies: { timeout: { requestTimeout: 1s }, requestHeaderModifier: { set: { a: ' +
        '"1" } }, responseHeaderModifier: { set: { b: "2" } } }'
    )
  ).binds[0]!.listeners[0]!.routes[0]!
  assert.deepEqual(route.policies, {
    timeouts: { request: 1000 },
    headerModifiers: { request: { set: { a: '1' } }, response: { set: { b: '2' } } }
  })
})

test('a policy and its alias may share the work but not say the same thing', () => {
  const both = (alias: string) =>
    withRoute(`policies: { headerModifiers: { request: { set: {} } }, ${alias}: { set: {} } }`)
  assert.deepEqual(mistakes(both('requestHeaderModifier')), [
    '1:103: binds[0].listeners[0].routes[0].policies.requestHeaderModifier: ' +
      'says again what headerModifiers says: keep one of them'
  ])
  assert.equal(load(both('responseHeaderModifier'), {}).ok, true)
  assert.match(
    mistakes(withRoute('policies: { timeouts: {}, timeout: { requestTimeout: 1s } }'))[0]!,
    /says again what timeouts/
  )
})

test('policies that are not here are refused by name, slips are corrected', () => {
  const at = (key: string) => mistakes(withRoute(`policies: { ${key}: {} }`))[0]!.replace(/^.*policies\.\w+: /, '')
  for (const name of ['a2a', 'buffer', 'delay', 'oidc', 'sessionAffinity']) {
    assert.equal(at(name), `policy '${name}' is not in this version of weir`)
  }
  // These act on models and MCP servers, and the route has none.
  assert.match(at('mcpAuthorization'), /^acts on MCP servers/)
  assert.match(at('ai'), /^acts on models only/)
  assert.equal(at('timeoutz'), 'is not a known key')
  assert.equal(
    at('connectTimeout'),
    'must be a text, not an object'.replace('a text, not an object', 'a duration such as "30s", "1m30s" or "250ms"')
  )
  assert.equal(at('greeting'), "policy 'greeting' applies to the whole gateway: its place is frontendPolicies")
})

test('on a backend only backend policies are accepted', () => {
  const text = withRoute(
    'backends: [{ host: "a:1", policies: { connectTimeout: 1s } }, { host: "b:1", policies: { timeouts: {} } }]'
  )
  assert.deepEqual(mistakes(text), [
    '1:137: binds[0].listeners[0].routes[0].backends[1].policies.timeouts: ' +
      "policy 'timeouts' is not accepted on a backend: put it on the route"
  ])
})

test('policies are compiled against their routes, so what they refuse has a line', () => {
  const routes = `routes:
    - matches: [{ path: { pathPrefix: /a/ } }]
    - matches: [{ path: { exact: /b } }]
    - matches: [{ path: { exact: /c } }]
      policies: { prefixOnly: x, timeouts: 5 }
    - matches: [{ path: { nonsense: /d } }]`
  const problems = mistakes(`binds:\n- port: 80\n  listeners:\n  - policies: { prefixOnly: y }\n    ${routes}`)
  assert.deepEqual(problems, [
    '4:17: binds[0].listeners[0].policies.prefixOnly: needs prefix matches, not exact /b',
    '9:19: binds[0].listeners[0].routes[2].policies.prefixOnly: needs prefix matches, not exact /c',
    '9:44: binds[0].listeners[0].routes[2].policies.timeouts: must be an object with request, not 5',
    '10:27: binds[0].listeners[0].routes[3].matches[0].path.nonsense: is not a known key'
  ])
})

test('problems found when a Runtime is built have their place too', () => {
  const text = withRoute('policies: { timeouts: {} }')
  const path = 'binds[0].listeners[0].routes[0].policies.timeouts'
  const requests: unknown[] = []
  const check = (draft: unknown) => (requests.push(draft) > 0 ? [{ path, message: 'does not fit' }] : [])
  const options = { file: 'f', env: {}, policies: POLICIES, backends }
  const result = loadConfig(text, { ...options, check })
  const errors = [{ file: 'f', line: 1, column: 60, path, message: 'does not fit' }]
  assert.deepEqual(result, { ok: false, errors, files: [], urls: new Map() })
  loadConfig('binds: 5', { ...options, check })
  assert.equal(requests.length, 1)
  assert.equal(loadConfig(text, { ...options, check: () => [] }).ok, true)
})

test('a rule about sessions has a warning when no server has sessions', () => {
  const of = (more: string, target = '{ name: a, stdio: { cmd: a } }') =>
    warningsOf(`mcp: { session: { anonymous: PerRequest }, targets: [${target}]${more} }`)
  const place = 'weir.yaml:1:19: mcp.session.anonymous: does nothing: '
  assert.deepEqual(of(', sessionRouting: Stateless'), [`${place}sessionRouting is Stateless`])
  const api = '{ name: a, openapi: { host: "b:1", schema: { openapi: 3.1.0 } } }'
  assert.deepEqual(of('', api), [`${place}no target keeps sessions`])
  assert.deepEqual(of(''), [])
})

test('a body limit above the buffer bound has a warning', () => {
  const of = (all: number) =>
    `config: { maxBufferedBytes: ${all} }\nfrontendPolicies: { http: { maxBufferSize: 4194304 } }\n`
  const [first] = warningsOf(of(1048576) + withRoute(''))
  assert.equal(
    first,
    'weir.yaml:1:29: config.maxBufferedBytes: is less than maxBufferSize (4194304): ' +
      'a body of more than 1048576 bytes is refused with 413 all the same'
  )
  assert.deepEqual(warningsOf(of(4194304) + withRoute('')), [])
})

test('settings that are probably unintended are warnings', () => {
  assert.match(
    warningsOf(
      'binds: [{ port: 3000, transport: uws, listeners: [{ routes: [{ backends: [{ host: "a:1" }] }] }] }]\n' +
        'frontendPolicies: { tcp: { keepalive: { time: 0s } }, http: { http1IdleTimeout: 12s, ' +
        'http1HeaderTimeout: 12s, http1MaxHeaders: 98 } }'
    )[0]!,
    /^weir\.yaml:1:34: binds\[0\]\.transport: uws does not see/
  )
  assert.deepEqual(warningsOf('config: { workerThreads: 1 }'), [
    'weir.yaml:1:1: the file has no binds: nothing is served'
  ])
  const text =
    'binds: [{ port: 80, listeners: [{ hostname: "*.a.com", routes: [{ hostnames: ' +
    '[x.a.com, "*.b.a.com", a.com, "*"] }] }] }]'
  assert.deepEqual(warningsOf(text), [
    'weir.yaml:1:101: binds[0].listeners[0].routes[0].hostnames[2]: ' +
      '"a.com" is never a host of this listener, which serves "*.a.com"'
  ])
})

test('a backend that is a port of the file itself is a warning', () => {
  const text = (host: string) => `binds: [{ port: 80, listeners: [{ routes: [{ backends: [{ host: "${host}" }] }] }] }]`
  for (const host of ['localhost:80', '127.0.0.1:80', '[::1]:80']) {
    assert.match(warningsOf(text(host)).join(), /\.backends\[0\]\.host: is port 80 of this file itself/)
  }
  assert.deepEqual([...warningsOf(text('localhost:81')), ...warningsOf(text('10.0.0.1:80'))], [])
  const named = `backends: [{ name: a, host: "localhost:80" }]\n${text('b:1').replace('host: "b:1"', 'backend: a')}`
  assert.match(warningsOf(named).join(), /^weir\.yaml:1:29: backends\[0\]\.host: is port 80/)
})

test('a star at the end of a prefix is a warning: it would match nothing that was meant', () => {
  const warnings = warningsOf(withRoute('matches: [{ path: { pathPrefix: /a } }, { path: { pathPrefix: "/a/*" } }]'))
  assert.equal(warnings.length, 1)
  assert.match(warnings[0]!, /routes\[0\]\.matches\[1\]\.path\.pathPrefix: the star is taken literally/)
})

test('a provider at a public host is not asked without TLS unawares', () => {
  const warned = (host: string, more = '') =>
    warningsOf(withRoute(`backends: [{ ai: { provider: { openai: {}, host: ${host}${more} } } }]`))
  for (const host of ['llm.example.com', 'api.openai.com', 'vllm, port: 443']) {
    const [warning = ''] = warned(host)
    assert.match(warning, /backends\[0\]\.ai\.provider\.host: is asked without TLS.* policies: \{ tls: \{\} \}/, host)
  }
  for (const host of ['vllm', '127.0.0.1', 'llm.lan', 'vllm.ns.svc.cluster.local']) assert.deepEqual(warned(host), [])
  assert.deepEqual(warned('llm.example.com', ', policies: { tls: {} }'), [])
  const outer = 'policies: { tls: {} }, backends: [{ ai: { provider: { openai: {}, host: llm.example.com } } }]'
  assert.deepEqual(warningsOf(withRoute(outer)), [])
})

test('the hash is the beginning of the SHA-256 of the text', () => {
  assert.equal(hashOf('abc'), 'ba7816bf8f01')
})

test('5,000 routes load; the time is reported', (context) => {
  const route = (i: number) => `    - name: r${i}
      matches: [{ path: { pathPrefix: /a/${i} }, headers: [{ name: x-a, value: { regex: "v[0-9]+" } }] }]
      policies: { timeouts: { request: 5s } }
      backends: [{ host: "10.0.0.1:8080", weight: 2 }, { backend: b }]\n`
  const routes = Array.from({ length: 5000 }, (_, i) => route(i)).join('')
  const text = `backends: [{ name: b, host: "b:1" }]\nbinds:\n- port: 80\n  listeners:\n  - routes:\n${routes}`
  const start = performance.now()
  const { binds } = good(text)
  context.diagnostic(`${text.length} characters in ${Math.round(performance.now() - start)} ms`)
  assert.equal(binds[0]!.listeners[0]!.routes.length, 5000)
})

test('a good file is validated once and compiled by the check alone; a reload validates what has changed', () => {
  const counts = { validated: 0, compiled: 0 }
  const counting: Policy = {
    name: 'counting',
    section: 'traffic',
    schema: z.string().superRefine(() => void counts.validated++),
    aliases: [],
    compile: () => {
      counts.compiled++
      return {}
    }
  }
  const policies = [counting]
  const options = { file: 'f', env: {}, policies, backends, check: () => [] }
  const text = (last: string) => `binds:\n- port: 80\n  listeners:\n  - routes:
    - policies: { counting: one }\n    - policies: { counting: ${last} }`
  const first = loadConfig(text('two'), options)
  assert.ok(first.ok)
  assert.deepEqual(counts, { validated: 2, compiled: 0 })
  const second = loadConfig(text('three'), { ...options, before: first.snapshot })
  assert.ok(second.ok)
  assert.deepEqual(counts, { validated: 3, compiled: 0 })
  const [before, after] = [first, second].map(({ snapshot }) => snapshot.binds[0]!.listeners[0]!.routes)
  assert.equal(after![0], before![0])
  assert.notDeepEqual(after![1], before![1])
})

test('a refusal of the check has the place of the policy', () => {
  const text = withRoute('matches: [{ path: { exact: /b } }], policies: { prefixOnly: x }')
  const check = () => [{ path: 'binds[0].listeners[0].routes[0].policies.prefixOnly', message: 'says less' }]
  const result = loadConfig(text, { file: 'f', env: {}, policies: POLICIES, backends, check })
  assert.ok(!result.ok)
  assert.deepEqual(
    result.errors.map(({ message }) => message),
    ['needs prefix matches, not exact /b']
  )
})
