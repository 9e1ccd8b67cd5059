/** Policies over whose targets, or guards, weir stumbles: closed where they are known to be for something. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import {
  CLASS,
  draftOf,
  gateway,
  http,
  httpRoute,
  OPTIONS,
  object,
  policy,
  rule,
  service,
  target
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import { type Translation, Translator } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'

const ROUTES = ['one', 'two']
const GUARD = { basicAuthentication: { users: ['ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g='] } }
/** A value that nobody can read. */
const unread = (value: object, ...fields: readonly string[]): Raw => {
  const copy = { ...value }
  for (const name of fields) {
    const get = (): never => {
      throw new RangeError('deep')
    }
    Object.defineProperty(copy, name, { get, enumerable: true })
  }
  return copy
}
const toRoute = (name: string) => target('HTTPRoute', name)

function run(...objects: readonly KubernetesObject[]): Translation {
  const routes = ROUTES.map((name) => httpRoute(name, 'edge', [rule(`/${name}`, 'shop')]))
  const all = [CLASS, gateway('edge', [http('web', 80)]), service('shop'), ...routes, ...objects]
  return new Translator(OPTIONS).update(ObjectStore.of(all), null)
}

/** Names of the policies of each route, and of the Gateway. */
function guardsIn(translation: Translation): Record<string, readonly string[]> {
  const draft = draftOf(translation)
  const routes = draft.binds[0]!.listeners[0]!.routes.map(
    ({ name, policies }) => [name, Object.keys(policies)] as const
  )
  return Object.fromEntries([...routes, ['edge', Object.keys(draft.gateway.policies)]])
}

interface Ancestor {
  readonly ancestorRef: Raw
  readonly conditions: readonly { readonly type: string; readonly status: string; readonly message: string }[]
}

function ancestorsOf(translation: Translation, of: KubernetesObject) {
  const { ancestors } = translation.statuses.get(keyOf(of)) as { readonly ancestors: readonly Ancestor[] }
  return ancestors.map(({ ancestorRef, conditions }) => {
    const { status, message } = conditions.find(({ type }) => type === 'Accepted')!
    return { to: `${ancestorRef.kind}/${ancestorRef.name}`, status, message }
  })
}

const NOT_THERE: readonly (readonly [string, Raw])[] = [
  ['the list cannot be read', unread({ traffic: GUARD }, 'targetRefs')],
  ['the name cannot be read', { targetRefs: [unread(toRoute('one'), 'name')], traffic: GUARD }],
  ['the labels cannot be read', { targetSelectors: [unread(toRoute(''), 'name', 'matchLabels')], traffic: GUARD }],
  ['there is no name', { targetRefs: [{ group: '', kind: 'HTTPRoute' }], traffic: GUARD }],
  ['there is no target', { targetRefs: ['one', null, 7], traffic: GUARD }],
  ['there is no list', { traffic: GUARD }]
]

