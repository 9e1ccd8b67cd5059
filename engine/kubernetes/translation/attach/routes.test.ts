/** Which routes stand at which listeners, with which hosts, and why not. */
import { deepEqual, equal } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  draftOf,
  gateway,
  http,
  httpRoute,
  listenerSet,
  object,
  parentTexts,
  rule,
  service,
  statusOf,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import type { Raw } from '#engine/schema/placed.ts'

const RULES = [rule('/', 'shop')]
const from = (namespaces: Raw) => ({ allowedRoutes: { namespaces } })

interface Row {
  readonly name: string
  readonly listeners: readonly Raw[]
  readonly parent: Raw
  readonly hostnames?: readonly string[]
  readonly metadata?: object
  readonly kind?: 'GRPCRoute' | 'TLSRoute'
  readonly more?: readonly KubernetesObject[]
  /** Reason of Accepted. */
  readonly reason?: string
  /** "listener: hosts" where it stands. */
  readonly at: readonly string[]
}

const OTHER = { namespace: 'other' }
const EDGE = { name: 'edge', namespace: 'demo' }

const ROWS: readonly Row[] = [
  {
    name: 'all listeners of a Gateway',
    listeners: [http('a', 80), http('b', 81)],
    parent: { name: 'edge' },
    at: ['a: ', 'b: ']
  },
  {
    name: 'one section',
    listeners: [http('a', 80), http('b', 81)],
    parent: { ...EDGE, sectionName: 'b' },
    at: ['b: ']
  },
  { name: 'one port', listeners: [http('a', 80), http('b', 81)], parent: { ...EDGE, port: 80 }, at: ['a: '] },
  {
    name: 'a section with another port',
    listeners: [http('a', 80), http('b', 81)],
    parent: { ...EDGE, sectionName: 'a', port: 81 },
    reason: 'NoMatchingParent',
    at: []
  },
  {
    name: 'a section that is not there',
    listeners: [http('a', 80)],
    parent: { ...EDGE, sectionName: 'z' },
    reason: 'NoMatchingParent',
    at: []
  },
  {
    name: 'another namespace, which listeners do not let in',
    listeners: [http('a', 80)],
    parent: EDGE,
    metadata: OTHER,
    reason: 'NotAllowedByListeners',
    at: []
  },
  {
    name: 'another namespace, which one listener lets in',
    listeners: [http('a', 80), http('b', 81, from({ from: 'All' }))],
    parent: EDGE,
    metadata: OTHER,
    at: ['b: ']
  },
  {
    name: 'a namespace with a label',
    listeners: [http('a', 80, from({ from: 'Selector', selector: { matchLabels: { team: 'shop' } } }))],
    parent: EDGE,
    metadata: OTHER,
    more: [object('Namespace', 'other', {}, { labels: { team: 'shop' } })],
    at: ['a: ']
  },
  {
    name: 'a namespace without the label',
    listeners: [
      http(
        'a',
        80,
        from({ from: 'Selector', selector: { matchExpressions: [{ key: 'team', operator: 'In', values: ['shop'] }] } })
      )
    ],
    parent: EDGE,
    metadata: OTHER,
    reason: 'NotAllowedByListeners',
    at: []
  },
  {
    name: 'a kind that is not that of the protocol',
    listeners: [http('a', 80)],
    parent: EDGE,
    kind: 'TLSRoute',
    reason: 'NotAllowedByListeners',
    at: []
  },
  {
    name: 'a kind that the listener does not have',
    listeners: [http('a', 80, { allowedRoutes: { kinds: [{ kind: 'GRPCRoute' }] } })],
    parent: EDGE,
    reason: 'NotAllowedByListeners',
    at: []
  },
  {
    name: 'hosts in common',
    listeners: [
      http('exact', 80, { hostname: 'very.specific.com' }),
      http('wild', 81, { hostname: '*.wildcard.io' }),
      http('other', 82, { hostname: 'other.com' }),
      http('any', 83)
    ],
    parent: EDGE,
    hostnames: ['*.specific.com', 'Foo.wildcard.io', '*.bar.wildcard.io', 'wildcard.io'],
    at: [
      'exact: very.specific.com',
      'wild: foo.wildcard.io *.bar.wildcard.io',
      'any: *.specific.com foo.wildcard.io *.bar.wildcard.io wildcard.io'
    ]
  },
  {
    name: 'no host in common',
    listeners: [http('a', 80, { hostname: 'very.specific.com' })],
    parent: EDGE,
    hostnames: ['specific.com', '*.very.specific.com'],
    reason: 'NoMatchingListenerHostname',
    at: []
  },
  {
    name: 'a ListenerSet and not its Gateway',
    listeners: [http('a', 80)],
    parent: { kind: 'ListenerSet', name: 'set', namespace: 'demo' },
    more: [listenerSet('set', 'edge', [http('a', 81)])],
    at: ['demo.set_a: ']
  },
  {
    name: 'a Gateway and not its ListenerSet',
    listeners: [http('a', 80)],
    parent: EDGE,
    more: [listenerSet('set', 'edge', [http('a', 81)])],
    at: ['a: ']
  }
]

