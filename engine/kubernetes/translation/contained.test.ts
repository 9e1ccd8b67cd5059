/** Whatever field of whatever object weir stumbles over: the object is refused, and all others are as they were. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import type { Path } from '#engine/schema/placed.ts'
import {
  CLASS,
  draftOf,
  gateway,
  http,
  httpRoute,
  listenerSet,
  OPTIONS,
  object,
  policy,
  rule,
  secret,
  service,
  target
} from './cluster.fixture.ts'
import { stumbleOf } from './contained.ts'
import { type Translation, Translator } from './index.ts'
import type { Fault } from './parts.ts'

const OTHER = { namespace: 'other' }
const toModels = { backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name: 'models' }] }
const selected = { services: { matchLabels: { speaks: 'mcp' } } }

/** Objects of which nothing else is made: what is wrong with one of them shows nowhere else. */
const STEADY = [
  gateway('steady', [http('web', 8081)], {}, OTHER),
  service('steady', 80, OTHER),
  httpRoute('steady', 'steady', [rule('/', 'steady')], {}, OTHER),
  service('shop'),
  httpRoute('neighbour', 'edge', [rule('/neighbour', 'shop')], { hostnames: ['neighbour.example'] })
]

/** Each kind, with fields that lead through most of the translation. */
const CLUSTER = [
  object('GatewayClass', 'spare', { spec: { controllerName: 'weir.dev/gateway-controller' } }),
  gateway('spare', [http('web', 8082)], { gatewayClassName: 'spare' }),
  listenerSet('more', 'edge', [http('extra', 8083, { hostname: 'more.example' })]),
  httpRoute('catalogue', 'edge', [rule('/catalogue', 'catalogue')], { hostnames: ['catalogue.example'] }),
  httpRoute('chat', 'edge', [toModels]),
  object('GRPCRoute', 'calls', {
    spec: { parentRefs: [{ name: 'edge' }], rules: [{ backendRefs: [{ name: 'catalogue', port: 80 }] }] }
  }),
  object('TLSRoute', 'passed', {
    spec: {
      parentRefs: [{ name: 'edge', sectionName: 'tls' }],
      hostnames: ['passed.example'],
      rules: [{ backendRefs: [{ name: 'catalogue', port: 80 }] }]
    }
  }),
  object('TCPRoute', 'bytes', {
    spec: {
      parentRefs: [{ name: 'edge', sectionName: 'tcp' }],
      rules: [{ backendRefs: [{ name: 'catalogue', port: 80 }] }]
    }
  }),
  object('ReferenceGrant', 'grant', {
    spec: { from: [{ group: '', kind: 'Service', namespace: 'demo' }], to: [{ group: '', kind: 'Service' }] }
  }),
  service('catalogue', 80, { labels: { speaks: 'mcp' } }),
  object('BackendTLSPolicy', 'secured', {
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'catalogue' }],
      validation: { hostname: 'catalogue.example', wellKnownCACertificates: 'System' }
    }
  }),
  object('GatewayBackend', 'models', { spec: { static: { host: 'models.example', port: 443 } } }),
  object('GatewayBackend', 'tools', { spec: { mcp: { targets: [{ name: 'all', selector: selected }] } } }),
  policy('guard', {
    targetRefs: [target('HTTPRoute', 'catalogue')],
    traffic: { basicAuthentication: { secretRef: { name: 'users' } } }
  }),
  policy('headers', {
    targetSelectors: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', matchLabels: { team: 'a' } }],
    traffic: { headerModifiers: { request: { set: [{ name: 'x', value: 'y' }] } } }
  }),
  secret('users', { '.htaccess': 'ann:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=' }),
  object('ConfigMap', 'roots', { data: { 'ca.crt': 'none' } }),
  object('GatewayParameters', 'edge', { spec: { rawConfig: { policies: { timeout: { requestTimeout: '5s' } } } } })
]

const EDGE = gateway(
  'edge',
  [
    http('web', 8080),
    { name: 'tls', port: 8443, protocol: 'TLS', tls: { mode: 'Passthrough' } },
    { name: 'tcp', port: 8444, protocol: 'TCP' }
  ],
  {
    allowedListeners: { namespaces: { from: 'All' } },
    infrastructure: { parametersRef: { group: 'weir.dev', kind: 'GatewayParameters', name: 'edge' } }
  }
)

