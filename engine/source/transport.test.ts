/** The policies `backendTLS` and `tcp` in a file: where they hold, what they become, and what is wrong with them. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import { backends } from '#backends/index.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import { reveal } from '#engine/kit/secret.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { TestAuthority } from '#engine/testing/authority.ts'
import { systemProgram } from '#engine/testing/system-programs.ts'
import { policies } from '#policies/index.ts'

const ca = new TestAuthority()
after(() => ca.remove())
const leaf = ca.leaf()
const another = ca.leaf()

const load = (text: string) => loadConfig(text, { file: 'f', env: {}, policies, backends, folder: ca.folder })

function backendsOf(text: string): Record<string, StaticBackend> {
  const result = load(text)
  assert.ok(result.ok, result.ok ? '' : formatErrors(result.errors))
  return result.snapshot.backends as Record<string, StaticBackend>
}

function mistakes(text: string): string[] {
  const result = load(text)
  return result.ok ? [] : result.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`)
}

const listener = (routes: string, own = '{}', top = '{}', backends = '[]') =>
  `policies: ${top}\nbackends: ${backends}\nbinds: [{ port: 80, listeners: [{ policies: ${own}, routes: [${routes}] }] }]`
const tlsOf = (backend: { readonly transport?: BackendTransport | undefined } | undefined) => backend?.transport?.tls
const AT = 'binds[0].listeners[0].routes[0].backends[0].policies'

test('field by field the most precise level holds: gateway, listener, route, backend, reference', () => {
  const named = '[{ name: b, host: "b:1", policies: { tls: { hostname: backend } } }]'
  const routes = [
    '{ backends: [{ host: "a:1" }] }',
    '{ policies: { tls: { hostname: route } }, backends: [{ host: "a:1" }, { host: "a:1", policies: { tcp: { connectTimeout: 3s } } }] }',
    '{ backends: [{ backend: b }] }',
    '{ policies: { tls: { hostname: route } }, backends: [{ backend: b }] }',
    '{ backends: [{ backend: b, policies: { backendTLS: { hostname: reference } } }] }'
  ]
  const made = backendsOf(
    listener(
      routes.join(),
      '{ tls: { hostname: listener } }',
      '{ tls: { hostname: gateway }, tcp: { connectTimeout: 1s } }',
      named
    )
  )
  const settings = Object.entries(made).map(([name, { transport }]) => {
    return `${name} ${transport?.tls?.hostname} ${transport?.tcp?.connectTimeoutMs}`
  })
  assert.deepEqual(settings, [
    'b backend 1000',
    'listener0/route0/0 listener 1000',
    'listener0/route1/0 route 1000',
    'listener0/route1/1 route 3000',
    'listener0/route4/0 reference 1000'
  ])
})

test('a backend that routes say nothing of is one backend, and one without policies has none', () => {
  const named = '[{ name: b, host: "b:1", policies: { tls: {} } }, { name: c, host: "c:1" }]'
  const made = backendsOf(listener('{ backends: [{ backend: b }, { backend: c }] }', '{}', '{}', named))
  assert.deepEqual(Object.keys(made), ['b', 'c'])
  assert.equal(tlsOf(made.b)?.verify, 'full')
  assert.equal(Object.hasOwn(made.c!, 'transport'), false)
})

test('files are read, the key is a secret, and both spellings mean the same', () => {
  const files = `cert: ${leaf.cert}, key: ${leaf.key}, root: root.pem`
  const one = `{ ${files}, hostname: A.test, subjectAltNames: [a.test, "spiffe://a/b"], alpn: [http/1.1] }`
  const two = `{ ${files}, sni: a.test, verifySubjectAltNames: [a.test, "spiffe://a/b"], alpnProtocols: [http/1.1] }`
  const made = backendsOf(
    listener(
      `{ backends: [{ host: "a:1", policies: { backendTLS: ${one} } }, { host: "a:1", policies: { tls: ${two} } }] }`
    )
  )
  const [first, second] = Object.values(made).map(tlsOf)
  assert.deepEqual(first, second)
  assert.equal(reveal(first!.key!), readFileSync(leaf.key, 'utf8'))
  const { key, cert, ca: root, ...rest } = first!
  assert.match(cert!, /^-----BEGIN CERTIFICATE/)
  assert.match(root!, /^-----BEGIN CERTIFICATE/)
  assert.ok(key)
  assert.deepEqual(rest, {
    hostname: 'a.test',
    verify: 'full',
    subjectAltNames: ['a.test', 'spiffe://a/b'],
    alpn: ['http/1.1']
  })
  const loaded = load(listener(`{ backends: [{ host: "a:1", policies: { tls: ${one} } }] }`))
  assert.deepEqual(
    loaded.files.map(({ path }) => path).toSorted(),
    [join(ca.folder, 'root.pem'), leaf.cert, leaf.key].toSorted()
  )
})

test('providers and MCP targets refine the TLS that they imply', () => {
  const own = 'tls: { root: root.pem }, tcp: { keepalives: { time: 30s } }'
  const ai = `{ name: m, ai: { provider: { openai: {}, policies: { ${own} } } } }`
  const mcp = `{ name: t, policies: { tls: { root: root.pem } }, mcp: { targets: [
    { name: one, mcp: { host: "https://a.test" } },
    { name: two, mcp: { host: b.test }, policies: { tls: { insecureHost: true } } },
    { name: three, stdio: { cmd: cat } } ] } }`
  const made = backendsOf(
    listener('{ backends: [{ backend: m }, { backend: t }] }', '{}', '{}', `[${ai}, ${mcp}]`)
  ) as never as {
    m: { groups: { hasTls: boolean; transport: BackendTransport }[][] }
    t: { targets: { hasTls: boolean; port: number; transport: BackendTransport }[] }
  }
  const provider = made.m.groups[0]![0]!
  assert.deepEqual([provider.hasTls, provider.transport.tcp!.keepaliveMs], [true, 30_000])
  assert.match(provider.transport.tls!.ca!, /BEGIN/)
  const [one, two] = made.t.targets
  assert.deepEqual([one!.hasTls, one!.port, two!.hasTls, two!.port], [true, 443, true, 443])
  assert.equal(one!.transport.tls!.verify, 'full')
  assert.deepEqual([two!.transport.tls!.verify, two!.transport.tls!.ca], ['chain', null])
})

test('a policy may point at a backend, or at a provider or target of it', () => {
  const targets =
    '{ name: t, mcp: { targets: [{ name: one, mcp: { host: a.test } }, { name: two, mcp: { host: b.test } }] } }'
  const sets = `[{ targetRefs: [{ kind: Backend, name: b }], backendTLS: { hostname: x } },
    { targetRefs: [{ kind: Backend, name: t, sectionName: two }], backendTLS: { hostname: y } }]`
  const made = backendsOf(
    listener('{ backends: [{ backend: b }, { backend: t }] }', '{}', sets, `[{ name: b, host: "b:1" }, ${targets}]`)
  )
  assert.equal(tlsOf(made.b)?.hostname, 'x')
  const { targets: both } = made.t as never as { targets: { hasTls: boolean; transport?: BackendTransport }[] }
  assert.deepEqual(
    both.map((target) => [target.hasTls, tlsOf(target)?.hostname]),
    [
      [false, undefined],
      [true, 'y']
    ]
  )
})

test('files that do not fit are mistakes with their place', () => {
  const locked = join(ca.folder, 'locked.key')
  execFileSync(systemProgram('openssl'), ['pkey', '-in', leaf.key, '-aes128', '-passout', 'pass:x', '-out', locked])
  const junk = join(ca.folder, 'junk.pem')
  writeFileSync(junk, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  const problemsOf = (tls: string) => mistakes(listener(`{ backends: [{ host: "a:1", policies: { tls: ${tls} } }] }`))
  assert.match(
    problemsOf('{ root: gone.pem }').join(),
    /^3 \S+tls\.root: cannot read \S+gone\.pem: there is no such file$/
  )
  assert.match(problemsOf('{ root: "." }').join(), /tls\.root: cannot read \S+: it is a folder/)
  assert.deepEqual(problemsOf(`{ root: ${leaf.key} }`), [`3 ${AT}.tls.root: ${leaf.key} has no certificate (PEM)`])
  assert.deepEqual(problemsOf(`{ root: ${junk} }`), [`3 ${AT}.tls.root: certificate 1 of ${junk} is damaged`])
  assert.deepEqual(problemsOf(`{ cert: ${leaf.cert}, key: ${leaf.cert} }`), [
    `3 ${AT}.tls.key: ${leaf.cert} has no private key (PEM)`
  ])
  assert.deepEqual(problemsOf(`{ cert: ${leaf.cert}, key: ${locked} }`), [`3 ${AT}.tls.key: ${locked} is encrypted`])
  assert.deepEqual(problemsOf(`{ cert: ${leaf.cert}, key: ${another.key} }`), [
    `3 ${AT}.tls.key: ${another.key} is not the key of the first certificate in cert`
  ])
})

test('contradictions and policies that reach no backend are mistakes', () => {
  const problemsOf = (reference: string, own = '{}') => mistakes(listener(`{ backends: [{ ${reference} }] }`, own))
  assert.deepEqual(problemsOf('host: "a:1", policies: { tls: {}, backendTLS: {} }'), [
    `3 ${AT}.backendTLS: says again what tls says: keep one of them`
  ])
  assert.match(problemsOf('host: "unix:/a", policies: { tls: {} }').join(), /needs hostname or subjectAltNames here/)
  assert.deepEqual(problemsOf('host: "unix:/a", policies: { tls: { hostname: a.test } }'), [])
  assert.deepEqual(problemsOf('host: "unix:/a", policies: { tls: { insecure: true } }'), [])
  assert.match(problemsOf('host: "a:1"', '{ phase: PreRouting, tls: {} }').join(), /not known in the phase PreRouting/)
  assert.match(mistakes(listener('{}', '{ tls: {} }')).join(), /is for backends, and there is none below/)
})

test('PROXY headers are for plain servers of binds that know the ports of clients', () => {
  const header = '{ tcp: { proxyProtocol: v2 } }'
  const servers = '{ backends: [{ host: "a:1" }, { dynamic: {} }] }'
  const ai = (own = '{ tls: {} }', provider = '{ tls: {} }') =>
    `{ backends: [{ policies: ${own}, ai: { provider: { openai: {}, policies: ${provider} } } }] }`
  const made = backendsOf(listener(servers, '{}', header))
  assert.deepEqual(
    Object.values(made).map(({ transport }) => transport?.tcp?.proxyProtocol),
    ['v2', 'v2']
  )
  // Beside a server they are not about models: nothing is refused.
  assert.deepEqual(mistakes(listener(`${servers}, ${ai()}`, header)), [])
  const at = 'binds[0].listeners[0]'
  const SERVERS = 'acts on backends that are plain servers (host, hosts, static, dynamic, inferencePool)'
  const cases = [
    [listener(ai(), header), `3 ${at}.policies.tcp.proxyProtocol: ${SERVERS}, and there is none below`],
    [listener(ai(header)), `3 ${AT}.tcp.proxyProtocol: ${SERVERS}, and this one is none`],
    [
      listener(ai(undefined, header)),
      `3 ${AT.replace('policies', 'ai.provider.policies')}.tcp.proxyProtocol: ${SERVERS}, and this one is none`
    ],
    [
      `frontendPolicies: { http: { http1IdleTimeout: 12s, http1HeaderTimeout: 12s, http1MaxHeaders: 98 }, tcp: { keepalives: { time: 0s } } }
binds: [{ port: 80, transport: uws, listeners: [{ policies: ${header}, routes: [${servers}] }] }]`,
      '2 binds[0].transport: transport uws does not know the port of a client, which PROXY headers to backends tell: use transport auto or node'
    ]
  ] as const
  for (const [text, expected] of cases) assert.deepEqual(mistakes(text), [expected])
  assert.match(
    mistakes(listener('{ backends: [{ host: "a:1", policies: { tcp: { proxyProtocol: v3 } } }] }'))[0]!,
    /must be/
  )
})

test('active checks are for servers that the configuration names', () => {
  const active = '{ health: { active: { tcp: {} } } }'
  const dynamic = (own: string) => listener(`{ backends: [{ dynamic: {}, policies: ${own} }] }`)
  assert.deepEqual(mistakes(dynamic('{ health: { ejection: {} } }')), [])
  assert.deepEqual(mistakes(dynamic(active)), [
    `3 ${AT}.health.active: asks servers that the configuration names, and here clients name them: use ejection`
  ])
  assert.match(mistakes(listener('{ backends: [{ dynamic: {} }] }', active)).join(), /and there is none below/)
  const models = '{ backends: [{ ai: { provider: { openai: {} } } }] }'
  for (const server of ['{ backends: [{ dynamic: {} }, { host: "a:1" }] }', models]) {
    assert.deepEqual(mistakes(listener(server, active)), [])
  }
})

const BALANCING =
  '{ health: { active: { tcp: {} }, ejection: {} }, loadBalancing: { policy: Random }, circuitBreaker: { maxRequests: 1 } }'
const FIELDS = ['health', 'loadBalancing', 'circuitBreaker']

test('policies about servers do nothing on MCP backends that are programs', () => {
  const programs = 'mcp: { targets: [{ name: a, stdio: { cmd: a } }, { name: b, stdio: { cmd: b } }] }'
  const mixed = 'mcp: { targets: [{ name: a, stdio: { cmd: a } }, { name: b, mcp: { host: "http://b:1/mcp" } }] }'
  const why =
    'means nothing to the targets of this backend, which are programs (stdio): they have no address; remove it'
  const below = 'is about servers that get requests, and no backend below has any'
  const refused = (at: string, message: string) => FIELDS.map((field) => `${at}.${field}: ${message}`)
  const named = `[{ name: tools, ${programs}, policies: ${BALANCING} }]`
  const inPlace = `{ backends: [{ ${programs}, policies: ${BALANCING} }] }`
  const route = (backend: string) => `{ policies: ${BALANCING}, backends: [{ ${backend} }] }`
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [listener('{ backends: [{ backend: tools }] }', '{}', '{}', named), refused('2 backends[0].policies', why)],
    [listener(inPlace), refused(`3 ${AT}`, why)],
    [listener(route(programs)), refused('3 binds[0].listeners[0].routes[0].policies', below)],
    [listener(`{ backends: [{ ${programs} }] }`, '{}', BALANCING), refused('1 policies', below)],
    [`policies: ${BALANCING}\n${programs}`, refused('1 policies', below)],
    [programs.replace(/}$/, `, policies: ${BALANCING} }`), refused('1 mcp.policies', below)],
    // Clients name the addresses, which are not asked, and the other one has none.
    [
      listener(`{ policies: { health: { active: { tcp: {} } } }, backends: [{ dynamic: {} }, { ${programs} }] }`),
      [
        '3 binds[0].listeners[0].routes[0].policies.health.active: asks servers that the configuration names, and there is none below'
      ]
    ],
    [listener(inPlace.replace(programs, mixed)), []],
    [listener(route(mixed)), []],
    [`policies: ${BALANCING}\n${mixed}`, []],
    [listener(`{ backends: [{ ${programs} }, { host: "a:1" }] }`, '{}', BALANCING), []]
  ]
  for (const [text, expected] of cases) assert.deepEqual(mistakes(text).toSorted(), expected.toSorted(), text)
})

test('policies about requests do nothing on backends of tcpRoutes', () => {
  const tcp = '{ port: 1, listeners: [{ protocol: TCP, tcpRoutes: [{ backends: [{ backend: db }] }] }] }'
  const http = (backend: string) => `{ port: 2, listeners: [{ routes: [{ backends: [{ backend: ${backend} }] }] }] }`
  const backends = (...names: string[]) =>
    `backends: [${names.map((name) => `{ name: ${name}, host: "a:1", policies: { circuitBreaker: { maxRequests: 1 } } }`).join()}]`
  const refused = (at: string) =>
    `${at}: acts on requests, and tcpRoutes pass connections on unread: remove it, or use the backend in routes`
  assert.deepEqual(mistakes(`binds: [${tcp}]\n${backends('db')}\npolicies: { loadBalancing: { policy: Random } }`), [
    refused('2 backends[0].policies.circuitBreaker'),
    refused('3 policies.loadBalancing')
  ])
  assert.deepEqual(mistakes(`binds: [${tcp}, ${http('web')}]\n${backends('db', 'web')}`), [
    refused('2 backends[0].policies.circuitBreaker')
  ])
  assert.deepEqual(mistakes(`binds: [${tcp}, ${http('db')}]\n${backends('db')}`), [])
})

test('to verify nothing is allowed, with a warning', () => {
  const result = load(listener('{ backends: [{ host: "a:1", policies: { tls: { insecureSkipVerify: All } } }] }'))
  assert.ok(result.ok)
  assert.match(result.warnings.join(), /tls: verifies nothing: whoever answers can read and change what is sent/)
})
