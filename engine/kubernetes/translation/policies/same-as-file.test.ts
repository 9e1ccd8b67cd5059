/** What a resource and a file say in their own words is the same in the Snapshot. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Raw } from '#engine/schema/placed.ts'
import type { Compiled } from '#engine/source/compile.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import {
  build,
  compile,
  configMap,
  gatewayBackend,
  gatewayPolicy,
  secret,
  service,
  storeOf
} from './cluster.fixture.ts'

const CHECKS = { group: '', kind: 'Service', name: 'checks', port: 9000 }
const IN_FILE = 'default.checks_9000'
const USERS = 'ada:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M='
const KEY = '{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}'
const ISSUER = 'https://issuer.example'
const NAMED = [{ name: 'x-a', value: '"1"' }]
const PLAIN = [{ name: 'x-a', value: '1' }]

const OBJECTS: readonly KubernetesObject[] = [
  service('plain', 80),
  service('checks', 9000),
  secret('users', { '.htaccess': `${USERS}\n` }),
  secret('keys', { ada: 'a-key-of-ada', bob: '{"key":"a-key-of-bob","metadata":{"team":"a"}}' }),
  secret('key', { Authorization: 'a-key' }),
  configMap('roots', { 'ca.crt': selfSigned(['a.example']).cert })
]

/** A policy, how a resource says it, and how a file does. */
type Pair = readonly [name: string, resource: unknown, file: unknown]

const TRAFFIC: readonly Pair[] = [
  ['basicAuthentication', { secretRef: { name: 'users' } }, { htpasswd: USERS }],
  [
    'basicAuthentication',
    { users: [USERS], mode: 'Optional', realm: 'a' },
    { users: [USERS], mode: 'optional', realm: 'a' }
  ],
  [
    'apiKeyAuthentication',
    { secretRef: { name: 'keys' } },
    { keys: [{ key: 'a-key-of-ada' }, { key: 'a-key-of-bob', metadata: { team: 'a' } }] }
  ],
  [
    'jwtAuthentication',
    { mode: 'Strict', providers: [{ issuer: ISSUER, audiences: ['a'], jwks: { inline: KEY } }] },
    { mode: 'strict', issuer: ISSUER, audiences: ['a'], jwks: KEY }
  ],
  [
    'jwtAuthentication',
    {
      providers: [
        { issuer: ISSUER, jwks: { remote: { backendRef: CHECKS, jwksPath: 'keys.json', cacheDuration: '1m' } } }
      ]
    },
    {
      providers: [
        {
          issuer: ISSUER,
          jwks: { remote: { backendRef: { name: IN_FILE }, jwksPath: 'keys.json', cacheDuration: '1m' } }
        }
      ]
    }
  ],
  ['extAuth', { backendRef: CHECKS, grpc: {} }, { backendRef: { name: IN_FILE }, grpc: {} }],
  ['extProc', { backendRef: CHECKS }, { backendRef: { name: IN_FILE } }],
  [
    'rateLimit',
    { global: { backendRef: CHECKS, domain: 'a', descriptors: [{ entries: [{ name: 'a', expression: '"a"' }] }] } },
    {
      global: {
        backendRef: { name: IN_FILE },
        domain: 'a',
        descriptors: [{ entries: [{ name: 'a', expression: '"a"' }], unit: 'Requests' }]
      }
    }
  ],
  ['cors', { allowOrigins: ['*'], maxAge: 60 }, { allowOrigins: ['*'], maxAge: '1m' }],
  ['headerModifiers', { request: { set: PLAIN } }, { request: { set: { 'x-a': '1' } } }],
  ['transformation', { request: { add: NAMED } }, { request: { add: { 'x-a': '"1"' } } }],
  ['directResponse', { status: 404, body: 'none' }, { status: 404, body: 'none' }],
  ['timeouts', { request: '10s' }, { request: '10s' }]
]

const BACKEND: readonly Pair[] = [
  [
    'tls',
    { caCertificateRefs: [{ name: 'roots' }], sni: 'a.example' },
    { root: '/ConfigMap/default/roots/ca.crt', hostname: 'a.example' }
  ],
  ['tls', { insecureSkipVerify: 'All' }, { insecure: true }],
  ['tcp', { keepalive: { time: '60s' } }, { keepalives: { time: '60s' } }],
  ['auth', { secretRef: { name: 'key' } }, { key: 'a-key' }],
  ['auth', { cloudC: { type: 'IdToken', audience: 'a' } }, { gcp: { type: 'idToken', audience: 'a' } }]
]

const FRONTEND: readonly Pair[] = [
  ['tcp', { keepalive: { time: '60s' } }, { keepalives: { time: '60s' } }],
  ['tls', { minProtocolVersion: '1.2' }, { minProtocolVersion: 1.2 }],
  [
    'tracing',
    {
      backendRef: CHECKS,
      protocol: 'GRPC',
      attributes: { add: [{ name: 'a', expression: '"1"' }] },
      randomSampling: '0.5'
    },
    { backendRef: { name: IN_FILE }, protocol: 'GRPC', attributes: { a: '"1"' }, randomSampling: '0.5' }
  ],
  [
    'accessLog',
    { attributes: { add: [{ name: 'a', expression: '"1"' }], remove: ['user_agent.original'] } },
    { add: { a: '"1"' }, remove: ['user_agent.original'] }
  ]
]

