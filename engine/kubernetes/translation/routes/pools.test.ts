/** InferencePools behind HTTPRoutes: what is made of them, and what their statuses say. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  object,
  parentTexts,
  policy,
  service,
  statusOf,
  target,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import type { Translation } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'

const GROUP = 'inference.networking.k8s.io'
const EDGE = gateway('edge', [http('web', 80)])
const PICKER = object('Service', 'picker', { spec: { ports: [{ port: 9002 }] } })

const pool = (name: string, spec: Raw = {}, metadata: object = {}): KubernetesObject =>
  object(
    'InferencePool',
    name,
    {
      spec: {
        selector: { matchLabels: { app: name } },
        targetPorts: [{ number: 8000 }],
        endpointPickerRef: { name: 'picker', port: { number: 9002 } },
        ...spec
      }
    },
    metadata
  )

const ref = (name: string, more: Raw = {}): Raw => ({ group: GROUP, kind: 'InferencePool', name, ...more })
const route = (...backendRefs: readonly Raw[]) => httpRoute('chat', 'edge', [{ backendRefs }])

interface Parents {
  readonly parents?: readonly { readonly parentRef: { readonly name: string } }[]
}

const poolTexts = (translation: Translation, name = 'models') =>
  conditionTexts(statusOf(translation, 'InferencePool', name).parents?.[0])

const messages = (translation: Translation, kind: 'InferencePool' | 'HTTPRoute', name: string) =>
  (statusOf(translation, kind, name).parents?.[0]?.conditions ?? []).map(({ message }) => message).join('; ')

/** The reference to a backend in the only route. */
function references(translation: Translation) {
  return draftOf(translation).binds[0]!.listeners[0]!.routes[0]!.backends
}

test('a pool is a list of endpoints, and its picker is asked at the reference, over TLS that is not verified', () => {
  const made = translate(EDGE, PICKER, pool('models'), route(ref('models', { port: 7 })))
  deepEqual(poolTexts(made), ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'])
  deepEqual(parentTexts(made, 'chat'), ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'])
  const { backends } = draftOf(made)
  deepEqual(backends['demo.models_pool'], {
    kind: 'listedPool',
    list: 'models.demo.inference.cluster.local',
    isOpen: false,
    policies: {},
    http: { version: 'HTTP1', requestTimeoutMs: 0 }
  })
  const picker = backends['demo.picker_9002_picker'] as unknown as {
    readonly host: string
    readonly http: { readonly version: string }
    readonly transport: { readonly tls: { readonly verify: unknown } }
  }
  deepEqual([picker.host, picker.http.version], ['picker.demo.svc.cluster.local', 'HTTP2'])
  equal(picker.transport.tls === null, false)
  const [reference] = references(made)
  equal(reference!.backend, 'demo.models_pool')
  const { extProc } = reference!.policies as unknown as { readonly extProc: Raw }
  deepEqual(
    [extProc.service, extProc.statusOnError],
    [{ name: 'demo.picker_9002_picker', at: ['backendRef', 'name'] }, 'own']
  )
  deepEqual(made.gateways.get('demo/edge')!.services, new Set(['demo/picker', 'demo/models.inference']))
})

test('pools beside each other and beside Services have their weights and their own pickers', () => {
  const other = object('Service', 'other', { spec: { ports: [{ port: 9, appProtocol: 'kubernetes.io/h2c' }] } })
  const endpointPickerRef = { name: 'other', port: { number: 9 }, failureMode: 'FailOpen' }
  const made = translate(
    ...[EDGE, PICKER, other, service('shop'), pool('models')],
    pool('more', { endpointPickerRef, appProtocol: 'kubernetes.io/h2c' }),
    pool('plain', { endpointPickerRef: undefined }),
    route(ref('models', { weight: 70 }), ref('more', { weight: 20 }), ref('plain', { weight: 5 }), {
      name: 'shop',
      port: 80,
      weight: 5
    })
  )
  deepEqual(
    references(made).map(({ backend, weight, policies }) => [backend, weight, Object.keys(policies)]),
    [
      ['demo.models_pool', 70, ['extProc']],
      ['demo.more_pool', 20, ['extProc']],
      ['demo.plain_pool', 5, []],
      ['demo.shop_80', 5, []]
    ]
  )
  const { backends } = draftOf(made) as unknown as { readonly backends: Readonly<Record<string, Raw>> }
  deepEqual((backends['demo.more_pool']!.http as Raw).version, 'HTTP2')
  deepEqual([backends['demo.more_pool']!.isOpen, backends['demo.plain_pool']!.isOpen], [true, true])
  // In clear text, as its port says.
  deepEqual(backends['demo.other_9_picker']!.transport, undefined)
  deepEqual(poolTexts(made, 'plain'), ['Accepted=True Accepted', 'ResolvedRefs=True ResolvedRefs'])
})

const WRONG: readonly (readonly [picker: Raw, services: readonly KubernetesObject[], says: RegExp])[] = [
  [{ name: 'gone', port: { number: 9002 } }, [], /there is no Service demo\/gone/],
  [{ name: 'picker', port: { number: 1 } }, [PICKER], /has no port 1 of TCP: it has 9002/],
  [{ name: 'picker' }, [PICKER], /endpointPickerRef.port: is required/],
  [{ name: 'picker', group: 'x.test', kind: 'Picker' }, [PICKER], /x\.test\/Picker is no kind of endpoint picker/],
  [
    { name: 'out', port: { number: 9 } },
    [object('Service', 'out', { spec: { type: 'ExternalName', externalName: 'a.test', ports: [{ port: 9 }] } })],
    /is of type ExternalName/
  ]
]

test('a picker that cannot be asked is told at the pool and the route; the pool answers 500, or is open', () => {
  for (const [endpointPickerRef, services, says] of WRONG) {
    const closed = translate(EDGE, ...services, pool('models', { endpointPickerRef }), route(ref('models')))
    deepEqual(poolTexts(closed), ['Accepted=True Accepted', 'ResolvedRefs=False InvalidExtensionRef'])
    match(messages(closed, 'InferencePool', 'models'), says)
    deepEqual(parentTexts(closed, 'chat'), ['Accepted=True Accepted', 'ResolvedRefs=False BackendNotFound'])
    equal(draftOf(closed).backends['demo.models_pool']!.kind, 'invalid')
    const open = translate(
      ...[EDGE, ...services],
      pool('models', { endpointPickerRef: { ...endpointPickerRef, failureMode: 'FailOpen' } }),
      route(ref('models'))
    )
    equal(draftOf(open).backends['demo.models_pool']!.kind, 'listedPool')
    deepEqual(poolTexts(open), ['Accepted=True Accepted', 'ResolvedRefs=False InvalidExtensionRef'])
  }
})

test('references that cannot be followed have their reasons, and none leads to another namespace without a grant', () => {
  const elsewhere = pool('models', {}, { namespace: 'ai' })
  const cases: readonly (readonly [Raw, string, RegExp])[] = [
    [ref('gone'), 'BackendNotFound', /there is no InferencePool demo\/gone/],
    [ref('models', { namespace: 'ai' }), 'RefNotPermitted', /no ReferenceGrant in namespace ai/],
    [
      ref('models', { group: 'inference.networking.x-k8s.io' }),
      'InvalidKind',
      /write group inference\.networking\.k8s\.io/
    ]
  ]
  for (const [to, reason, says] of cases) {
    const made = translate(EDGE, PICKER, elsewhere, pool('models'), route(to))
    deepEqual(parentTexts(made, 'chat')[1], `ResolvedRefs=False ${reason}`)
    match(messages(made, 'HTTPRoute', 'chat'), says)
  }
  const grant = object(
    'ReferenceGrant',
    'chat',
    {
      spec: {
        from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'demo' }],
        to: [{ group: GROUP, kind: 'InferencePool' }]
      }
    },
    { namespace: 'ai' }
  )
  const picker = object('Service', 'picker', { spec: { ports: [{ port: 9002 }] } }, { namespace: 'ai' })
  const granted = translate(EDGE, picker, elsewhere, grant, route(ref('models', { namespace: 'ai' })))
  deepEqual(parentTexts(granted, 'chat')[1], 'ResolvedRefs=True ResolvedRefs')
})

