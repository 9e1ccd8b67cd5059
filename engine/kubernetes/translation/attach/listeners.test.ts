/** Listeners that cannot be carried out, each with the conditions that the Gateway API has for it. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { describe, it, test } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import {
  conditionTexts,
  draftOf,
  gateway,
  http,
  httpRoute,
  listenerSet,
  object,
  secret,
  statusOf,
  translate
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { selfSigned } from '#engine/testing/certificates.ts'

const pair = selfSigned(['a.example'])
const TLS = secret('tls', { 'tls.crt': pair.cert, 'tls.key': pair.key })
const REF = { certificateRefs: [{ name: 'tls' }] }

const GOOD = ['Accepted=True Accepted', 'Programmed=True Programmed', 'ResolvedRefs=True ResolvedRefs']
const NONE = 'Conflicted=False NoConflicts'
const conflict = (reason: string) => [
  `Accepted=False ${reason}`,
  `Programmed=False ${reason}`,
  'ResolvedRefs=True ResolvedRefs',
  `Conflicted=True ${reason}`
]

interface Row {
  readonly name: string
  readonly listeners: readonly Raw[]
  /** By listeners: all conditions. */
  readonly expected: readonly (readonly string[])[]
  /** Of the Gateway: Accepted. */
  readonly accepted?: string
  readonly spec?: Raw
  readonly more?: readonly KubernetesObject[]
}

const ROWS: readonly Row[] = [
  { name: 'in order', listeners: [http('a', 80)], expected: [[...GOOD, NONE]] },
  {
    name: 'one protocol that is not supported',
    listeners: [http('a', 80), { name: 'b', port: 81, protocol: 'UDP' }],
    expected: [
      [...GOOD, NONE],
      ['Accepted=False UnsupportedProtocol', 'Programmed=False Invalid', 'ResolvedRefs=True ResolvedRefs', NONE]
    ],
    accepted: 'Accepted=True ListenersNotValid'
  },
  {
    name: 'no protocol that is supported',
    listeners: [{ name: 'b', port: 81, protocol: 'UDP' }],
    expected: [
      ['Accepted=False UnsupportedProtocol', 'Programmed=False Invalid', 'ResolvedRefs=True ResolvedRefs', NONE]
    ],
    accepted: 'Accepted=False ListenersNotValid'
  },
  {
    name: 'kinds of routes of another protocol',
    listeners: [http('a', 80, { allowedRoutes: { kinds: [{ kind: 'TLSRoute' }] } })],
    expected: [[GOOD[0]!, GOOD[1]!, 'ResolvedRefs=False InvalidRouteKinds', NONE]],
    accepted: 'Accepted=True ListenersNotValid'
  },
  {
    name: 'clear text and TLS on one port',
    listeners: [http('a', 80), { name: 'b', port: 80, protocol: 'HTTPS', tls: REF }, http('c', 81)],
    expected: [conflict('ProtocolConflict'), conflict('ProtocolConflict'), [...GOOD, NONE]],
    accepted: 'Accepted=True ListenersNotValid',
    more: [TLS]
  },
  {
    name: 'the same host twice',
    listeners: [http('a', 80, { hostname: 'A.example' }), http('b', 80, { hostname: 'a.example' })],
    expected: [conflict('HostnameConflict'), conflict('HostnameConflict')],
    accepted: 'Accepted=False ListenersNotValid'
  },
  {
    name: 'TCP beside HTTP',
    listeners: [http('a', 80), { name: 'b', port: 80, protocol: 'TCP' }],
    expected: [conflict('ProtocolConflict'), conflict('ProtocolConflict')],
    accepted: 'Accepted=False ListenersNotValid'
  },
  {
    name: 'hosts of TLS that overlap',
    listeners: [
      { name: 'a', port: 443, protocol: 'HTTPS', tls: REF, hostname: '*.example' },
      { name: 'b', port: 443, protocol: 'HTTPS', tls: REF, hostname: 'a.example' }
    ],
    expected: [0, 1].map(() => [...GOOD, NONE, 'OverlappingTLSConfig=True OverlappingHostnames']),
    accepted: 'Accepted=True Accepted',
    more: [TLS]
  },
  {
    name: 'a port of the gateway itself',
    listeners: [http('a', 15_020), http('b', 80)],
    expected: [
      ['Accepted=False PortUnavailable', 'Programmed=False PortUnavailable', GOOD[2]!, NONE],
      [...GOOD, NONE]
    ],
    accepted: 'Accepted=True ListenersNotValid'
  },
  ...[
    { name: 'a Secret that is not there', ref: { name: 'lost' }, reason: 'InvalidCertificateRef' },
    { name: 'a Secret of another namespace', ref: { name: 'tls', namespace: 'other' }, reason: 'RefNotPermitted' },
    { name: 'a certificate of another kind', ref: { name: 'tls', kind: 'Pod' }, reason: 'InvalidCertificateRef' },
    { name: 'a Secret of something else', ref: { name: 'bad' }, reason: 'InvalidCertificateRef' }
  ].map(({ name, ref, reason }) => ({
    name,
    listeners: [{ name: 'a', port: 443, protocol: 'HTTPS', tls: { certificateRefs: [ref] } }],
    expected: [[GOOD[0]!, 'Programmed=False Invalid', `ResolvedRefs=False ${reason}`, NONE]],
    more: [TLS, secret('bad', { 'tls.crt': 'x', 'tls.key': 'y' })]
  })),
  {
    name: 'authorities for clients that are not there',
    listeners: [{ name: 'a', port: 443, protocol: 'HTTPS', tls: REF }, http('b', 80)],
    spec: {
      tls: { frontend: { default: { validation: { caCertificateRefs: [{ kind: 'ConfigMap', name: 'lost' }] } } } }
    },
    expected: [
      [
        'Accepted=False NoValidCACertificate',
        'Programmed=False NoValidCACertificate',
        'ResolvedRefs=False InvalidCACertificateRef',
        NONE
      ],
      [...GOOD, NONE]
    ],
    more: [TLS]
  },
  {
    name: 'authorities for clients of a port',
    listeners: [{ name: 'a', port: 443, protocol: 'HTTPS', tls: REF }],
    spec: {
      tls: {
        frontend: {
          default: { validation: { caCertificateRefs: [{ kind: 'ConfigMap', name: 'lost' }] } },
          perPort: [{ port: 443, tls: { validation: { caCertificateRefs: [{ kind: 'ConfigMap', name: 'ca' }] } } }]
        }
      }
    },
    expected: [[...GOOD, NONE]],
    more: [TLS, object('ConfigMap', 'ca', { data: { 'ca.crt': pair.cert } })]
  }
]

