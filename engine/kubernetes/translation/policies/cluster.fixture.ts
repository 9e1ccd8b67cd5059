/** A Gateway with what its policies refer to, put together as the translation does it, and compiled. */
import assert from 'node:assert/strict'
import { backends } from '#backends/index.ts'
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { ObjectStore } from '#engine/kubernetes/objects/objects.ts'
import { objectSources } from '#engine/kubernetes/translation/files.ts'
import type { Fault, Part, PartOrigin, PolicySetsPart } from '#engine/kubernetes/translation/parts.ts'
import { serviceBackends } from '#engine/kubernetes/translation/routes/backends.ts'
import { namedBackend } from '#engine/kubernetes/translation/routes/names.ts'
import { pathText, type Raw } from '#engine/schema/placed.ts'
import { type Compiled, compileConfig } from '#engine/source/compile.ts'
import { Origins } from '#engine/source/origins.ts'
import { policies } from '#policies/index.ts'
import {
  authenticationOf,
  frontendOf,
  mergeLevels,
  type Needs,
  type PolicyOptions,
  type PolicyTarget,
  policiesOf,
  secretEntries,
  translateBackend,
  withServicePolicies
} from './index.ts'

/** What authors may not reach: tenant.test.ts. */
export const OPTIONS: PolicyOptions = { policies, backends, clusterDomain: 'cluster.local', hasTenants: false }
export const NAMESPACE = 'default'

export const object = (
  apiVersion: string,
  kind: string,
  name: string,
  fields: object,
  metadata: Partial<KubernetesObject['metadata']> = {}
): KubernetesObject => ({ apiVersion, kind, metadata: { name, namespace: NAMESPACE, ...metadata }, ...fields })

const GATEWAY_API = 'gateway.networking.k8s.io/v1'

export const gatewayPolicy = (name: string, spec: object, metadata = {}) =>
  object('weir.dev/v1alpha1', 'GatewayPolicy', name, { spec }, { generation: 3, ...metadata })

export const gatewayBackend = (name: string, spec: object, metadata = {}) =>
  object('weir.dev/v1alpha1', 'GatewayBackend', name, { spec }, { generation: 2, ...metadata })

export const service = (name: string, port: number | Raw, metadata = {}) => {
  const ports = [typeof port === 'number' ? { port } : port]
  return object('v1', 'Service', name, { spec: { ports } }, metadata)
}

export const secret = (name: string, entries: Readonly<Record<string, string>>, metadata = {}) => {
  const data = Object.entries(entries).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
  return object('v1', 'Secret', name, { data: Object.fromEntries(data) }, metadata)
}

export const configMap = (name: string, data: Readonly<Record<string, string>>) =>
  object('v1', 'ConfigMap', name, { data })

export const grant = (namespace: string, from: Raw, to: Raw) =>
  object(GATEWAY_API, 'ReferenceGrant', 'grant', { spec: { from: [from], to: [to] } }, { namespace })

/** Gateway edge with the listener https; HTTPRoute shop (label team: shop) with the rule rule-1. */
export const GATEWAY = object(GATEWAY_API, 'Gateway', 'edge', { spec: { listeners: [{ name: 'https', port: 443 }] } })
export const ROUTE = object(
  GATEWAY_API,
  'HTTPRoute',
  'shop',
  { spec: { rules: [{ name: 'rule-1' }] } },
  { labels: { team: 'shop' } }
)

export const storeOf = (...objects: readonly KubernetesObject[]) => ObjectStore.of([GATEWAY, ROUTE, ...objects])

export const target = (kind: PolicyTarget['kind'], name: string, sectionName?: string): PolicyTarget => ({
  kind,
  namespace: NAMESPACE,
  name,
  ...(sectionName === undefined ? {} : { sectionName })
})

const AROUND = {
  gateway: [target('Gateway', 'edge')],
  listener: [target('ListenerSet', 'more'), target('Gateway', 'edge', 'https')],
  rule: [target('HTTPRoute', 'shop'), target('HTTPRoute', 'shop', 'rule-1')]
}

export interface Built {
  readonly value: Raw
  readonly compiled: Compiled
  /** What the translation has found, before compiling: "GatewayPolicy/default/a spec.traffic: sentence". */
  readonly faults: readonly string[]
  /** "GatewayPolicy/default/a spec.traffic.cors" of a path in the value. */
  readonly placeOf: (path: readonly PropertyKey[]) => string
}

/** One route of the Gateway, to the GatewayBackends and Service ports of these names. */
export function build(objects: ObjectStore, names: readonly string[]): Built {
  return new Build(objects, names).run()
}

