/** What the policies of one file have to say about each other: with the registry that users have. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from './index.ts'

const KEY = 'apiKey: { keys: [{ key: secret }] }'
const ISSUER = 'jwtAuth: { issuer: a, jwks: { url: "https://a.example/keys" }, mode: Optional }'

interface Parts {
  readonly top?: string
  readonly listener?: string
  readonly route?: string
  readonly other?: string
  /** More of the file, at its top. */
  readonly file?: string
}

function warnings({ top = '{}', listener = '{}', route = '{}', other = '{}', file = '' }: Parts): string[] {
  const text = `policies: ${top}
binds:
- port: 3000
  listeners:
  - policies: ${listener}
    routes:
    - policies: ${route}
      backends: [{ host: "a:1" }]
    - policies: ${other}
      backends: [{ host: "a:1" }]
      matches: [{ path: { exact: /other } }]
${file}`
  return warningsOf([text])
}

function warningsOf(lines: readonly string[]): string[] {
  const text = lines.join('\n')
  const options = { file: 'f.yaml', folder: '.', env: {}, policies, backends, processors: 2 }
  const result = loadConfig(text, options)
  assert.ok(result.ok, JSON.stringify(result))
  return [...result.warnings]
}

test('a rule about an identity that no policy finds has a warning', () => {
  const rule = 'authorization: { rules: ["jwt.sub == \'ann\'"] }'
  const warning = (line: number, place: string, root: string, policy: string) =>
    `f.yaml:${line}: ${place}: reads ${root}, which is never there without ${policy}`
  const plain = (text: string) => text.replace(/^(f\.yaml:\d+):\d+/, '$1')
  assert.deepEqual(warnings({ route: `{ ${rule} }` }).map(plain), [
    warning(
      7,
      'binds[0].listeners[0].routes[0].policies.authorization',
      'jwt',
      'jwtAuthentication or mcpAuthentication'
    )
  ])
  assert.deepEqual(warnings({ top: `[{ ${rule} }]` }).map(plain), [
    warning(1, 'policies[0].authorization', 'jwt', 'jwtAuthentication or mcpAuthentication')
  ])
  // A route beside it helps nobody.
  assert.equal(warnings({ route: `{ ${rule} }`, other: `{ ${ISSUER} }` }).length, 1)
  const limit = 'localRateLimit: [{ maxTokens: 1, tokensPerFill: 1, fillInterval: 1s, key: apiKey.team }]'
  assert.deepEqual(warnings({ listener: `{ ${limit} }` }).map(plain), [
    warning(5, 'binds[0].listeners[0].policies.localRateLimit', 'apiKey', 'apiKeyAuthentication or virtualKeys')
  ])
  const header = 'transformations: { response: { set: { x-user: basicAuth.username } } }'
  assert.deepEqual(warnings({ route: `{ ${header}, ${ISSUER}, ${KEY} }` }).map(plain), [
    warning(7, 'binds[0].listeners[0].routes[0].policies.transformations', 'basicAuth', 'basicAuthentication')
  ])
})

test('no warning where a policy may identify the caller', () => {
  const rule = "authorization: { rules: [\"jwt.sub == 'ann' || apiKey.team == 'a'\"] }"
  const both = `${ISSUER}, ${KEY}`
  const quiet: Parts[] = [
    { route: `{ ${rule}, ${both} }` },
    { top: `{ ${both} }`, route: `{ ${rule} }` },
    { listener: `[{ phase: PreRouting, ${both} }]`, route: `{ ${rule} }` },
    // It holds for a route that identifies, and refuses on the other.
    { listener: `{ ${rule} }`, other: `{ ${both} }` },
    // No variable of that name.
    { route: '{ authorization: { rules: ["request.headers[\'jwt\'] == \'apiKey\'", "[1].all(jwt, jwt > 0)"] } }' }
  ]
  for (const parts of quiet) assert.deepEqual(warnings(parts), [], JSON.stringify(parts))
})

test('backends that are never asked, and an attempt that may last longer than all of them', () => {
  const doubts = warnings({
    route: '{ directResponse: { status: 200 } }',
    other: '{ requestRedirect: { scheme: https }, timeout: { requestTimeout: 1s, backendRequestTimeout: 2s } }'
  })
  assert.deepEqual(doubts, [
    'f.yaml:8:7: binds[0].listeners[0].routes[0].backends: are never asked: directResponse answers every request',
    'f.yaml:10:7: binds[0].listeners[0].routes[1].backends: are never asked: requestRedirect answers every request',
    'f.yaml:9:55: binds[0].listeners[0].routes[1].policies.timeout: backendRequest is longer than request, so it ' +
      'never ends an attempt: the whole exchange ends before'
  ])
  const fine = ['1s, backendRequestTimeout: 1s', '0s, backendRequestTimeout: 2s', '1s']
  for (const text of fine) assert.deepEqual(warnings({ route: `{ timeout: { requestTimeout: ${text} } }` }), [], text)
})

test('keys that are asked for where there are none', () => {
  const why = 'knows no key: keys at the top of the file has none, and without config.state the API cannot make any'
  const place = 'binds[0].listeners[0].routes[0].policies.virtualKeys'
  const route = '{ virtualKeys: {} }'
  assert.deepEqual(warnings({ route }), [`f.yaml:7:19: ${place}: ${why}`])
  assert.deepEqual(warnings({ top: '[{ virtualKeys: { mode: Optional } }]' }), [
    `f.yaml:1:14: policies[0].virtualKeys: ${why}`
  ])
  const quiet: Parts[] = [
    { route, file: 'keys: [{ name: alice, key: sk-alice-0001 }]' },
    { route, file: 'config: { state: { path: ./state } }' },
    { route: '{ virtualKeys: { keys: [{ name: alice, key: sk-alice-0001 }] } }' }
  ]
  for (const parts of quiet) assert.deepEqual(warnings(parts), [], JSON.stringify(parts))
})

test('models of keys that nobody serves', () => {
  const model = (name: string) => `{ name: ${name}, provider: openai, params: { apiKey: sk-canary-000000 } }`
  const llm = `llm: { models: [${model('gpt-5.1')}, ${model("'claude-*'")}], modelAliases: { fast: gpt-5.1 } }`
  const keys = (names: string) => `keys: [{ name: alice, key: sk-alice-0001, models: [${names}] }]`
  const noneIs = (name: string) => `no model of llm is called "${name}"`
  assert.deepEqual(warningsOf([llm, keys('gpt-5.1, gpt-51, other'), 'teams: [{ name: t, models: [claud-x] }]']), [
    `f.yaml:2:61: keys[0].models[1]: ${noneIs('gpt-51')}: did you mean "gpt-5.1"?`,
    `f.yaml:2:69: keys[0].models[2]: ${noneIs('other')}`,
    `f.yaml:3:29: teams[0].models[0]: ${noneIs('claud-x')}: did you mean "claude-*"?`
  ])
  const elsewhere =
    'binds: [{ port: 3000, listeners: [{ routes: [{ backends: [{ ai: { provider: { openai: {} } } }] }] }] }]'
  const quiet = [
    [llm, keys("fast, claude-x, 'o*'")],
    [llm, keys('other'), elsewhere],
    [elsewhere, keys('other')]
  ]
  for (const lines of quiet)
    assert.deepEqual(
      warningsOf(lines).filter((line) => line.includes('no model')),
      [],
      lines[0]
    )
})
