/** The policy `http`, from the file to backends: where it may stand, what wins, what is a mistake. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StaticBackend } from '#backends/http/config/snapshot.ts'
import { backends } from '#backends/index.ts'
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
  return result.errors.map(({ line, path, message }) => `${line} ${path}: ${message}`)
}

/** What each route's backend is told. */
function spoken({ binds, backends }: SnapshotDraft): unknown[] {
  const references = binds.flatMap(({ listeners }) =>
    listeners.flatMap(({ routes }) => routes.flatMap((r) => r.backends))
  )
  return references.map(({ backend }) => {
    const http = (backends[backend] as StaticBackend).http
    return http === undefined ? 'nothing' : `${http.version} ${http.requestTimeoutMs}`
  })
}

/** Of a backend something has to be said, or nothing (docs/specification.md#backends). */
const withPolicies = (policies: string) => (policies === '{}' ? '' : `, policies: ${policies}`)

const file = (top: string, listener: string, route: string, backend: string, reference: string): string => `
policies: ${top}
binds:
  - port: 80
    listeners:
      - policies: ${listener}
        routes:
          - policies: ${route}
            backends:
              - { backend: named${withPolicies(reference)} }
              - { host: "a:1"${withPolicies(reference)} }
              - { dynamic: {}${withPolicies(reference)} }
backends:
  - { name: named, host: "b:1"${withPolicies(backend)} }
`
const http = (ms: number) => `{ http: { requestTimeout: ${ms}ms } }`

test('the more precise place wins, whole', () => {
  const none = '{}'
  assert.deepEqual(spoken(good(file(none, none, none, none, none))), ['nothing', 'nothing', 'nothing'])
  const both = '{ http: { version: HTTP2, requestTimeout: 1s } }'
  assert.deepEqual(spoken(good(file(both, none, none, none, none))), Array(3).fill('HTTP2 1000'))
  assert.deepEqual(spoken(good(file(both, http(2), none, none, none))), Array(3).fill('null 2'))
  assert.deepEqual(spoken(good(file(both, http(2), http(3), none, none))), Array(3).fill('null 3'))
  assert.deepEqual(spoken(good(file(both, http(2), http(3), http(4), none))), ['null 4', 'null 3', 'null 3'])
  assert.deepEqual(spoken(good(file(both, http(2), http(3), http(4), http(5)))), Array(3).fill('null 5'))
})

test('a named backend stays one as long as its routes do not say different things of it', () => {
  const name = (text: string) => good(text).binds[0]!.listeners[0]!.routes[0]!.backends[0]!.backend
  assert.equal(name(file(http(1), '{}', '{}', '{}', '{}')), 'named')
  assert.equal(name(file('{}', http(1), '{}', http(1), '{}')), 'named')
  assert.equal(name(file('{}', http(1), '{}', '{}', '{}')), 'listener0/route0/0')
})

test('targetRefs put it on routes and on backends', () => {
  const text = `
policies:
  - { targetRefs: [{ kind: Backend, name: named }], http: { version: HTTP2 } }
  - { targetRefs: [{ kind: HTTPRoute, name: r, sectionName: s }], http: { version: HTTP1 } }
binds:
  - port: 80
    listeners:
      - routes:
          - { name: r, ruleName: s, backends: [{ backend: named }, { host: "a:1" }] }
          - { name: q, backends: [{ backend: named }] }
backends: [{ name: named, static: { host: b, port: 1 } }]
`
  assert.deepEqual(spoken(good(text)), ['HTTP2 0', 'HTTP1 0', 'HTTP2 0'])
})

test('settings that no transport can honour are mistakes', () => {
  const route = (policy: string, backend: string) =>
    `binds: [{ port: 80, listeners: [{ routes: [{ policies: ${policy}, backends: [${backend}] }] }] }]\n`
  const ai = '{ ai: { provider: { openai: {} } } }'
  const at = 'binds[0].listeners[0]'
  const OF = 'acts on backends that are plain servers (host, hosts, static, dynamic, inferencePool)'
  const cases: readonly (readonly [string, string])[] = [
    [route('{ http: { version: HTTP2 } }', ai), `1 ${at}.routes[0].policies.http: ${OF}, and there is none below`],
    [
      route('{}', ai.replace('{ ai', '{ policies: { http: { version: HTTP2 } }, ai')),
      `1 ${at}.routes[0].backends[0].policies.http: ${OF}, and this one is none`
    ],
    [
      route('{ http: {} }', '{ host: "a:1" }'),
      `1 ${at}.routes[0].policies.http: must have at least one of version, requestTimeout`
    ],
    [
      `binds: [{ port: 80, listeners: [{ policies: { phase: PreRouting, http: { version: HTTP1 } }, routes: [] }] }]`,
      `1 ${at}.policies.http: is for backends, which are not known in the phase PreRouting`
    ],
    [
      `binds: [{ port: 80, listeners: [{ policies: [{ http: { version: HTTP1 } }, { http: { version: HTTP2 } }], routes: [{ backends: [{ host: "a:1" }] }] }] }]`,
      `1 ${at}.policies[1].http: is in another set of this place already: keep one of them`
    ],
    [
      'llm: { models: [{ name: a, provider: openAI }] }\npolicies: { http: { version: HTTP1 } }',
      `2 policies.http: ${OF}, and there is none below`
    ]
  ]
  for (const [text, expected] of cases) assert.deepEqual(mistakes(text), [expected])
  const [version] = mistakes(route('{ http: { version: HTTP3 } }', '{ host: "a:1" }'))
  assert.match(version ?? '', /version: must be/)
})
