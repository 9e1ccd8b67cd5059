/** Objects -> records: everything that compiling reads of them, with the policies that are attached to them. */
import { type KindName, type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { GatewayState } from '#engine/kubernetes/translation/attach/gateways.ts'
import { isServed, type ListenerState } from '#engine/kubernetes/translation/attach/listeners.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import { type Input, inputOf } from '#engine/kubernetes/translation/inputs.ts'
import type {
  Fault,
  ObjectPlace,
  Part,
  PartOrigin,
  PolicySetsPart,
  RulePart
} from '#engine/kubernetes/translation/parts.ts'
import {
  authenticationAround,
  authenticationOf,
  frontendOf,
  mergeLevels,
  type Needs as PolicyNeeds,
  type PolicyOptions,
  type PolicyTarget,
  policiesOf,
  secretEntries,
  translateBackend,
  withPoolPolicies,
  withServicePolicies
} from '#engine/kubernetes/translation/policies/index.ts'
import { serviceBackends, withProtocol } from '#engine/kubernetes/translation/routes/backends.ts'
import { translateRoute } from '#engine/kubernetes/translation/routes/index.ts'
import { namedBackend, serviceOf } from '#engine/kubernetes/translation/routes/names.ts'
import { withPoolProtocol } from '#engine/kubernetes/translation/routes/pools.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { isPre } from '#engine/source/policies.ts'
import type {
  BackendRecord,
  GatewayRecord,
  ListenerRecord,
  Needs,
  RouteRecord,
  RuleRecord,
  SecretRecord
} from './records.ts'

const isStream = (kind: string): boolean => kind === 'TLSRoute' || kind === 'TCPRoute'

export class RecordMaker {
  readonly #options: PolicyOptions

  constructor(options: PolicyOptions) {
    this.#options = options
  }

  // --- routes ---

  route(route: KubernetesObject, objects: Objects): RouteRecord {
    return contained(
      route,
      () => this.#route(route, objects),
      (fault) => ({ rules: [], faults: [{ ...fault, reason: 'UnsupportedValue' }] })
    )
  }

  #route(route: KubernetesObject, objects: Objects): RouteRecord {
    const { rules, faults } = translateRoute(route, objects, this.#options)
    const { namespace = '', name } = route.metadata
    const target = { kind: route.kind as PolicyTarget['kind'], namespace, name }
    // Policies act on requests, and connections that are passed on unread have none.
    const whole = isStream(route.kind) ? null : policiesOf(target, objects, this.#options)
    const ambiguous: Fault[] = []
    const records = rules.map((rule): RuleRecord => {
      if (whole === null) return this.#rule(rule, rule, [], route, objects)
      const { ruleName } = objectOf(rule.value)
      const targets = [target, ...(typeof ruleName === 'string' ? [{ ...target, sectionName: ruleName }] : [])]
      const levels = [whole, ...targets.slice(1).map((one) => policiesOf(one, objects, this.#options))]
      const authentication = authenticationOf(rule.backends, targets, objects, this.#options)
      if (authentication.isAmbiguous) ambiguous.push(ambiguousAt(placeOf(rule, route)))
      const sets = [...levels.map(({ sets: own }) => own), authentication.sets, filtersOf(rule)]
      const part = withPolicies(rule, mergeLevels(sets, this.#options))
      return { ...this.#rule(rule, part, levels, route, objects), isOpen: authentication.isOpen }
    })
    return { rules: records, faults: [...faults, ...ambiguous] }
  }

  #rule(
    { backends }: RulePart,
    part: Part,
    levels: readonly PolicyNeeds[],
    route: KubernetesObject,
    objects: Objects
  ): RuleRecord {
    const needs = needsOf([{ backends, secrets: new Set() }, ...levels])
    return { entry: this.#input(part, objects), place: placeOf(part, route), isOpen: false, ...needs }
  }

  // --- Gateways ---

  gateway(state: GatewayState, objects: Objects): GatewayRecord {
    const place = { key: keyOf(state.gateway), path: ['spec'] }
    return contained(
      state.gateway,
      () => this.#gateway(state, place, objects),
      () => emptyGateway(place)
    )
  }

  #gateway(state: GatewayState, place: ObjectPlace, objects: Objects): GatewayRecord {
    const { gateway, listeners, parameters, clientCertificate } = state
    const { namespace = '', name } = gateway.metadata
    const { frontend, ...around } = frontendOf(gateway, objects, this.#options)
    const own = policiesOf({ kind: 'Gateway', namespace, name }, objects, this.#options)
    const certificate: Part<Raw> | null =
      clientCertificate === null ? null : { value: { ...clientCertificate }, origins: [[[], place]] }
    return {
      place,
      rawConfigs: parameters.flatMap(({ rawConfig }) => (rawConfig === null ? [] : this.#input(rawConfig, objects))),
      frontend: this.#input(frontend as Part<Raw>, objects),
      policies: this.#input(own.sets, objects),
      listeners: listeners.filter(isServed).map((listener) => this.#listener(listener, gateway, objects)),
      clientCertificate: certificate === null ? null : this.#input(certificate, objects),
      ...needsOf([around, own])
    }
  }

  #listener(listener: ListenerState, gateway: KubernetesObject, objects: Objects): ListenerRecord {
    const { owner, fullName, hostname, port, protocol, place } = listener
    const { namespace = '', name } = owner.metadata
    const kind = owner.kind as PolicyTarget['kind']
    const own: PolicyTarget = { kind, namespace, name }
    const targets = [...(kind === 'Gateway' ? [] : [own]), { ...own, sectionName: listener.name }]
    const levels = targets.map((one) => policiesOf(one, objects, this.#options))
    const above: PolicyTarget = {
      kind: 'Gateway',
      namespace: gateway.metadata.namespace ?? '',
      name: gateway.metadata.name
    }
    const authentication = authenticationAround([above, ...targets], objects, this.#options)
    const merged = mergeLevels(
      levels.map(({ sets }) => sets),
      this.#options
    )
    const tls = tlsOf(listener)
    return {
      ...{ name: fullName, hostname, port, protocol: protocol!, place },
      tls: tls === null ? null : this.#input(tls, objects),
      policies: this.#input(merged, objects),
      authentication: authentication === null ? null : this.#input(authentication, objects),
      ...needsOf(levels)
    }
  }

  // --- what is referred to by name ---

  /** Undefined: there is no such backend, and `routes/references.ts` has not made the name. */
  backend(name: string, objects: Objects): BackendRecord | undefined {
    const key = keyOfBackend(name)
    const object = key === null ? undefined : objects.get(...key)
    if (object === undefined) return this.#backend(name, objects)
    return contained(
      object,
      () => this.#backend(name, objects),
      () => undefined
    )
  }

  #backend(name: string, objects: Objects): BackendRecord | undefined {
    const named = namedBackend(name)
    if (named !== null) {
      const [entry] = serviceBackends([name], objects, this.#options).entries
      if (entry === undefined) return undefined
      if ('pool' in named) {
        const { entry: own, ...needs } = withPoolPolicies(entry, named.pool, objects, this.#options)
        const made = withPoolProtocol(own, objects.get('InferencePool', named.pool.namespace, named.pool.name))
        return { name, entry: this.#input(made as Part<Raw>, objects), ...needsOf([needs]) }
      }
      if ('picker' in named) {
        const { entry: own, ...needs } = withServicePolicies(entry, named.picker, objects, this.#options)
        return { name, entry: this.#input(own as Part<Raw>, objects), ...needsOf([needs]) }
      }
      if (!('service' in named)) return { name, entry: this.#input(entry as Part<Raw>, objects), ...needsOf([]) }
      const { entry: own, ...needs } = withServicePolicies(entry, named.service, objects, this.#options)
      const made = withProtocol(own, named.service, objects)
      return { name, entry: this.#input(made as Part<Raw>, objects), ...needsOf([needs]) }
    }
    const [namespace = '', ...rest] = name.split('.')
    const object = objects.get('GatewayBackend', namespace, rest.join('.'))
    if (object === undefined) return undefined
    const { entry, backends, secrets } = translateBackend(object, objects, this.#options)
    return { name, entry: this.#input(entry as Part<Raw>, objects), ...needsOf([{ backends, secrets }]) }
  }

  secret(name: string, objects: Objects): SecretRecord | undefined {
    const [entry] = secretEntries([name], objects).entries
    return entry === undefined ? undefined : { name, entry: this.#input(entry as Part<Raw>, objects) }
  }

  #input<T>(part: Part<T>, objects: Objects): Input<T> {
    return inputOf(part, objects, this.#options.clusterDomain)
  }
}

/** Where nothing of a Gateway is carried out. */
export const emptyGateway = (place: ObjectPlace): GatewayRecord => ({
  place,
  rawConfigs: [],
  frontend: NO_INPUT,
  policies: { ...NO_INPUT, value: [] },
  listeners: [],
  clientCertificate: null,
  backends: [],
  secrets: []
})

const NO_INPUT: Input<Raw> = { value: {}, origins: [], contents: [], services: [] }

/** The object that an entry of `backends` is made of; null: of its name alone. */
function keyOfBackend(name: string): readonly [kind: KindName, namespace: string, name: string] | null {
  const service = serviceOf(name)
  if (service !== null) return ['Service', service.namespace, service.name]
  const dot = name.indexOf('.')
  const named = namedBackend(name)
  if (named !== null && 'pool' in named) return ['InferencePool', named.pool.namespace, named.pool.name]
  return named === null ? ['GatewayBackend', name.slice(0, dot), name.slice(dot + 1)] : null
}

/** In a file's spelling. Null: TLS does not end at the listener. */
function tlsOf({ certificates, clientValidation, place }: ListenerState): Part<Raw> | null {
  const [first, ...others] = certificates ?? []
  if (first === undefined) return null
  const validation =
    clientValidation === null
      ? {}
      : {
          root: clientValidation.root,
          ...(clientValidation.isInsecure ? { mtlsMode: 'allowInsecureFallback' } : {})
        }
  const additional = others.length === 0 ? {} : { additionalCertificates: others }
  const from = { key: place.key, path: [...place.path, 'tls', 'certificateRefs'] }
  return { value: { ...first, ...validation, ...additional }, origins: [[[], from]] }
}

function needsOf(all: readonly PolicyNeeds[]): Needs {
  return {
    backends: [...new Set(all.flatMap(({ backends }) => [...backends]))],
    secrets: [...new Set(all.flatMap(({ secrets }) => [...secrets]))]
  }
}

function placeOf({ origins }: Part, route: KubernetesObject): ObjectPlace {
  return origins.find(([at]) => at.length === 0)?.[1] ?? { key: keyOf(route), path: ['spec'] }
}

const ambiguousAt = (place: ObjectPlace): Fault => ({
  type: 'ResolvedRefs',
  reason: 'UnsupportedValue',
  message: 'its MCP backends have different authentications: give each of them a rule of its own',
  place
})

/** What a rule says itself as a level of policies: its filters. */
function filtersOf({ value, origins }: RulePart): PolicySetsPart {
  const { policies } = objectOf(value)
  if (policies === undefined) return { value: [], origins: [] }
  const inside = origins.flatMap(([at, from]): PartOrigin[] =>
    at[0] === 'policies' ? [[[0, ...at.slice(1)], from]] : []
  )
  return { value: [objectOf(policies)], origins: inside }
}

/** A route has one set of policies. */
function withPolicies({ value, origins }: RulePart, { value: sets, origins: inside }: PolicySetsPart): Part {
  const index = sets.findIndex((set) => !isPre(set))
  const { policies: _, ...rest } = objectOf(value)
  const kept = origins.filter(([at]) => at[0] !== 'policies')
  if (index === -1) return { value: rest, origins: kept }
  const moved = inside.flatMap(([at, from]): PartOrigin[] =>
    at[0] === index ? [[['policies', ...at.slice(1)], from]] : []
  )
  return { value: { ...rest, policies: sets[index] }, origins: [...kept, ...moved] }
}
