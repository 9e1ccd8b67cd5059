/** A GatewayPolicy that changes costs what it is for, before and behind the change, and nothing else. */
import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import {
  CLASS,
  draftOf,
  gateway,
  http,
  httpRoute,
  OPTIONS,
  policy,
  rule,
  service,
  target
} from '#engine/kubernetes/translation/cluster.fixture.ts'
import { Translator } from '#engine/kubernetes/translation/index.ts'
import type { Raw } from '#engine/schema/placed.ts'

const ROUTES = 20
let generation = 1
const next = () => ({ generation: ++generation })
const route = (i: number, labels: object = {}) =>
  httpRoute(`r${i}`, 'edge', [rule(`/r${i}`, 'shop')], { hostnames: [`h${i}.example`] }, { labels, ...next() })
const header = (value: string): Raw => ({ headerModifiers: { request: { set: [{ name: 'x', value }] } } })
const selector = (team: string, kind = 'HTTPRoute'): Raw => ({
  group: kind === 'Service' ? '' : 'gateway.networking.k8s.io',
  kind,
  matchLabels: { team }
})
const of = (name: string, spec: Raw) => policy(name, { traffic: header(name), ...spec }, next())

/** Counts how often objects are read, to see whose work is done again. */
class CountingStore extends ObjectStore {
  readonly read = new Set<string>()

  override get(...[kind, namespace, name]: Parameters<ObjectStore['get']>): KubernetesObject | undefined {
    this.read.add(`${kind} ${name}`)
    return super.get(kind, namespace, name)
  }
}

function started() {
  const store = new CountingStore()
  const routes = Array.from({ length: ROUTES }, (_, i) => route(i, i < 2 ? { team: 'a' } : {}))
  for (const one of [CLASS, gateway('edge', [http('web', 80)]), service('shop'), ...routes]) store.set(one)
  const translator = new Translator(OPTIONS)
  translator.update(store, null)
  return { store, translator }
}

interface Step {
  readonly what: string
  readonly change: readonly (KubernetesObject | ObjectKey)[]
  /** Routes that may be read. */
  readonly touched: readonly string[]
}

const STEPS: readonly Step[] = [
  {
    what: 'a policy for one route comes',
    change: [of('one', { targetRefs: [target('HTTPRoute', 'r7')] })],
    touched: ['r7']
  },
  {
    what: 'it is for another',
    change: [of('one', { targetRefs: [target('HTTPRoute', 'r8')] })],
    touched: ['r7', 'r8']
  },
  {
    what: 'a policy by labels comes',
    change: [of('many', { targetSelectors: [selector('a')] })],
    touched: ['r0', 'r1']
  },
  // The status of the policy looks at all of its targets.
  { what: 'a route gets the label', change: [route(3, { team: 'a' })], touched: ['r0', 'r1', 'r3'] },
  {
    what: 'another label is looked for',
    change: [of('many', { targetSelectors: [selector('b')] })],
    touched: ['r0', 'r1', 'r3']
  },
  {
    what: 'a route loses its label as the policy comes back to it',
    change: [of('many', { targetSelectors: [selector('a')] }), route(0)],
    touched: ['r0', 'r1', 'r3']
  },
  {
    what: 'the policies go',
    change: ['GatewayPolicy/demo/many', 'GatewayPolicy/demo/one'],
    touched: ['r1', 'r3', 'r8']
  }
]

it('gives what a translation from scratch gives, and reads no other route', () => {
  const { store, translator } = started()
  for (const { what, change, touched } of STEPS) {
    for (const one of change) {
      if (typeof one === 'string') store.delete(one)
      else store.set(one)
    }
    store.read.clear()
    const now = translator.update(
      store,
      change.map((one) => (typeof one === 'string' ? one : keyOf(one)))
    )
    const read = [...store.read].flatMap((text) => /^HTTPRoute (.*)/.exec(text)?.[1] ?? [])
    deepEqual(
      read.filter((name) => !touched.includes(name)),
      [],
      what
    )
    const fresh = new Translator(OPTIONS).update(store, null)
    deepEqual(draftOf(now), draftOf(fresh), what)
    deepEqual(new Map([...now.statuses].toSorted()), new Map([...fresh.statuses].toSorted()), what)
  }
})

it('is seen by Services, their ports, and the Gateway', () => {
  const { store, translator } = started()
  const backend = { backend: { tcp: { connectTimeout: '1s' } }, traffic: undefined }
  const targets: readonly Raw[] = [
    { group: '', kind: 'Service', name: 'shop' },
    { group: '', kind: 'Service', name: 'shop', sectionName: '80' }
  ]
  for (const [i, one] of targets.entries()) {
    const made = policy(`p${i}`, { targetRefs: [one], backend: { tcp: { connectTimeout: `${i + 1}s` } } }, next())
    store.set(made)
    const now = translator.update(store, [keyOf(made)])
    deepEqual(draftOf(now), draftOf(new Translator(OPTIONS).update(store, null)))
    equal(JSON.stringify(draftOf(now).backends).includes(`"connectTimeoutMs":${i + 1}000`), true)
  }
  const around = policy('around', { targetRefs: [target('Gateway', 'edge')], ...backend, traffic: header('g') }, next())
  store.set(around)
  const now = translator.update(store, [keyOf(around)])
  deepEqual(draftOf(now), draftOf(new Translator(OPTIONS).update(store, null)))
  equal(Object.keys(draftOf(now).gateway.policies).length > 0, true)
})