const MODELS: readonly Pair[] = [
  [
    'ai',
    {
      promptGuard: {
        request: [
          {
            webhook: {
              backendRef: CHECKS,
              forwardHeaderMatches: [{ type: 'RegularExpression', name: 'x-a', value: 'a.*' }]
            }
          },
          { typeAModeration: { model: 'm', policies: { auth: { secretRef: { name: 'key' } } } } }
        ]
      },
      routes: { '/v1/messages': 'Messages' }
    },
    {
      promptGuard: {
        request: [
          {
            webhook: { backendRef: { name: IN_FILE }, forwardHeaderMatches: [{ name: 'x-a', value: { regex: 'a.*' } }] }
          },
          { openAIModeration: { model: 'm', policies: { auth: { key: 'a-key' } } } }
        ]
      },
      routes: { '/v1/messages': 'messages' }
    }
  ],
  ['ai', { overrides: [{ field: 'a', value: { b: [1] } }] }, { overrides: [{ field: 'a', value: { b: [1] } }] }]
]

const GATEWAY = { group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'edge' }

/** All that policies act on. */
function partsOf(compiled: Compiled, why: string) {
  if (!('snapshot' in compiled)) assert.fail(`${why}: ${JSON.stringify(compiled.findings)}`)
  const { gateway, frontend, backends } = compiled.snapshot
  return { gateway, frontend, backends }
}

function checkPair([name, resource, file]: Pair, section: 'traffic' | 'backend' | 'frontend', backend: string): void {
  const models = gatewayBackend('models', { ai: { provider: { openai: {} } } })
  const policy = gatewayPolicy('a', { targetRefs: [GATEWAY], [section]: { [name]: resource } })
  const store = storeOf(policy, models, ...OBJECTS)
  const built = build(store, [backend])
  assert.deepEqual(built.faults, [], name)
  const { policies: _, frontendPolicies: __, secrets: ___, ...rest } = built.value
  const own: Raw = section === 'frontend' ? { frontendPolicies: { [name]: file } } : { policies: { [name]: file } }
  const expected = partsOf(compile({ ...rest, ...own }, store), `${name} of a file`)
  assert.deepEqual(partsOf(built.compiled, `${name} of a resource`), expected, name)
}

test('traffic policies', () => {
  for (const pair of TRAFFIC) checkPair(pair, 'traffic', 'default.plain_80')
})

test('backend policies', () => {
  for (const pair of BACKEND) checkPair(pair, 'backend', 'default.plain_80')
  for (const pair of MODELS) checkPair(pair, 'backend', 'default.models')
})

test('frontend policies', () => {
  for (const pair of FRONTEND) checkPair(pair, 'frontend', 'default.plain_80')
})

/** `spec` of a GatewayBackend, and an entry of `backends` without its name. */
const BACKENDS: readonly (readonly [spec: object, file: object])[] = [
  [{ static: { host: 'a.example', port: 80 } }, { host: 'a.example:80' }],
  [{ dynamicForwardProxy: { allowHosts: ['a.example'] } }, { dynamic: { allowHosts: ['a.example'] } }],
  [
    { ai: { provider: { typeB: { model: 'm' }, policies: { auth: { secretRef: { name: 'key' } } } } } },
    { ai: { provider: { anthropic: { model: 'm' }, policies: { auth: { key: 'a-key' } } } } }
  ],
  [
    {
      mcp: {
        targets: [
          { name: 'a', static: { host: 'a.example', port: 8080, policies: { auth: { key: 'a-key' } } } },
          {
            name: 'b',
            static: { host: 'b.example', port: 443, protocol: 'SSE', path: '/events', policies: { tls: {} } }
          }
        ],
        sessionRouting: 'Stateless'
      },
      policies: { mcp: { authorization: { policy: { matchExpressions: ['true'] } } } }
    },
    {
      mcp: {
        targets: [
          { name: 'a', mcp: { host: 'http://a.example:8080/mcp' }, policies: { auth: { key: 'a-key' } } },
          { name: 'b', sse: { host: 'b.example', port: 443, path: '/events' }, policies: { backendTLS: {} } }
        ],
        statefulMode: 'stateless'
      },
      policies: { mcpAuthorization: { rules: ['true'] } }
    }
  ]
]

test('backends', () => {
  for (const [spec, file] of BACKENDS) {
    const store = storeOf(gatewayBackend('b', spec), ...OBJECTS)
    const { value, compiled } = build(store, ['default.b'])
    const { secrets: _, ...rest } = value
    const expected = compile({ ...rest, backends: [{ name: 'default.b', ...file }] }, store)
    assert.deepEqual(partsOf(compiled, JSON.stringify(spec)), partsOf(expected, JSON.stringify(file)))
  }
})