describe('listeners of a Gateway', () => {
  for (const { name, listeners, expected, accepted, spec, more = [] } of ROWS) {
    it(name, () => {
      const translation = translate(gateway('edge', listeners, spec), ...more)
      const status = statusOf(translation, 'Gateway', 'edge')
      deepEqual(status.listeners!.map(conditionTexts), expected)
      if (accepted !== undefined) equal(conditionTexts(status)[0], accepted)
      const served = expected.filter((texts) => texts[1] === GOOD[1]).length
      equal(draftOf(translation).binds.flatMap((bind) => bind.listeners).length, served)
    })
  }

  it('ask clients for certificates of the authorities, but for those that are let in anyway', () => {
    const validation = (mode: string) => ({
      tls: { frontend: { default: { validation: { mode, caCertificateRefs: [{ kind: 'ConfigMap', name: 'ca' }] } } } }
    })
    const of = (mode: string) => {
      const edge = gateway('edge', [{ name: 'a', port: 443, protocol: 'HTTPS', tls: REF }], validation(mode))
      return translate(edge, TLS, object('ConfigMap', 'ca', { data: { 'ca.crt': pair.cert } }))
    }
    const validationOf = (translation: ReturnType<typeof of>) => {
      const { clientCa, allowsUnverified } = draftOf(translation).binds[0]!.listeners[0]!.tls!
      return { clientCa, allowsUnverified }
    }
    deepEqual(validationOf(of('AllowValidOnly')), { clientCa: pair.cert, allowsUnverified: undefined })
    const open = of('AllowInsecureFallback')
    deepEqual(validationOf(open), { clientCa: pair.cert, allowsUnverified: true })
    const texts = conditionTexts(statusOf(open, 'Gateway', 'edge'))
    equal(texts.at(-1), 'InsecureFrontendValidationMode=True ConfigurationChanged')
  })

  it('show all certificates that can be used, and say which cannot', () => {
    const refs = ['lost', 'tls', 'mixed', 'rsa'].map((name) => ({ name }))
    const listeners = [{ name: 'a', port: 443, protocol: 'HTTPS', tls: { certificateRefs: refs } }]
    const rsa = selfSigned(['a.example'], 'rsa')
    const translation = translate(
      gateway('edge', listeners),
      TLS,
      secret('mixed', { 'tls.crt': pair.cert, 'tls.key': rsa.key }),
      secret('rsa', { 'tls.crt': rsa.cert, 'tls.key': rsa.key })
    )
    const { cert, additionalCertificates } = draftOf(translation).binds[0]!.listeners[0]!.tls!
    deepEqual([cert, additionalCertificates!.map((one) => one.cert)], [pair.cert, [rsa.cert]])
    const [status] = statusOf(translation, 'Gateway', 'edge').listeners!
    deepEqual(conditionTexts(status!), [GOOD[0], GOOD[1], 'ResolvedRefs=False InvalidCertificateRef', NONE])
    const message = status!.conditions!.find(({ type }) => type === 'ResolvedRefs')!.message
    match(message, /there is no Secret demo\/lost/)
    match(message, /tls\.key of Secret demo\/mixed is not the key of the first certificate in tls\.crt/)
  })

  it('take a Secret of another namespace that a ReferenceGrant lets them have', () => {
    const ref = { certificateRefs: [{ name: 'tls', namespace: 'other' }] }
    const spec = {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'demo' }],
      to: [{ group: '', kind: 'Secret' }]
    }
    const translation = translate(
      gateway('edge', [{ name: 'a', port: 443, protocol: 'HTTPS', tls: ref }]),
      secret('tls', { 'tls.crt': pair.cert, 'tls.key': pair.key }, { namespace: 'other' }),
      object('ReferenceGrant', 'let', { spec }, { namespace: 'other' })
    )
    deepEqual(statusOf(translation, 'Gateway', 'edge').listeners!.map(conditionTexts), [[...GOOD, NONE]])
  })
})

