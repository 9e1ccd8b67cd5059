/** Objects -> the Snapshot that a file with the same intent makes; one that is wrong spoils no other. */
import { deepEqual, equal, notEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { backends } from '#backends/index.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'
import {
  CLASS,
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  OPTIONS,
  parentTexts,
  policy,
  rule,
  secret,
  service,
  statusOf,
  target,
  translate
} from './cluster.fixture.ts'
import { Translator } from './index.ts'

const EDGE = gateway('edge', [http('web', 8080)])

describe('a Gateway and its routes', () => {
  it('make the Snapshot that a file makes', () => {
    const translation = translate(
      EDGE,
      service('shop', 80),
      httpRoute('shop', 'edge', [rule('/shop', 'shop')], { hostnames: ['shop.example'] }),
      policy('headers', {
        targetRefs: [target('Gateway', 'edge')],
        traffic: { headerModifiers: { request: { set: [{ name: 'x-gateway', value: 'edge' }] } } }
      })
    )
    const file = `
binds:
- port: 8080
  listeners:
  - name: web
    routes:
    - name: demo.shop
      ruleName: rule0
      hostnames: [shop.example]
      matches: [{ path: { pathPrefix: /shop } }]
      backends: [{ backend: demo.shop_80, weight: 1 }]
policies: { headerModifiers: { request: { set: { x-gateway: edge } } } }
backends:
- { name: demo.shop_80, host: "shop.demo.svc.cluster.local:80" }`
    const loaded = loadConfig(file, {
      ...{ file: 'f', env: {}, policies, backends, processors: 2, memoryBytes: 1024 * 1024 * 1024 },
      prepare: (draft, warn) => prepareBackends(draft, backends, warn)
    })
    ok(loaded.ok, JSON.stringify(loaded))
    deepEqual(draftOf(translation), loaded.snapshot)
  })

  it('name the Services whose endpoints are needed, and where everything stands', () => {
    const translation = translate(EDGE, service('shop'), httpRoute('shop', 'edge', [rule('/', 'shop')]))
    const output = translation.gateways.get('demo/edge')!
    deepEqual([...output.services], ['demo/shop'])
    const places = new Map(output.places())
    equal(places.get('binds[0].listeners[0]'), 'Gateway demo/edge: spec.listeners[0]')
    equal(places.get('binds[0].listeners[0].routes[0]'), 'HTTPRoute demo/shop: spec.rules[0]')
  })
})

describe('one object that is wrong', () => {
  const routes = Array.from({ length: 1000 }, (_, i) => httpRoute(`r${i}`, 'edge', [rule(`/r${i}`, 'shop')]))
  const bad = httpRoute('bad', 'edge', [
    { ...rule('/bad', 'shop'), matches: [{ path: { type: 'RegularExpression', value: '(' } }] },
    rule('/fine', 'shop')
  ])
  const worse = httpRoute('worse', 'edge', [{ matches: [{ path: { type: 'RegularExpression', value: '[' } }] }])

  it('is refused alone among a thousand, rule by rule', () => {
    const translation = translate(EDGE, service('shop'), ...routes, bad, worse)
    const names = draftOf(translation).binds[0]!.listeners[0]!.routes.map(({ name, rule: own }) => `${name}/${own}`)
    equal(names.length, 1001)
    ok(names.includes('demo.bad/rule1'))
    deepEqual(parentTexts(translation, 'bad'), [
      'Accepted=True Accepted',
      'ResolvedRefs=True ResolvedRefs',
      'PartiallyInvalid=True UnsupportedValue'
    ])
    deepEqual(parentTexts(translation, 'worse').slice(0, 1), ['Accepted=False UnsupportedValue'])
    const message = statusOf(translation, 'HTTPRoute', 'worse').parents![0]!.conditions![0]!.message
    ok(message.startsWith('spec.rules[0].matches[0].path'), message)
    equal(statusOf(translation, 'Gateway', 'edge').listeners![0]!.attachedRoutes, 1001)
  })

  it('is refused alone when weir itself stumbles over it', () => {
    const broken = {
      get filters(): never {
        throw new RangeError('of a secret')
      }
    }
    const spec = { parentRefs: [{ name: 'edge' }], rules: [broken] }
    const stumbling = { ...routes[0]!, metadata: { ...routes[0]!.metadata, name: 'stumbling' }, spec }
    const models = {
      ...{ apiVersion: 'weir.dev/v1alpha1', kind: 'GatewayBackend', metadata: { name: 'models', namespace: 'demo' } },
      spec: {
        get ai(): never {
          throw new RangeError('of a secret')
        }
      }
    }
    const toModels = { backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name: 'models' }] }
    const chat = httpRoute('chat', 'edge', [toModels])
    const translation = translate(EDGE, service('shop'), ...routes.slice(0, 3), stumbling, models, chat)
    const specs = draftOf(translation).binds[0]!.listeners[0]!.routes
    deepEqual(specs.map(({ name }) => name).toSorted(), ['demo.chat', 'demo.r0', 'demo.r1', 'demo.r2'])
    equal(draftOf(translation).backends['demo.models']?.kind, 'invalid')
    const ofRoute = statusOf(translation, 'HTTPRoute', 'stumbling').parents![0]!.conditions![0]!
    const ofBackend = statusOf(translation, 'GatewayBackend', 'models').conditions![0]!
    for (const { status, message } of [ofRoute, ofBackend]) {
      equal(status, 'False')
      ok(/a fault of weir \(RangeError\)/.test(message) && !message.includes('secret'), message)
    }
  })

  it('closes what it should guard when it is a policy', () => {
    const guard = policy('guard', {
      targetRefs: [target('HTTPRoute', 'r1')],
      traffic: { transformation: { request: { set: [{ name: 'x', value: 'this is no CEL (' }] } } }
    })
    const translation = translate(EDGE, service('shop'), ...routes.slice(0, 3), guard)
    const specs = draftOf(translation).binds[0]!.listeners[0]!.routes
    equal(specs.length, 3)
    const accepted = conditionTexts(statusOf(translation, 'GatewayPolicy', 'guard').ancestors?.[0])
    ok(
      accepted.some((text) => text.startsWith('Accepted=False')),
      accepted.join()
    )
    deepEqual(parentTexts(translation, 'r1').slice(0, 1), ['Accepted=True Accepted'])
  })
})