describe('a GatewayPolicy', () => {
  const refs = [toRoute('one'), unread(toRoute('two'), 'name')]
  for (const [what, targetRefs] of [
    ['another target', refs],
    ['the section', [unread(toRoute('one'), 'sectionName')]],
    ['the group', [unread(toRoute('one'), 'group')]]
  ] as const) {
    it(`is closed at the target that can be read, when ${what} cannot`, () => {
      const spoiled = policy('guard', { targetRefs, traffic: GUARD })
      const translation = run(spoiled)
      deepEqual(guardsIn(translation), { 'demo.one': ['basicAuthentication'], 'demo.two': [], edge: [] })
      const [first, ...rest] = ancestorsOf(translation, spoiled)
      deepEqual([first!.to, first!.status, rest], ['Gateway/edge', 'False', []])
      match(first!.message, /a fault of weir \(RangeError\)/)
      const { policies } = draftOf(translation).binds[0]!.listeners[0]!.routes.find(({ name }) => name === 'demo.one')!
      match(JSON.stringify(policies), /closed/)
    })
  }

  for (const [what, spec] of NOT_THERE) {
    it(`says so itself when nothing says what it is for: ${what}`, () => {
      const spoiled = policy('guard', spec)
      const translation = run(spoiled)
      deepEqual(guardsIn(translation), { 'demo.one': [], 'demo.two': [], edge: [] })
      const [only, ...rest] = ancestorsOf(translation, spoiled)
      deepEqual([only!.to, only!.status, rest], ['GatewayPolicy/guard', 'False', []])
      match(only!.message, /what it is for cannot be read, so it is nowhere in force/)
    })
  }

  it('is closed at a target of a kind that it knows by another group, and elsewhere says that there is none', () => {
    const targetRefs = [
      { group: 'example.com', kind: 'HTTPRoute', name: 'one' },
      { ...toRoute('two'), kind: 'Rote' }
    ]
    const spoiled = policy('guard', { targetRefs, traffic: GUARD })
    const translation = run(spoiled)
    deepEqual(guardsIn(translation), { 'demo.one': ['basicAuthentication'], 'demo.two': [], edge: [] })
    deepEqual(
      ancestorsOf(translation, spoiled).map(({ to, status }) => [to, status]),
      [
        ['Gateway/edge', 'False'],
        ['Rote/two', 'False']
      ]
    )
  })

  it('is closed by the guard that cannot be read, and by all of them when their section cannot', () => {
    const around = [target('Gateway', 'edge')]
    const one = run(policy('guard', { targetRefs: around, traffic: unread({ cors: {} }, 'csrf', 'authorization') }))
    deepEqual(guardsIn(one).edge!.toSorted(), ['authorization', 'csrf'])
    for (const targetRefs of [around, ROUTES.map(toRoute)]) {
      const all = run(policy('guard', unread({ targetRefs }, 'traffic')))
      const names = guardsIn(all)[targetRefs === around ? 'edge' : 'demo.one']!
      ok(
        ['authorization', 'jwtAuthentication', 'extAuth'].every((name) => names.includes(name)),
        names.join()
      )
      equal(draftOf(all).binds[0]!.listeners[0]!.routes.length, ROUTES.length)
    }
    const behind = run(
      policy('guard', unread({ targetRefs: [{ group: '', kind: 'Service', name: 'shop' }] }, 'backend'))
    )
    match(JSON.stringify(draftOf(behind).backends), /"tls":\{/)
  })
})

describe('a BackendTLSPolicy', () => {
  const toService = { group: '', kind: 'Service', name: 'shop' }
  const validation = { hostname: 'shop.example', wellKnownCACertificates: 'System' }
  const tls = (targetRefs: unknown, spec: Raw = {}) =>
    object('BackendTLSPolicy', 'secured', { spec: { targetRefs, validation, ...spec } })

  for (const [what, targetRefs] of [
    ['another target', [toService, unread({ group: '', kind: 'Service' }, 'name')]],
    ['the section', [unread(toService, 'sectionName')]]
  ] as const) {
    it(`lets no connection pass to the Service that can be read, when ${what} cannot`, () => {
      const spoiled = tls(targetRefs)
      const translation = run(spoiled)
      ok(!JSON.stringify(draftOf(translation).backends).includes('"hosts":[{"host":"shop'), 'it has no endpoint')
      const [only] = ancestorsOf(translation, spoiled)
      deepEqual([only!.to, only!.status], ['Gateway/edge', 'False'])
      match(only!.message, /a fault of weir \(RangeError\)/)
    })
  }

  it('says so itself when nothing says what it is for', () => {
    for (const targetRefs of [[unread(toService, 'name')], [unread(toService, 'kind')], [{ kind: 'Service' }], [], 7]) {
      const spoiled = tls(targetRefs)
      const [only, ...rest] = ancestorsOf(run(spoiled), spoiled)
      deepEqual([only!.to, only!.status, rest], ['BackendTLSPolicy/secured', 'False', []])
      match(only!.message, /what it is for cannot be read/)
    }
  })

  it('says nothing of targets that another controller may know', () => {
    const foreign = tls([{ group: 'example.com', kind: 'Pool', name: 'models' }])
    deepEqual(ancestorsOf(run(foreign), foreign), [])
  })
})