describe('ListenerSets', () => {
  const allowed = { allowedListeners: { namespaces: { from: 'Same' } } }

  it('are attached only where the Gateway lets them', () => {
    const translation = translate(gateway('edge', [http('a', 80)]), listenerSet('set', 'edge', [http('b', 81)]))
    const status = statusOf(translation, 'ListenerSet', 'set')
    deepEqual(conditionTexts(status), ['Accepted=False NotAllowed', 'Programmed=False NotAllowed'])
    deepEqual(status.listeners, [])
    equal(statusOf(translation, 'Gateway', 'edge').attachedListenerSets, 0)
  })

  it('lose conflicts with the Gateway and with older ones, and nobody else does', () => {
    const at = (second: number) => ({ creationTimestamp: `2026-01-01T00:00:0${second}Z` })
    const translation = translate(
      gateway('edge', [http('a', 80, { hostname: 'a.example' })], allowed),
      listenerSet('young', 'edge', [http('b', 80, { hostname: 'b.example' })], at(2)),
      listenerSet(
        'old',
        'edge',
        [
          http('a', 80, { hostname: 'a.example' }),
          http('b', 80, { hostname: 'b.example' }),
          { name: 't', port: 80, protocol: 'TCP' }
        ],
        at(1)
      )
    )
    const listeners = (kind: 'Gateway' | 'ListenerSet', name: string) =>
      statusOf(translation, kind, name).listeners!.map(conditionTexts)
    deepEqual(listeners('Gateway', 'edge'), [[...GOOD, NONE]])
    deepEqual(listeners('ListenerSet', 'old'), [
      conflict('HostnameConflict'),
      [...GOOD, NONE],
      conflict('ProtocolConflict')
    ])
    deepEqual(listeners('ListenerSet', 'young'), [conflict('HostnameConflict')])
    deepEqual(conditionTexts(statusOf(translation, 'ListenerSet', 'old')), [
      'Accepted=True ListenersNotValid',
      'Programmed=True Programmed'
    ])
    deepEqual(conditionTexts(statusOf(translation, 'ListenerSet', 'young')), [
      'Accepted=False ListenersNotValid',
      'Programmed=False ListenersNotValid'
    ])
    equal(statusOf(translation, 'Gateway', 'edge').attachedListenerSets, 1)
    const names = draftOf(translation).binds[0]!.listeners.map(({ name }) => name)
    deepEqual(names, ['a', 'demo.old_b'])
  })
})

test('names may be as long as Kubernetes lets them be', () => {
  const long = (length: number) => 'a'.repeat(length)
  const namespace = long(63)
  const meta = { namespace }
  const owner = { parentRef: { name: 'edge', namespace: 'demo' } }
  const set = object('ListenerSet', long(253), { spec: { ...owner, listeners: [http(long(253), 80)] } }, meta)
  const ofBackend = { name: long(253), namespace, group: 'weir.dev', kind: 'GatewayBackend' }
  const parent = { name: long(253), kind: 'ListenerSet' }
  const rules = [{ name: long(253), backendRefs: [ofBackend, { ...ofBackend, name: long(252) }] }]
  const translation = translate(
    gateway('edge', [http('a', 81)], { allowedListeners: { namespaces: { from: 'All' } } }),
    set,
    httpRoute(long(253), parent, rules, {}, meta),
    object('GatewayBackend', long(253), { spec: { static: { host: 'a.test', port: 80 } } }, meta)
  )
  deepEqual(statusOf(translation, 'ListenerSet', long(253), namespace).listeners!.map(conditionTexts), [
    [...GOOD, NONE]
  ])
  const { binds, backends } = draftOf(translation)
  const [route] = binds.flatMap(({ listeners }) => listeners).flatMap(({ routes }) => routes)
  equal(route!.name, `${namespace}.${long(253)}`)
  deepEqual(
    Object.keys(backends).map(({ length }) => length),
    [317, 63 + 1 + 252 + '_GatewayBackend_invalid_BackendNotFound'.length]
  )
})