test('a pool has a parent for each Gateway whose routes lead there, and none when no route does', () => {
  const second = gateway('second', [http('web', 80)])
  const both = translate(
    ...[EDGE, second, PICKER, pool('models'), route(ref('models'))],
    httpRoute('more', 'second', [{ backendRefs: [ref('models')] }])
  )
  const parents = (made: Translation) =>
    ((statusOf(made, 'InferencePool', 'models') as Parents).parents ?? []).map(({ parentRef }) => parentRef.name)
  deepEqual(parents(both), ['edge', 'second'])
  deepEqual(parents(translate(EDGE, PICKER, pool('models'))), [])
})

test('mirrors and policies ask no pool', () => {
  const requestMirror = { backendRef: ref('models') }
  const rule = { filters: [{ type: 'RequestMirror', requestMirror }], backendRefs: [{ name: 'shop', port: 80 }] }
  const made = translate(EDGE, PICKER, service('shop'), pool('models'), httpRoute('chat', 'edge', [rule]))
  deepEqual(parentTexts(made, 'chat')[1], 'ResolvedRefs=False InvalidKind')
  match(messages(made, 'HTTPRoute', 'chat'), /is for backendRefs of HTTPRoute and GRPCRoute alone/)
})

test('a GatewayPolicy for a pool says how its servers are spoken to, and has the Gateway as its ancestor', () => {
  const made = translate(
    ...[EDGE, PICKER, pool('models'), route(ref('models'))],
    policy('patient', {
      targetRefs: [target('InferencePool', 'models')],
      backend: { http: { requestTimeout: '300s' } }
    })
  )
  const backend = draftOf(made).backends['demo.models_pool'] as unknown as { readonly http: Raw }
  deepEqual(conditionTexts(statusOf(made, 'GatewayPolicy', 'patient').ancestors?.[0])[0], 'Accepted=True Accepted')
  equal(backend.http.requestTimeoutMs, 300_000)
})
