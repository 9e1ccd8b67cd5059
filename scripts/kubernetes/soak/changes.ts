/** The changes of the soak: every kind of object comes, changes and goes, most of them under names of their own. */
import { KINDS, type KindName, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { GATEWAY_GROUP, GROUP } from '#engine/kubernetes/resources/names.ts'
import { GONE_MAX } from '#engine/kubernetes/stream/published.ts'
import type { ApiServerDouble } from '#engine/kubernetes/testing/api-server/server.ts'
import { GOOD_MAX } from '#engine/schema/remember.ts'

export const NAMESPACE = 'soak'
export const CLASS = 'soak'
export const GATEWAY = 'edge'
/** Objects of each kind that are there all the time. */
const KEPT = 20
/** Of a kind that comes and goes, so many are there at a time. */
const PASSING = 10
/** What comes and goes before anything is measured: so many routes at a time, each with as many rules as may be. */
const FILLING = 16
const FILLING_RULES = 16
/** One of so many rounds changes the Gateway, which concerns every route. */
const GATEWAY_ROUNDS = 25

export function make(kind: KindName, name: string, rest: object): KubernetesObject {
  const { apiVersion, isNamespaced } = KINDS[kind]
  return { apiVersion, kind, metadata: { name, ...(isNamespaced ? { namespace: NAMESPACE } : {}) }, ...rest }
}

/** `ports`: of its listeners. */
export const gateway = (ports: readonly number[]) => ({
  gatewayClassName: CLASS,
  listeners: ports.map((port) => ({ name: `http-${port}`, port, protocol: 'HTTP' }))
})

/** At /NAME: a redirect to HOST, and below it what a Service answers. */
export const routeSpec = (name: string, host: string, service: string) => ({
  parentRefs: [{ name: GATEWAY }],
  rules: [
    {
      matches: [{ path: { type: 'Exact', value: `/${name}` } }],
      filters: [{ type: 'RequestRedirect', requestRedirect: { hostname: host, statusCode: 302 } }]
    },
    {
      matches: [{ path: { type: 'PathPrefix', value: `/${name}/` } }],
      backendRefs: [{ name: service, port: 80 }]
    }
  ]
})

const slice = (service: string, count: number) => ({
  addressType: 'IPv4',
  ports: [{ port: 8080, protocol: 'TCP' }],
  endpoints: Array.from({ length: 1 + (count % 5) }, (_, i) => ({ addresses: [`192.0.2.${1 + i}`] })),
  metadata: { name: service, namespace: NAMESPACE, labels: { 'kubernetes.io/service-name': service } }
})

const policySpec = (route: string, requests: number) => ({
  targetRefs: [{ group: GATEWAY_GROUP, kind: 'HTTPRoute', name: route }],
  traffic: { rateLimit: { local: [{ requests, unit: 'Minutes' }] } }
})

const backendSpec = (count: number, secret: string) => ({
  ai: { provider: { openai: { model: `model-${count}` } }, policies: { auth: { secretRef: { name: secret } } } }
})

const secretData = (count: number) => ({ data: { Authorization: Buffer.from(`key-${count}`).toString('base64') } })

const aiRoute = (name: string, backend: string) => ({
  parentRefs: [{ name: GATEWAY }],
  rules: [
    {
      matches: [{ path: { type: 'Exact', value: `/${name}` } }],
      backendRefs: [{ group: GROUP, kind: 'GatewayBackend', name: backend }]
    }
  ]
})

type Change = (count: number) => void

export class Changes {
  readonly #server: ApiServerDouble
  readonly #ports: readonly [number, number]
  #count = 0

  /** `ports`: of a Gateway that has one or both. */
  constructor(server: ApiServerDouble, ports: readonly [number, number]) {
    this.#server = server
    this.#ports = ports
    for (let i = 0; i < KEPT; i++) {
      server.add(make('Service', `service-${i}`, { spec: { ports: [{ port: 80 }] } }))
      server.add(make('EndpointSlice', `service-${i}`, slice(`service-${i}`, i)))
      server.add(make('HTTPRoute', `route-${i}`, { spec: routeSpec(`route-${i}`, 'start.example', `service-${i}`) }))
      server.add(make('Secret', `secret-${i}`, secretData(i)))
      server.add(make('GatewayBackend', `backend-${i}`, { spec: backendSpec(i, `secret-${i}`) }))
      server.add(make('HTTPRoute', `ai-${i}`, { spec: aiRoute(`ai-${i}`, `backend-${i}`) }))
      server.add(make('GatewayPolicy', `policy-${i}`, { spec: policySpec(`route-${i}`, 1 + i) }))
    }
  }

  get count(): number {
    return this.#count
  }

  /**
   * Fills what has a bound: values of rules that were good before (remember.ts), names of endpoints that are gone
   * (published.ts). `follow`: until the data plane has what there is.
   */
  async fill(follow: () => Promise<void>): Promise<void> {
    for (let filled = 0; filled < Math.max(GOOD_MAX, GONE_MAX); filled += FILLING * FILLING_RULES) {
      const names = Array.from({ length: FILLING }, (_, i) => `filling-${filled + i}`)
      for (const name of names) this.#fillingRoute(name)
      await follow()
      for (const name of names) this.#goFillingRoute(name)
      await follow()
    }
  }

  #fillingRoute(name: string): void {
    const rules = Array.from({ length: FILLING_RULES }, (_, i) => {
      const service = `${name}-${i}`
      this.#server.add(make('Service', service, { spec: { ports: [{ port: 80 }] } }))
      this.#server.add(make('EndpointSlice', service, slice(service, i)))
      return {
        matches: [{ path: { type: 'PathPrefix', value: `/${service}` } }],
        backendRefs: [{ name: service, port: 80 }]
      }
    })
    this.#server.add(make('HTTPRoute', name, { spec: { parentRefs: [{ name: GATEWAY }], rules } }))
  }

  #goFillingRoute(name: string): void {
    const { store } = this.#server
    store.delete(KINDS.HTTPRoute, NAMESPACE, name)
    for (let i = 0; i < FILLING_RULES; i++) {
      for (const kind of [KINDS.Service, KINDS.EndpointSlice]) store.delete(kind, NAMESPACE, `${name}-${i}`)
    }
  }

  /** The next `count` changes, at once. */
  next(count: number): void {
    for (let i = 0; i < count; i++) {
      this.#table[this.#count % this.#table.length]!(Math.floor(this.#count / this.#table.length))
      this.#count++
    }
  }

  /** One of each in turn. */
  readonly #table: readonly Change[] = [
    (n) =>
      this.#change('HTTPRoute', `route-${n % KEPT}`, {
        spec: routeSpec(`route-${n % KEPT}`, `h${n}.example`, `service-${n % KEPT}`)
      }),
    (n) => this.#pass('HTTPRoute', `passing-${n}`, { spec: routeSpec(`passing-${n}`, 'a.example', `passing-${n}`) }, n),
    (n) => this.#change('EndpointSlice', `service-${n % KEPT}`, slice(`service-${n % KEPT}`, n)),
    (n) => this.#pass('Service', `passing-${n}`, { spec: { ports: [{ port: 80 }] } }, n),
    (n) => this.#pass('EndpointSlice', `passing-${n}`, slice(`passing-${n}`, n), n),
    (n) => this.#change('Secret', `secret-${n % KEPT}`, secretData(n)),
    (n) => this.#pass('Secret', `passing-${n}`, secretData(n), n),
    (n) =>
      this.#change('GatewayPolicy', `policy-${n % KEPT}`, { spec: policySpec(`route-${n % KEPT}`, 1 + (n % 1000)) }),
    (n) => this.#pass('GatewayPolicy', `passing-${n}`, { spec: policySpec(`passing-${n}`, 1 + (n % 1000)) }, n),
    (n) => this.#change('GatewayBackend', `backend-${n % KEPT}`, { spec: backendSpec(n, `secret-${n % KEPT}`) }),
    (n) => this.#pass('GatewayBackend', `passing-${n}`, { spec: backendSpec(n, `passing-${n}`) }, n),
    (n) => this.#pass('HTTPRoute', `passing-ai-${n}`, { spec: aiRoute(`passing-ai-${n}`, `passing-${n}`) }, n),
    (n) => {
      const isOdd = Math.floor(n / GATEWAY_ROUNDS) % 2
      this.#change('Gateway', GATEWAY, { spec: gateway(this.#ports.slice(0, 1 + isOdd)) })
    },
    (n) =>
      this.#pass('HTTPRoute', `other-${n}`, { spec: routeSpec(`other-${n}`, 'b.example', `service-${n % KEPT}`) }, n)
  ]

  #change(kind: KindName, name: string, body: object): void {
    this.#server.store.write(KINDS[kind], NAMESPACE, name, { type: 'merge', body: body as never }, false)
  }

  /** It comes, and the one that came some time ago goes, which is a change of its own. */
  #pass(kind: KindName, name: string, body: object, count: number): void {
    const { metadata, ...object } = make(kind, name, body)
    this.#server.store.create(KINDS[kind], NAMESPACE, { ...object, metadata: { ...metadata, name } } as never)
    if (count < PASSING) return
    this.#server.store.delete(KINDS[kind], NAMESPACE, name.replace(/\d+$/, `${count - PASSING}`))
    this.#count++
  }
}