describe('a change of one object', () => {
  const objects = [
    EDGE,
    CLASS,
    service('shop'),
    ...['a', 'b', 'c'].map((n) => httpRoute(n, 'edge', [rule(`/${n}`, 'shop')]))
  ]

  function started() {
    const store = ObjectStore.of(objects)
    const translator = new Translator(OPTIONS)
    return { store, translator, first: translator.update(store, null) }
  }

  it('leaves everything else the same object', () => {
    const { store, translator, first } = started()
    const changed = httpRoute('b', 'edge', [rule('/other', 'shop')], {}, { generation: 2 })
    store.set(changed)
    const before = translator.compilations
    const second = translator.update(store, [keyOf(changed)])
    ok(translator.compilations - before <= 2, `${translator.compilations - before} compilations`)
    const [old, now] = [draftOf(first), draftOf(second)]
    notEqual(now, old)
    equal(now.backends, old.backends)
    equal(now.gateway, old.gateway)
    const routes = (draft: typeof old) => draft.binds[0]!.listeners[0]!.routes
    deepEqual(
      routes(now).map((route, i) => route === routes(old)[i]),
      [true, false, true]
    )
    deepEqual([...second.changedStatuses], [keyOf(changed)])
  })

  it('of its status is none', () => {
    const { store, translator, first } = started()
    const same: KubernetesObject = { ...objects[3]!, status: { parents: [] } }
    store.set(same)
    const second = translator.update(store, [keyOf(same)])
    equal(second.gateways, first.gateways)
    deepEqual([...second.changedStatuses], [])
  })
})

it('says at its listeners that a Gateway serves nothing', () => {
  const translation = translate(gateway('edge', []))
  deepEqual(translation.gateways.get('demo/edge')!.warnings, [
    'Gateway demo/edge: spec.listeners: the Gateway has no binds: nothing is served'
  ])
})

it('forgets secrets that nothing needs any more, and keeps those in use', () => {
  const guarded = (i: number) =>
    policy(
      'guard',
      {
        targetRefs: [target('Gateway', 'edge')],
        traffic: { basicAuthentication: { secretRef: { name: `users${i}` } } }
      },
      { generation: i }
    )
  const users = (i: number) => secret(`users${i}`, { '.htaccess': 'ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=' })
  const store = ObjectStore.of([CLASS, EDGE])
  const translator = new Translator(OPTIONS)
  translator.update(store, null)
  for (let i = 1; i <= 600; i++) {
    for (const one of [users(i), guarded(i)]) store.set(one)
    store.delete(`Secret/demo/users${i - 1}`)
    translator.update(store, ['GatewayPolicy/demo/guard', `Secret/demo/users${i}`, `Secret/demo/users${i - 1}`])
  }
  ok(translator.secretCount <= 256, `${translator.secretCount} of 600 are kept`)
  store.delete('Secret/demo/users600')
  const after = translator.update(store, ['Secret/demo/users600'])
  deepEqual(draftOf(after), draftOf(new Translator(OPTIONS).update(store, null)))
})
