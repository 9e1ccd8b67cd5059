/** After any changes the translation is what a translation from scratch makes of the same objects. */
import { deepEqual } from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { selfSigned } from '#engine/testing/certificates.ts'
import {
  CLASS,
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
import { type Translation, Translator } from './index.ts'

/** The same numbers for the same seed (mulberry32). */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below)
  }
}

const PAIRS = [selfSigned(['a.example']), selfSigned(['b.example'])]

/** Makes objects that may be in order, wrong, or refer to what is not there. */
class Cluster {
  readonly #random: ReturnType<typeof randomOf>
  /** Of no object twice. */
  #generation = 2

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  #one<T>(values: readonly T[]): T {
    return values[this.#random(values.length)]!
  }

  next(): KubernetesObject | ObjectKey {
    const make = this.#one([
      ...Array.from({ length: 6 }, () => this.#route),
      ...[this.#service, this.#policy, this.#policy, this.#backend, this.#backend],
      ...[this.#gateway, this.#secret, this.#set, this.#namespace],
      ...[this.#streamRoute, this.#selectingPolicy, this.#selectingPolicy]
    ])
    const made = make.call(this)
    this.#generation++
    return this.#random(6) === 0 && made.kind !== 'Gateway' ? keyOf(made) : made
  }

  #meta(): object {
    const labels = { team: this.#one(['a', 'b', 'c']) }
    return { labels, generation: this.#generation, creationTimestamp: `2026-01-01T00:00:0${this.#random(5)}Z` }
  }

  #route(): KubernetesObject {
    const path = this.#one(['/', '/a', '/b'])
    const rules: Raw[] = [
      rule(path, this.#one(['s0', 's1', 's2'])),
      { backendRefs: [{ group: 'weir.dev', kind: 'GatewayBackend', name: this.#one(['b0', 'b1']) }] },
      { ...rule('/', 's0'), matches: [{ path: { type: 'RegularExpression', value: this.#one(['/x.*', '(', '/y']) } }] }
    ]
    const parent = this.#one<Raw>([
      { name: 'edge' },
      { name: 'edge', sectionName: 'a' },
      { name: 'edge', sectionName: 'lost' },
      { kind: 'ListenerSet', name: 'set' },
      { name: 'inner' }
    ])
    const hostnames = this.#one([[], ['a.example'], ['*.example', 'b.test']])
    const own = rules.slice(this.#random(2), 1 + this.#random(3) + 1)
    return httpRoute(`r${this.#random(8)}`, parent, own, hostnames.length === 0 ? {} : { hostnames }, this.#meta())
  }

  #streamRoute(): KubernetesObject {
    const parentRefs = this.#one<Raw[]>([[{ name: 'edge' }], [{ name: 'edge', sectionName: 't' }, { name: 'inner' }]])
    const rules = [{ backendRefs: [{ name: this.#one(['s0', 's1']), port: 80 }] }]
    return object('TCPRoute', `t${this.#random(2)}`, { spec: { parentRefs, rules } }, this.#meta())
  }

  #service(): KubernetesObject {
    return service(`s${this.#random(3)}`, this.#one([80, 80, 81]), this.#meta())
  }

  #selectingPolicy(): KubernetesObject {
    const kind = this.#one(['HTTPRoute', 'Gateway', 'ListenerSet', 'Service', 'GatewayBackend'] as const)
    const { group } = target(kind, '')
    const isBackend = kind === 'Service' || kind === 'GatewayBackend'
    const part = isBackend
      ? { backend: { http: { requestTimeout: '3s' } } }
      : { traffic: { timeouts: { request: '7s' } } }
    const targetSelectors = [{ group, kind, matchLabels: { team: this.#one(['a', 'b']) } }]
    return policy(`q${this.#random(3)}`, { targetSelectors, ...part }, this.#meta())
  }

  #policy(): KubernetesObject {
    const of = this.#one([
      target('HTTPRoute', `r${this.#random(8)}`),
      target('HTTPRoute', `r${this.#random(8)}`, { sectionName: 'rule0' }),
      target('Gateway', 'edge'),
      target('Gateway', 'edge', { sectionName: 'a' }),
      target('GatewayBackend', 'b0')
    ])
    const value = this.#one(['"x"', 'request.path', 'this is no CEL ('])
    const traffic = this.#one<Raw>([
      { headerModifiers: { request: { set: [{ name: 'x', value }] } } },
      { transformation: { request: { set: [{ name: 'x', value }] } } },
      { timeouts: { request: '5s' } }
    ])
    const isBackend = of.kind === 'GatewayBackend' || this.#random(3) === 0
    const spec = isBackend ? { backend: { http: { requestTimeout: this.#one(['1s', '2s']) } } } : { traffic }
    return policy(`p${this.#random(4)}`, { targetRefs: [of], ...spec }, this.#meta())
  }

  #backend(): KubernetesObject {
    const spec = this.#one<Raw>([
      { static: { host: 'shop.example', port: 80 } },
      { static: { host: 'shop.example', port: 443 }, policies: { tls: {} } },
      { dynamicForwardProxy: {} },
      { static: { host: 'not a host', port: 80 } }
    ])
    return object('GatewayBackend', `b${this.#random(2)}`, { spec }, this.#meta())
  }

  #gateway(): KubernetesObject {
    const tls = { certificateRefs: [{ name: 'tls' }] }
    const all = [
      http('a', 80),
      http('b', 81, { hostname: '*.example' }),
      { name: 'c', port: 443, protocol: 'HTTPS', hostname: 'a.example', tls },
      http('d', this.#one([80, 82])),
      { name: 't', port: 91, protocol: 'TCP' }
    ]
    const spec = { allowedListeners: { namespaces: { from: this.#one(['Same', 'None']) } } }
    const name = this.#one(['edge', 'edge', 'inner'])
    return gateway(name, all.slice(0, 1 + this.#random(5)), spec, this.#meta())
  }

  #secret(): KubernetesObject {
    const { cert, key } = this.#one(PAIRS)
    return secret('tls', { 'tls.crt': cert, 'tls.key': this.#one([key, key, 'x']) })
  }

  #set(): KubernetesObject {
    return listenerSet('set', 'edge', [http('a', this.#one([80, 90])), http('z', 91)], this.#meta())
  }

  #namespace(): KubernetesObject {
    return object('Namespace', 'demo', {}, { labels: { team: this.#one(['a', 'b']) } })
  }
}

/** Without what tells keys from one another, which are made anew. */
function comparable({ gateways, statuses }: Translation) {
  return {
    gateways: [...gateways].map(([name, { draft, services, warnings, places }]) => ({
      ...{ name, draft },
      services: [...services].sort(),
      warnings: [...warnings].sort(),
      places: [...places()].sort()
    })),
    statuses: new Map([...statuses].sort(([a], [b]) => (a < b ? -1 : 1)))
  }
}

describe('translation after changes', () => {
  for (const seed of [1, 2, 3, 4]) {
    it(`is that of the objects that are left (seed ${seed})`, () => {
      const cluster = new Cluster(seed)
      const store = ObjectStore.of([CLASS, gateway('edge', [http('a', 80)])])
      const translator = new Translator(OPTIONS)
      const followed = new Map(translator.update(store, null).statuses)
      for (let step = 0; step < 40; step++) {
        const keys = Array.from({ length: 1 + (step % 3) }, (): ObjectKey => {
          const next = cluster.next()
          if (typeof next === 'string') store.delete(next)
          else store.set(next)
          return typeof next === 'string' ? next : keyOf(next)
        })
        const made = translator.update(store, keys)
        const fresh = comparable(new Translator(OPTIONS).update(store, null))
        const where = `seed ${seed}, step ${step}: ${keys.join()}`
        deepEqual(comparable(made), fresh, where)
        for (const key of made.changedStatuses) {
          if (made.statuses.has(key)) followed.set(key, made.statuses.get(key))
          else followed.delete(key)
        }
        deepEqual(followed, made.statuses, `${where}: changedStatuses lacks some`)
      }
    })
  }
})