function run(objects: readonly KubernetesObject[]): Translation & { readonly stumbles: readonly Fault[] } {
  const translator = new Translator(OPTIONS)
  const translation = translator.update(ObjectStore.of([CLASS, ...objects]), null)
  return { ...translation, stumbles: translator.stumbles.take() }
}

/** Of a route or a policy of which nobody knows what it is for. */
const NO_STATUS = ['""', '{"ancestors":[]}', '{"parents":[]}']

/** All paths in the fields of an object that the translation may read. */
function pathsOf({ apiVersion: _, kind: __, metadata: ___, ...fields }: KubernetesObject): Path[] {
  const inside = (value: unknown, at: Path): Path[] => {
    if (typeof value !== 'object' || value === null) return [at]
    const inner = Object.entries(value).flatMap(([key, one]) => inside(one, [...at, key]))
    return at.length === 0 ? inner : [at, ...inner]
  }
  return inside(fields, [])
}

/** A copy in which the field at `path` throws. `read`: called when it is read. */
function broken(value: unknown, [key, ...rest]: Path, read: () => void): unknown {
  const copy: object = Array.isArray(value) ? [...value] : { ...(value as object) }
  const below = Reflect.get(copy, key!)
  const get = (): never => {
    read()
    throw new RangeError('what the field holds')
  }
  if (rest.length > 0) Reflect.set(copy, key!, broken(below, rest, read))
  else Object.defineProperty(copy, key!, { get, enumerable: true, configurable: true })
  return copy
}

const steadyOf = (translation: Translation) => {
  const { binds, backends } = translation.gateways.get('other/steady')!.draft
  return { binds, backends, status: translation.statuses.get('Gateway/other/steady') }
}

describe('an object with a field over which weir stumbles', () => {
  const good = [EDGE, ...STEADY, ...CLUSTER]
  const whole = steadyOf(run(good))
  for (const bad of [...CLUSTER, EDGE]) {
    it(`is refused alone: ${keyOf(bad)}`, () => {
      for (const path of pathsOf(bad)) {
        const where = `${keyOf(bad)} ${path.join('.')}`
        let reads = 0
        const spoiled = broken(bad, path, () => reads++) as KubernetesObject
        const translation = run(good.map((one) => (one === bad ? spoiled : one)))
        deepEqual(steadyOf(translation), whole, where)
        if (bad !== EDGE) {
          const { routes } = draftOf(translation).binds.find(({ port }) => port === 8080)!.listeners[0]!
          ok(
            routes.some(({ name }) => name === 'demo.neighbour'),
            where
          )
        }
        if (reads === 0) continue
        const status = JSON.stringify(translation.statuses.get(keyOf(bad)) ?? '')
        const { stumbles } = translation
        deepEqual(
          stumbles.map(({ place }) => place.key),
          [keyOf(bad)],
          where
        )
        if (!NO_STATUS.includes(status)) ok(/a fault of weir \(RangeError\)/.test(status), `${where}: ${status}`)
        equal(`${status} ${JSON.stringify(stumbles)}`.includes('what the field holds'), false, where)
      }
    })
  }
})

it('two translations in one process tell of their own objects, and each of one that both have', () => {
  const spoiled = broken(
    policy('spoiled', { targetRefs: [target('Gateway', 'edge')], traffic: {} }),
    ['spec'],
    () => {}
  )
  const [one, other, sound] = [new Translator(OPTIONS), new Translator(OPTIONS), new Translator(OPTIONS)]
  const store = ObjectStore.of([CLASS, EDGE, spoiled as KubernetesObject])
  const steady = ObjectStore.of([CLASS, EDGE])
  const statuses = [one, other].map((translator) => translator.update(store, null).statuses)
  sound.update(steady, null)
  deepEqual(statuses[0], statuses[1])
  const keysOf = ({ stumbles }: Translator) => stumbles.take().map(({ place }) => place.key)
  deepEqual([one, other, sound].map(keysOf), [['GatewayPolicy/demo/spoiled'], ['GatewayPolicy/demo/spoiled'], []])
  one.update(store, [keyOf(EDGE)])
  deepEqual(keysOf(one), [], 'each is told once')
  equal(stumbleOf(spoiled as KubernetesObject), null, 'no translation runs now')
})
