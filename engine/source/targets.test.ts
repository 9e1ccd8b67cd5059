/** Policies that say where they stand, and policies of backends of models. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import type { AiBackend } from '#backends/llm/config/snapshot.ts'
import { reveal } from '#engine/kit/secret.ts'
import { formatErrors, loadConfig, type SnapshotDraft } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

const load = (text: string) => loadConfig(text, { file: 'weir.yaml', env: {}, policies, backends })

function good(text: string): SnapshotDraft {
  const result = load(text)
  return result.ok ? result.snapshot : assert.fail(formatErrors(result.errors))
}

function mistakes(text: string): string[] {
  const result = load(text)
  if (result.ok) return []
  return result.errors.map(({ line, path, message, hint }) => `${line} ${path}: ${message}${hint ? ` (${hint})` : ''}`)
}

const FILE = `
binds:
  - port: 80
    listeners:
      - name: public
        routes:
          - { name: chat, ruleName: all, backends: [{ backend: models }] }
          - { name: site, matches: [{ path: { pathPrefix: /site } }], backends: [{ host: "a:1" }] }
      - name: inner
        hostname: inner.example
        routes: [{ name: chat, backends: [{ backend: models }] }]
backends:
  - name: models
    ai:
      groups:
        - providers:
            - { name: cheap, openai: {} }
            - { name: dear, anthropic: {}, policies: { auth: { key: own } } }
policies:
`

const header = (value: string) => `responseHeaderModifier: { set: { a: "${value}" } }`
const headerOf = (set: unknown) => {
  const { headerModifiers } = set as { headerModifiers?: { response: { set: { value: string }[] } } }
  return headerModifiers?.response.set[0]?.value
}

test('a policy with targets stands at its targets and nowhere else', () => {
  const { gateway, binds } = good(
    `${FILE}
  - { ${header('gateway')} }
  - { targetRefs: [{ kind: Gateway, sectionName: public }], ${header('listener')} }
  - { targetRefs: [{ kind: Gateway, sectionName: public }], phase: PreRouting, csrf: {} }
  - { targetRefs: [{ kind: HTTPRoute, name: chat }], ${header('route')} }
  - { targetRefs: [{ kind: Route, name: chat, sectionName: all }], ${header('rule')}, timeouts: { request: 1s } }`
  )
  const [open, inner] = binds[0]!.listeners
  assert.equal(headerOf(gateway.policies), 'gateway')
  assert.equal(headerOf(open!.policies), 'listener')
  assert.deepEqual(Object.keys(open!.preRouting), ['csrf'])
  assert.deepEqual(inner!.policies, {})
  // The rule is more precise than its route.
  assert.deepEqual(
    open!.routes.map(({ policies: set }) => headerOf(set)),
    ['rule', undefined]
  )
  assert.deepEqual(
    inner!.routes.map(({ policies: set }) => headerOf(set)),
    ['route']
  )
  assert.deepEqual(Object.keys(open!.routes[0]!.policies), ['timeouts', 'headerModifiers'])
})

test('one target is for the whole gateway, and one policy may have several', () => {
  const { gateway, binds } = good(
    `${FILE} { targetRefs: [{ kind: Gateway }, { kind: HTTPRoute, name: site }], ${header('both')} }`
  )
  assert.equal(headerOf(gateway.policies), 'both')
  assert.equal(headerOf(binds[0]!.listeners[0]!.routes[1]!.policies), 'both')
})

const keys = (backend: unknown) =>
  (backend as AiBackend).groups.flat().map(({ auth }) => (auth.kind === 'key' ? reveal(auth.key) : auth.kind))

test('a policy for a backend is for all its providers, one with a section for that provider', () => {
  const { backends } = good(
    `${FILE}
  - targetRefs: [{ kind: GatewayBackend, name: models }]
    backendAuth: { key: all }
    ai: { modelAliases: { a: b }, overrides: [{ field: user, value: weir }] }
  - targetRefs: [{ kind: Backend, name: models, sectionName: cheap }]
    backendAuth: { key: cheap }
    ai: { defaults: [{ field: seed, value: 1 }] }`
  )
  const models = backends.models as AiBackend
  // What the provider says itself wins over every policy.
  assert.deepEqual(keys(models), ['cheap', 'own'])
  assert.deepEqual(models.modelAliases, { a: 'b' })
  assert.deepEqual(
    models.groups.flat().map(({ edits }) => [edits.overrides.length, edits.defaults.length]),
    [
      [1, 1],
      [1, 0]
    ]
  )
})

/** Of a backend something has to be said, or nothing (docs/specification.md#backends). */
const withPolicies = (policies: string) => (policies === '' ? '' : `, policies: ${policies}`)