class Build {
  readonly #objects: ObjectStore
  readonly #names: readonly string[]
  readonly #needed: Set<string>
  readonly #secrets = new Set<string>()
  readonly #faults = new Set<string>()
  readonly #origins: PartOrigin[] = []

  constructor(objects: ObjectStore, names: readonly string[]) {
    this.#objects = objects
    this.#names = names
    this.#needed = new Set(names)
  }

  run(): Built {
    const value = { ...this.#served(), ...this.#referred() }
    const known = new Origins()
    for (const [at, { key, path }] of this.#origins) known.add(at, [key, ...path])
    const placeOf = (path: readonly PropertyKey[]) => {
      const [key, ...rest] = known.of(path)
      return `${String(key)} ${pathText(rest)}`
    }
    return { value, compiled: compile(value, this.#objects), faults: [...this.#faults], placeOf }
  }

  #served(): Raw {
    const authentication = authenticationOf(this.#names, AROUND.rule, this.#objects, OPTIONS).sets
    const rule = mergeLevels([this.#level(AROUND.rule), authentication], OPTIONS)
    assert.ok(rule.value.length <= 1, 'a route has one phase')
    const at = ['binds', 0, 'listeners', 0]
    const [policies = {}] = this.#put([...at, 'routes', 0, 'policies'], {
      value: rule.value,
      origins: rule.origins.map(([path, from]) => [path.slice(1), from])
    })
    const backendsOfRule = this.#names.map((backend) => ({ backend }))
    const route = { name: 'default.shop', ruleName: 'rule-1', policies, backends: backendsOfRule }
    const outer = this.#put([...at, 'policies'], this.#level(AROUND.listener))
    const listener = { name: 'https', routes: [route], ...(outer.length > 0 ? { policies: outer } : {}) }
    const top = this.#put(['policies'], this.#level(AROUND.gateway))
    const { frontend } = this.#need(frontendOf(GATEWAY, this.#objects, OPTIONS))
    return {
      binds: [{ port: 443, listeners: [listener] }],
      ...(top.length > 0 ? { policies: top } : {}),
      frontendPolicies: this.#put(['frontendPolicies'], frontend)
    }
  }

  /** What is needed may need more. */
  #referred(): Raw {
    const entries = [...this.#grown()].map((entry, i) => this.#put(['backends', i], entry))
    const secrets = secretEntries(this.#secrets, this.#objects).entries.map((one, i) => this.#put(['secrets', i], one))
    return { backends: entries, ...(secrets.length > 0 ? { secrets } : {}) }
  }

  *#grown(): Iterable<Part> {
    for (const name of this.#needed) {
      const dot = name.indexOf('.')
      const found = this.#objects.get('GatewayBackend', name.slice(0, dot), name.slice(dot + 1))
      const named = namedBackend(name)
      if (named !== null) {
        const [entry = assert.fail(name)] = serviceBackends([name], this.#objects, OPTIONS).entries
        if ('service' in named)
          yield this.#need(withServicePolicies(entry, named.service, this.#objects, OPTIONS)).entry
        else yield entry
        continue
      }
      yield this.#need(translateBackend(found ?? assert.fail(`there is no ${name}`), this.#objects, OPTIONS)).entry
    }
  }

  #level(targets: readonly PolicyTarget[]): PolicySetsPart {
    const levels = targets.map((one) => this.#need(policiesOf(one, this.#objects, OPTIONS)).sets)
    return mergeLevels(levels, OPTIONS)
  }

  #need<T extends Needs & { readonly faults: readonly Fault[] }>(part: T): T {
    for (const { place, message } of part.faults) this.#faults.add(`${place.key} ${pathText(place.path)}: ${message}`)
    for (const name of part.backends) this.#needed.add(name)
    for (const name of part.secrets) this.#secrets.add(name)
    return part
  }

  #put<T>(at: readonly PropertyKey[], { value, origins }: Part<T>): T {
    for (const [inside, from] of origins) this.#origins.push([[...at, ...inside], from])
    return value
  }
}

export function compile(value: Raw, objects: ObjectStore): Compiled {
  return compileConfig(
    {
      value,
      isSound: true,
      isPart: true,
      words: { noun: 'cluster', top: 'in the cluster', placeOf: (path) => pathText(path) }
    },
    {
      policies,
      backends,
      sources: objectSources(
        () => objects,
        () => assert.fail('nothing is YAML')
      ),
      env: {},
      processors: 2,
      memoryBytes: 2 ** 31
    }
  )
}

/** What is wrong with it, with the places. */
export function findingsOf({ compiled, faults, placeOf }: Built): string[] {
  const findings = 'findings' in compiled ? compiled.findings : []
  return [...faults, ...findings.map(({ path, message }) => `${placeOf(path)}: ${message}`)]
}