describe('a route', () => {
  for (const { name, listeners, parent, hostnames, metadata, kind, more = [], reason = 'Accepted', at } of ROWS) {
    it(`with ${name}`, () => {
      const edge = gateway('edge', listeners, { allowedListeners: { namespaces: { from: 'Same' } } })
      const route = httpRoute('shop', parent, RULES, hostnames === undefined ? {} : { hostnames }, metadata)
      const own = kind === undefined ? route : { ...route, kind }
      const namespace = route.metadata.namespace
      const translation = translate(edge, service('shop', 80, { namespace }), own, ...more)
      const [status] = statusOf(translation, kind ?? 'HTTPRoute', 'shop', namespace).parents ?? []
      const accepted = status?.conditions?.find(({ type }) => type === 'Accepted')
      equal(accepted?.reason, reason, accepted?.message)
      const all = draftOf(translation).binds.flatMap((bind) => bind.listeners)
      const found = all.flatMap((one) => one.routes.map((spec) => `${one.name}: ${spec.hostnames.join(' ')}`))
      deepEqual(found, at)
      const counts = ['Gateway', 'ListenerSet'] as const
      const attached = counts.flatMap(
        (owner) => statusOf(translation, owner, owner === 'Gateway' ? 'edge' : 'set').listeners ?? []
      )
      equal(
        attached.reduce((sum, { attachedRoutes }) => sum + attachedRoutes, 0),
        at.length
      )
    })
  }

  it('of another controller has no status of this one', () => {
    const translation = translate(
      object('GatewayClass', 'foreign', { spec: { controllerName: 'example.com/controller' } }),
      gateway('edge', [http('a', 80)], { gatewayClassName: 'foreign' }),
      httpRoute('shop', 'edge', RULES)
    )
    deepEqual([...translation.statuses.keys()], ['GatewayClass//weir'])
    equal(translation.gateways.size, 0)
  })

  it('that is older comes first where both match, and then the one whose name does', () => {
    const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })
    const translation = translate(
      gateway('edge', [http('a', 80)]),
      service('shop'),
      httpRoute('a', 'edge', RULES, {}, at(2)),
      httpRoute('z', 'edge', RULES, {}, at(1)),
      httpRoute('b', 'edge', RULES, {}, at(1))
    )
    const names = draftOf(translation).binds[0]!.listeners[0]!.routes.map(({ name }) => name)
    deepEqual(names, ['demo.b', 'demo.z', 'demo.a'])
  })

  it('that refers to what is not there says so, and answers 500 for its weight', () => {
    const rules = [
      {
        backendRefs: [
          { name: 'lost', port: 80 },
          { name: 'shop', port: 80 }
        ]
      }
    ]
    const translation = translate(gateway('edge', [http('a', 80)]), service('shop'), httpRoute('shop', 'edge', rules))
    deepEqual(parentTexts(translation, 'shop'), ['Accepted=True Accepted', 'ResolvedRefs=False BackendNotFound'])
    const { binds, backends } = draftOf(translation)
    const kinds = binds[0]!.listeners[0]!.routes[0]!.backends.map(({ backend }) => backends[backend]!.kind)
    deepEqual(kinds, ['invalid', 'static'])
  })
})