const levels = (place: Readonly<Record<'gateway' | 'listener' | 'route' | 'backend' | 'reference', string>>) => `
policies: ${place.gateway}
binds:
  - port: 80
    listeners:
      - policies: ${place.listener}
        routes:
          - policies: ${place.route}
            backends: [{ backend: models${withPolicies(place.reference)} }]
          - backends: [{ ai: { provider: { openai: {} } }${withPolicies(place.reference)} }]
backends: [{ name: models${withPolicies(place.backend)}, ai: { provider: { openai: {} } } }]
`
const NONE = { gateway: '{}', listener: '{}', route: '{}', backend: '', reference: '' }

test('the more precise place wins, policy by policy: gateway, listener, route, backend, its reference', () => {
  const keyAt = (...places: (keyof typeof NONE)[]) => {
    const keyed = Object.fromEntries(places.map((place) => [place, `{ auth: { key: ${place} } }`]))
    const { backends, binds } = good(levels({ ...NONE, ...keyed }))
    const [named, inline] = binds[0]!.listeners[0]!.routes.map((route) => backends[route.backends[0]!.backend])
    return [...keys(named), ...keys(inline)].join()
  }
  assert.equal(keyAt('gateway'), 'gateway,gateway')
  assert.equal(keyAt('gateway', 'listener'), 'listener,listener')
  assert.equal(keyAt('gateway', 'listener', 'route'), 'route,listener')
  assert.equal(keyAt('route', 'backend'), 'backend,client')
  assert.equal(keyAt('gateway', 'listener', 'route', 'backend', 'reference'), 'reference,reference')
})

test('a backend without policies around it stays one backend of all its routes', () => {
  const names = (text: string) => {
    const { binds } = good(text)
    return binds[0]!.listeners[0]!.routes[0]!.backends[0]!.backend
  }
  assert.equal(names(levels({ ...NONE, backend: '{ auth: { key: a } }' })), 'models')
  assert.equal(names(levels({ ...NONE, route: '{ auth: { key: a } }' })), 'listener0/route0/0')
})

test('a target that is not there is a mistake, at its place in the file', () => {
  const of = (target: string) => mistakes(`${FILE}\n  - { targetRefs: [${target}], csrf: {} }`)
  const at = '21 policies[0].targetRefs[0]'
  assert.deepEqual(of('{ kind: Gateway, sectionName: pubic }'), [
    `${at}.sectionName: there is no listener "pubic" (did you mean "public"?)`
  ])
  assert.deepEqual(of('{ kind: HTTPRoute, name: zzz }'), [
    `${at}.name: there is no route "zzz" (there are: chat, site)`
  ])
  assert.deepEqual(of('{ kind: HTTPRoute, name: site, sectionName: all }'), [
    `${at}.sectionName: there is no ruleName in route "site": "all" (there are none)`
  ])
  assert.deepEqual(of('{ kind: GatewayBackend, name: model }'), [
    `${at}.name: there is no backend "model" (did you mean "models"?)`
  ])
  assert.deepEqual(of('{ kind: GatewayBackend, name: models, sectionName: cheep }'), [
    `${at}.sectionName: there is no provider of backend "models" called "cheep" (did you mean "cheap"?)`
  ])
  assert.deepEqual(of('{ kind: Service, name: a }'), [
    `${at}.kind: must be Gateway, HTTPRoute (or Route), GatewayBackend (or Backend)`
  ])
  assert.match(of('{ kind: HTTPRoute }').join(), /name: is required/)
  assert.match(of('{ kind: Gateway, name: a }').join(), /which has no name/)
  assert.match(mistakes('policies: { targetSelectors: [] }\nbinds: []').join(), /a file names its targets: targetRefs/)
  assert.match(
    mistakes('binds: [{ port: 80, listeners: [{ policies: { targetRefs: [{ kind: Gateway }] } }] }]').join(),
    /listeners\[0\].policies.targetRefs: is for policies at the top of the file/
  )
})

test('a mistake in a policy is reported once, where it was written, whatever its targets', () => {
  const both = '[{ kind: HTTPRoute, name: chat }, { kind: HTTPRoute, name: site }]'
  assert.deepEqual(mistakes(`${FILE}\n  - { targetRefs: ${both}, directResponse: { status: 7 } }`), [
    '21 policies[0].directResponse.status: must be at least 200'
  ])
  assert.deepEqual(
    mistakes(`${FILE}\n  - { targetRefs: [{ kind: GatewayBackend, name: models }], cors: { allowOrigins: ["*"] } }`),
    ["21 policies[0].cors: policy 'cors' is not accepted on a backend: put it on the route"]
  )
  const prefix = 'urlRewrite: { path: { prefix: /b } }'
  assert.deepEqual(
    mistakes(`${FILE}\n  - { targetRefs: [{ kind: Gateway, sectionName: inner }], phase: PreRouting, ${prefix} }`)
      .length,
    1
  )
  assert.deepEqual(mistakes(`${FILE}\n  - { csrf: {} }\n  - { nonsense: 1 }`), [
    `22 policies[1].nonsense: is not a known key (${mistakes(`${FILE}\n  - { nonsense: 1 }`)[0]!.split(' (')[1]}`
  ])
})

