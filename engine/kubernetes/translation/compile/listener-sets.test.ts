/** ListenerSets of other namespaces are compiled with the Gateway; what is wrong with one spoils no other listener. */
import { deepEqual, ok } from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import {
  CLASS,
  conditionTexts,
  draftOf,
  gateway,
  http,
  OPTIONS,
  object,
  policy,
  secret,
  statusOf,
  target
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import { type Translation, Translator, type TranslatorOptions } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { selfSigned } from '#engine/testing/certificates.ts'

const TENANT = { namespace: 'tenant' }
const EDGE = gateway('edge', [http('web', 80)], { allowedListeners: { namespaces: { from: 'All' } } })
const set = (name: string, listeners: readonly Raw[], namespace = 'tenant') =>
  object('ListenerSet', name, { spec: { parentRef: { name: 'edge', namespace: 'demo' }, listeners } }, { namespace })
/** Of a third namespace. */
const NEIGHBOUR = set('neighbour', [http('a', 90), http('b', 80, { hostname: 'neighbour.example' })], 'third')
const INNOCENT = ['web', 'third.neighbour_a', 'third.neighbour_b']

function translate(objects: readonly KubernetesObject[], options: TranslatorOptions = OPTIONS): Translation {
  return new Translator(options).update(ObjectStore.of([CLASS, EDGE, NEIGHBOUR, ...objects]), null)
}

const served = (translation: Translation): string[] =>
  draftOf(translation).binds.flatMap((bind) => bind.listeners.map(({ name }) => name))

const PAIR = selfSigned(['a.example'])
const TLS = { certificateRefs: [{ name: 'tls' }] }

const WRONG: readonly (readonly [what: string, objects: readonly KubernetesObject[]])[] = [
  ['a certificate that is not there', [set('x', [{ name: 'a', port: 443, protocol: 'HTTPS', tls: TLS }])]],
  [
    'a certificate that is none',
    [
      set('x', [{ name: 'a', port: 443, protocol: 'HTTPS', tls: TLS }]),
      secret('tls', { 'tls.crt': 'none', 'tls.key': 'none' }, TENANT)
    ]
  ],
  [
    'a chain of a thousand certificates, sixty-four times at each of its listeners',
    [
      set(
        'x',
        Array.from({ length: 64 }, (_, i) => ({
          ...{ name: `l${i}`, port: 443, protocol: 'HTTPS', hostname: `h${i}.example` },
          tls: { certificateRefs: Array.from({ length: 64 }, () => ({ name: 'tls' })) }
        }))
      ),
      secret('tls', { 'tls.crt': PAIR.cert.repeat(1000), 'tls.key': PAIR.key }, TENANT)
    ]
  ],
  [
    "a certificate of the Gateway's namespace",
    [
      set('x', [
        {
          ...{ name: 'a', port: 443, protocol: 'HTTPS' },
          tls: { certificateRefs: [{ name: 'tls', namespace: 'demo' }] }
        }
      ]),
      secret('tls', { 'tls.crt': 'none', 'tls.key': 'none' })
    ]
  ],
  ['the port and host of the Gateway', [set('x', [http('a', 80)])]],
  ['the port of the Gateway with another protocol', [set('x', [{ name: 'a', port: 80, protocol: 'TCP' }])]],
  ['a host that is none', [set('x', [http('a', 80, { hostname: 'a..b/' })])]],
  ['a port that is none', [set('x', [http('a', 70_000)])]],
  ['no protocol', [set('x', [{ name: 'a', port: 91 }])]],
  ['no listeners', [set('x', null as unknown as Raw[])]]
]

describe('a ListenerSet of another namespace with', () => {
  for (const [what, objects] of WRONG) {
    it(`${what} is refused alone`, () => {
      const translation = translate(objects)
      deepEqual(served(translation).toSorted(), INNOCENT.toSorted())
      const accepted = conditionTexts(statusOf(translation, 'Gateway', 'edge'))
      deepEqual(accepted.slice(0, 2), ['Accepted=True Accepted', 'Programmed=True Programmed'])
      deepEqual(conditionTexts(statusOf(translation, 'ListenerSet', 'neighbour', 'third')).slice(0, 1), [
        'Accepted=True Accepted'
      ])
    })
  }

  it('a policy that cannot be carried out is closed alone', () => {
    const wrong = { basicAuthentication: { secretRef: { name: 'users' } } }
    const translation = translate([
      set('x', [http('a', 91)]),
      secret('users', { '.htaccess': 'no-colon-in-this-line' }, TENANT),
      policy('wrong', { targetRefs: [target('ListenerSet', 'x')], traffic: wrong }, TENANT)
    ])
    deepEqual(served(translation).toSorted(), [...INNOCENT, 'tenant.x_a'].toSorted())
    const guarded = draftOf(translation).binds.flatMap((bind) =>
      bind.listeners.filter(({ policies }) => Object.keys(policies).length > 0).map(({ name }) => name)
    )
    deepEqual(guarded, ['tenant.x_a'])
  })

  it('listeners over which the compiler stumbles, or of which it never says who is wrong, is refused alone', () => {
    const stumbling: TranslatorOptions = {
      ...OPTIONS,
      prepare: (draft, warn) => {
        const names = draft.binds.flatMap((bind) => bind.listeners.map(({ name }) => name))
        if (names.some((name) => name?.startsWith('tenant.x_'))) throw new RangeError('no place')
        return OPTIONS.prepare!(draft, warn)
      }
    }
    const others = ['y', 'z', 'w'].map((name, i) => set(name, [http('a', 100 + i)]))
    const translation = translate([set('x', [http('a', 91), http('b', 92)]), ...others], stumbling)
    const expected = [...INNOCENT, ...['w', 'y', 'z'].map((name) => `tenant.${name}_a`)]
    deepEqual(served(translation).toSorted(), expected.toSorted())
    const status = statusOf(translation, 'ListenerSet', 'x', 'tenant')
    deepEqual(conditionTexts(status).slice(0, 2), [
      'Accepted=False ListenersNotValid',
      'Programmed=False ListenersNotValid'
    ])
    const { message } = status.listeners![0]!.conditions![0]!
    ok(message.includes('a fault of weir'), message)
  })
})
