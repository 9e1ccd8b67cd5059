/** How a file says which policies run in which phase, and what is wrong with one that says it badly. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

function load(text: string) {
  return loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends })
}

function problems(text: string): string[] {
  const result = load(text)
  return result.ok ? [] : result.errors.map(({ path, message }) => `${path}: ${message}`)
}

const withListener = (set: string, top = '{}') =>
  `policies: ${top}\nbinds: [{ port: 80, listeners: [{ policies: ${set}, routes: [{ backends: [{ host: "a:1" }] }] }] }]`

const AT = 'binds[0].listeners[0].policies'

test('one set, or a list of sets with their phases', () => {
  const set = 'requestHeaderModifier: { set: { a: "1" } }'
  const result = load(
    withListener(`[{ phase: PreRouting, csrf: {} }, { ${set} }, { timeouts: { request: 1s } }]`, `{ ${set} }`)
  )
  if (!result.ok) assert.fail(formatErrors(result.errors))
  const { gateway, binds } = result.snapshot
  const headerModifiers = { request: { set: [{ name: 'a', value: '1' }] } }
  assert.deepEqual(gateway, { policies: { headerModifiers }, preRouting: {}, frontend: {} })
  const { policies: post, preRouting } = binds[0]!.listeners[0]!
  assert.deepEqual(Object.keys(post), ['headerModifiers', 'timeouts'])
  assert.deepEqual(preRouting, { csrf: {} })
})

test('a route has no phase PreRouting', () => {
  const route = (phase: string) =>
    `binds: [{ port: 80, listeners: [{ routes: [{ policies: { phase: ${phase}, csrf: {} }, backends: [{ host: "a:1" }] }] }] }]`
  assert.deepEqual(problems(route('PostRouting')), [])
  assert.deepEqual(problems(route('PreRouting')), [
    'binds[0].listeners[0].routes[0].policies.phase: ' +
      'PreRouting runs before a route is chosen: put these policies on the listener or at the top'
  ])
  assert.match(problems(route('Gateway'))[0]!, /phase: must be one of PreRouting, PostRouting/)
})

test('one policy has one place in a phase', () => {
  const twice = (a: string, b: string) => problems(withListener(`[{ ${a} csrf: {} }, { ${b} csrf: {} }]`))
  assert.deepEqual(twice('phase: PreRouting,', ''), [])
  const message = `${AT}[1].csrf: csrf is in another set of this phase already: keep it in one of them`
  assert.deepEqual(twice('', ''), [message])
  assert.deepEqual(twice('phase: PreRouting,', 'phase: PreRouting,'), [message])
  assert.deepEqual(problems(withListener('[]')), [`${AT}: must have 1 to 64 entries`])
})

test('settings of a route have no place before it is known', () => {
  assert.deepEqual(problems(withListener('{ phase: PreRouting, timeouts: { request: 1s } }')), [
    `${AT}.timeouts: timeouts is a setting of the route, which is not known in the phase PreRouting`
  ])
  assert.deepEqual(problems(withListener('{}', '[{ phase: PreRouting, hostRewrite: None }]')), [
    'policies[0].hostRewrite: hostRewrite is a setting of the route, which is not known in the phase PreRouting'
  ])
  assert.deepEqual(problems(withListener('{ phase: PreRouting, urlRewrite: { path: { prefix: /a } } }')), [
    `${AT}.urlRewrite: path.prefix needs the match of a route, which is not known yet`
  ])
  assert.deepEqual(problems(withListener('{ phase: PreRouting, urlRewrite: { path: { full: /a } } }')), [])
})

test('mistakes in a set keep their place, in lists too', () => {
  assert.match(
    problems(withListener('[{ csrff: {} }]'))[0]!,
    /^binds\[0\]\.listeners\[0\]\.policies\[0\]\.csrff: is not a known key/
  )
  assert.match(problems(withListener('{}', '{ cors: {} }'))[0]!, /^policies\.cors\.allowOrigins: /)
  assert.match(problems(withListener('{}', '5'))[0]!, /^policies: must be/)
})

test('a doubt of a policy is a warning, wherever the policy stands', () => {
  const cors = 'cors: { allowOrigins: ["*"], allowCredentials: true }'
  const result = load(withListener(`[{ phase: PreRouting, ${cors} }]`, `{ ${cors} }`))
  assert.ok(result.ok)
  assert.equal(result.warnings.length, 2)
  assert.match(result.warnings[0]!, /^weir\.yaml:1:13: policies\.cors: "\*" with allowCredentials lets every site/)
  assert.match(result.warnings[1]!, /^weir\.yaml:2:\d+: binds\[0\]\.listeners\[0\]\.policies\[0\]\.cors: /)
})
