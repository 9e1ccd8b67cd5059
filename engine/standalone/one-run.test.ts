/** Every mistake in one run: those that take several fields to see, beside slips in other fields of the same object. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

/** Paths below `at` and messages. */
function mistakes(file: object, at: string): string[] {
  const result = loadConfig(JSON.stringify(file), { file: 'weir.json', env: {}, policies, backends })
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path.replace(at, '')}: ${message}`)
}

const onRoute = (set: object) =>
  mistakes(
    { binds: [{ port: 80, listeners: [{ routes: [{ policies: set, backends: [{ host: 'a:1' }] }] }] }] },
    'binds[0].listeners[0].routes[0].policies.'
  )

const asAi = (ai: object) =>
  mistakes(
    { binds: [{ port: 80, listeners: [{ routes: [{ backends: [{ ai }] }] }] }] },
    'binds[0].listeners[0].routes[0].backends[0].ai.'
  )

const CASES: readonly (readonly [policy: object, found: readonly string[]])[] = [
  [
    { directResponse: { status: 204, body: 'a', bodyExpression: '"' } },
    ['directResponse: must have at most one of', 'directResponse.body: ', 'directResponse.bodyExpression: ']
  ],
  [
    { requestRedirect: { status: 200, authority: { host: 'a' }, port: 1 } },
    ['requestRedirect.status: ', 'requestRedirect.authority: authority says']
  ],
  [
    { authorization: { rules: [7], action: 'Deny' } },
    ['authorization.rules[0]: ', 'authorization.action: belongs to policy']
  ],
  [
    { jwtAuth: { issuer: 7, jwks: 7, audiences: ['a'], providers: [] } },
    ['jwtAuth: must have exactly one of', 'jwtAuth.issuer: ']
  ],
  [
    { requestMirror: { backend: { host: '' }, percentage: 1, percent: 1 } },
    ['requestMirror.backend.host: ', 'requestMirror: must have at most one of']
  ],
  [
    { localRateLimit: [{ maxTokens: 1, tokensPerFill: 2, fillInterval: 'x' }] },
    ['localRateLimit[0].fillInterval: ', 'localRateLimit[0].tokensPerFill: ']
  ],
  [
    { requestMirror: { backend: { backend: 'nowhere' } }, timeoutz: {} },
    ['timeoutz: ', 'requestMirror.backend: there is no backend "nowhere"']
  ]
]

for (const [policy, found] of CASES) {
  test(`together and apart: ${JSON.stringify(policy)}`, () => {
    const lines = onRoute(policy)
    for (const start of found)
      assert.ok(
        lines.some((line) => line.startsWith(start)),
        `${start} is not in\n${lines.join('\n')}`
      )
  })
}

test('a missing or second choice is reported beside mistakes in other fields', () => {
  const provider = { openai: { model: 7 }, anthropic: {} }
  const found = asAi({ provider, unsupported: 'perhaps' })
  assert.equal(found.length, 3)
  assert.match(found.join(), /provider: must have exactly one of .*, not openai and anthropic/)
  assert.match(asAi({ provider: { port: 'x' } }).join(), /port: .*|provider: must have exactly one of/)
  assert.equal(asAi({ provider: { port: 'x' } }).length, 2)
  // A key that is misspelt, or not here, may have been the choice.
  assert.equal(asAi({ provider: { opnai: {} } }).length, 1)
  assert.equal(asAi({ provider: { openai: {} }, groups: [], routes: [] }).length, 3)
})

test('names and guards are compared although a provider has a slip', () => {
  const found = asAi({
    groups: [
      {
        providers: [
          { name: 'a', openai: {} },
          { name: 'a', openai: { model: 1 } }
        ]
      }
    ],
    promptGuard: { request: [{ regex: { builtins: ['Ssn'] } }] },
    routes: { '*': 'Passthrough' },
    unsupported: 1
  })
  assert.match(found.join('\n'), /providers\[1\]\.name: two providers are called a/)
  assert.match(found.join('\n'), /promptGuard: prompt guards cannot see/)
  assert.equal(found.length, 4)
})

test('credentials that belong together', () => {
  const found = asAi({
    provider: { bedrock: { region: 'X' }, policies: { auth: { aws: { accessKeyId: 'a', region: 'X' } } } }
  })
  assert.match(found.join('\n'), /aws: accessKeyId and secretAccessKey belong together/)
  assert.equal(found.length, 3)
  const azure = asAi({ provider: { azureopenai: { endpoint: 'a b', apiVersion: '2024-10-21' } } })
  assert.match(azure.join('\n'), /deploymentName: is required/)
  assert.equal(azure.length, 2)
})

test('names of llm are looked up although other models have slips', () => {
  const llm = (more: object) =>
    mistakes(
      {
        llm: {
          models: [
            { name: 'a', provider: 'openai' },
            { name: 'b', provider: 'opnai' }
          ],
          ...more
        }
      },
      'llm.'
    )
  const virtual = (model: string) => [{ name: 'v', routing: { failover: { targets: [{ model }] } } }]
  assert.deepEqual(llm({ virtualModels: virtual('b') }).length, 1)
  assert.match(llm({ virtualModels: virtual('c') }).join('\n'), /no model of llm.models serves "c"/)
  assert.match(llm({ modelAliases: { x: 'y' } }).join('\n'), /modelAliases.x: no model/)
  assert.match(
    llm({
      models: [
        { name: 'a', provider: 'x' },
        { name: 'a', provider: 'azure' }
      ]
    }).join('\n'),
    /already a model "a"/
  )
  // The name that cannot be read may be the one that is missed.
  assert.deepEqual(
    llm({ models: [{ name: 7, provider: 'openai' }], virtualModels: virtual('c'), modelAliases: { x: 'y' } }).length,
    1
  )
  const shared = { models: [{ name: 'a', provider: { reference: 'p' } }], providers: [{ provider: 'openai' }] }
  assert.deepEqual(llm(shared).length, 1)
  assert.match(llm({ ...shared, providers: [{ name: 'q', provider: 'x' }] }).join('\n'), /reference: /)
})

test('whatever stands there instead, checks of several fields break nothing', () => {
  for (const odd of [null, 7, 'a', [], [null], { a: 1 }, [[{}]]]) {
    for (const key of ['models', 'providers', 'virtualModels', 'modelAliases']) mistakes({ llm: { [key]: odd } }, '')
    for (const key of ['groups', 'promptGuard', 'routes', 'overrides']) asAi({ provider: { openai: {} }, [key]: odd })
    asAi({ groups: [{ providers: odd }, odd] })
    const result = loadConfig(JSON.stringify({ llm: odd }), { file: 'a', env: {}, policies, backends })
    assert.ok(result.ok || !result.errors.some(({ message }) => message.includes('fault of weir')))
  }
})