test('which of two policies of one place holds is never a guess', () => {
  const two = (a: string, b: string) =>
    mistakes(`${FILE}\n  - { targetRefs: [${a}], csrf: {} }\n  - { targetRefs: [${b}], csrf: {} }`)
  const route = '{ kind: HTTPRoute, name: site }'
  assert.deepEqual(two(route, route), [
    '22 policies[1].csrf: another set with this target says it too: keep it in one of them'
  ])
  const own = FILE.replace('ruleName: all,', 'ruleName: all, policies: { csrf: {} },')
  for (const section of ['', ', sectionName: all']) {
    assert.deepEqual(
      mistakes(`${own}\n  - { targetRefs: [{ kind: HTTPRoute, name: chat${section} }], csrf: {} }`),
      ['21 policies[0].csrf: its target says it itself: keep it in one of them'],
      section
    )
  }
  assert.match(two('{ kind: Gateway }', '{ kind: Gateway }').join(), /another set of this phase/)
  const rules = (target: string) => `  - { targetRefs: [${target}], authorization: { rules: ["true"] } }`
  const chat = '{ kind: HTTPRoute, name: chat'
  assert.deepEqual(mistakes(`${FILE}\n${rules(`${chat} }`)}\n${rules(`${chat}, sectionName: all }`)}`), [
    '22 policies[1].authorization: its target has rules of its own: put all of them in one place'
  ])
})

test('policies of backends that would reach no model are mistakes', () => {
  const message = (place: string, route: string) =>
    mistakes(`policies: ${place}\nbinds: [{ port: 80, listeners: [{ routes: [${route}] }] }]`)
  const models = 'ai: { provider: { openai: {} } }'
  const site = 'host: "a:1"'
  assert.deepEqual(message('{ auth: { key: a } }', `{ backends: [{ ${models} }] }`), [])
  assert.deepEqual(message('{ auth: { key: a } }', `{ backends: [{ ${models} }, { ${site} }] }`), [])
  assert.match(
    message('{ auth: { key: a } }', '{ backends: [{ dynamic: {} }] }').join(),
    /auth: needs dynamic.allowHosts/
  )
  assert.match(
    message('{ ai: { modelAliases: {} } }', `{ backends: [{ ${site} }] }`).join(),
    /no backend below has any/
  )
  assert.deepEqual(message('{ ai: { modelAliases: {} } }', `{ backends: [{ ${models} }, { ${site} }] }`), [])
  assert.deepEqual(message('{}', `{ backends: [{ ${site}, policies: { auth: { key: a } } }] }`), [])
  assert.match(
    message('{ phase: PreRouting, auth: { key: a } }', `{ backends: [{ ${models} }] }`).join(),
    /not known in the phase/
  )
  assert.match(
    message('{ auth: { key: a }, backendAuth: { key: a } }', `{ backends: [{ ${models} }] }`).join(),
    /says again what auth/
  )
  const llm = 'llm: { models: [{ name: "*", provider: openai }] }'
  assert.match(mistakes(`${llm}\npolicies: { auth: { key: a } }`).join(), /does not act on llm/)
})

test('guards and routes of different places must do together', () => {
  const guard = 'promptGuard: { request: [{ regex: { builtins: [Email] } }] }'
  const file = (outer: string, inner: string) =>
    mistakes(
      levels({ ...NONE, route: `{ ai: { ${outer} } }` }).replace(
        'name: models, ai: { provider: { openai: {} } } }]\n',
        `name: models, ai: { provider: { openai: {} }, ${inner} } }]\n`
      )
    )
  assert.match(
    file(guard, 'routes: { "*": Passthrough }').join(),
    /route0?.*promptGuard: prompt guards cannot see|promptGuard: prompt guards cannot see what passes as Passthrough/
  )
  assert.match(file('routes: { "*": Passthrough }', guard).join(), /promptGuard: prompt guards cannot see/)
  assert.deepEqual(file(guard, 'routes: { "*": Messages }'), [])
})

test('sets that say the same of the same routes are told up to a thousand times', () => {
  const many = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i)).join(', ')
  const routes = many(50, (i) => `{ name: chat, matches: [{ path: { exact: /${i} } }], backends: [{ host: "a:1" }] }`)
  const sets = many(100, () => '{ targetRefs: [{ kind: Route, name: chat }], timeouts: { request: 1s } }')
  const found = mistakes(`{ binds: [{ port: 80, listeners: [{ routes: [${routes}] }] }], policies: [${sets}] }`)
  assert.ok(
    found.some((text) => text.endsWith('the first 1000 mistakes are told')),
    found.at(-1)
  )
  assert.ok(found.length < 1_200, String(found.length))
})
