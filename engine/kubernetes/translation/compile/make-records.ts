/** Objects -> records: everything that compiling reads of them, with the policies that are attached to them. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import type { GatewayState } from '#engine/kubernetes/translation/attach/gateways.ts'
import { isServed, type ListenerState } from '#engine/kubernetes/translation/attach/listeners.ts'
import { type Input, inputOf } from '#engine/kubernetes/translation/inputs.ts'
import type { Part, PartOrigin, PolicySetsPart, RulePart } from '#engine/kubernetes/translation/parts.ts'
import {
  frontendOf,
  mergeLevels,
  type Needs as PolicyNeeds,
  type PolicyOptions,
  type PolicyTarget,
  policiesOf,
  secretEntries,
  translateBackend
} from '#engine/kubernetes/translation/policies/index.ts'
import { serviceBackends } from '#engine/kubernetes/translation/routes/backends.ts'
import { translateRoute } from '#engine/kubernetes/translation/routes/index.ts'
import { namedBackend } from '#engine/kubernetes/translation/routes/names.ts'
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
    const { rules, faults } = translateRoute(route, objects, this.#options)
    const { namespace = '', name } = route.metadata
    const target = { kind: route.kind as PolicyTarget['kind'], namespace, name }
    // Policies act on requests, and connections that are passed on unread have none.
    const whole = isStream(route.kind) ? null : policiesOf(target, objects, this.#options)
    const records = rules.map((rule): RuleRecord => {
      if (whole === null) return this.#rule(rule, rule, [], route, objects)
      const { ruleName } = objectOf(rule.value)
      const own =
        typeof ruleName === 'string' ? policiesOf({ ...target, sectionName: ruleName }, objects, this.#options) : null
      const levels = [whole, ...(own === null ? [] : [own])]
      const merged = mergeLevels([...levels.map(({ sets }) => sets), filtersOf(rule)], this.#options)
      return this.#rule(rule, withPolicies(rule, merged), levels, route, objects)
    })
    return { rules: records, faults }
  }

  #rule(
    { backends }: RulePart,
    part: Part,
    levels: readonly PolicyNeeds[],
    route: KubernetesObject,
    objects: Objects
  ): RuleRecord {
    const place = part.origins.find(([at]) => at.length === 0)?.[1] ?? { key: keyOf(route), path: ['spec'] }
    const needs = needsOf([{ backends, secrets: new Set() }, ...levels])
    return { entry: this.#input(part, objects), place, ...needs }
  }

  // --- Gateways ---

  gateway(state: GatewayState, objects: Objects): GatewayRecord {
    const { gateway, listeners, parameters, clientCertificate } = state
    const { namespace = '', name } = gateway.metadata
    const { frontend, ...around } = frontendOf(gateway, objects, this.#options)
    const own = policiesOf({ kind: 'Gateway', namespace, name }, objects, this.#options)
    const place = { key: keyOf(gateway), path: ['spec'] }
    const certificate: Part<Raw> | null =
      clientCertificate === null ? null : { value: { ...clientCertificate }, origins: [[[], place]] }
    return {
      place,
      rawConfigs: parameters.flatMap(({ rawConfig }) => (rawConfig === null ? [] : this.#input(rawConfig, objects))),
      frontend: this.#input(frontend as Part<Raw>, objects),
      policies: this.#input(own.sets, objects),
      listeners: listeners.filter(isServed).map((listener) => this.#listener(listener, objects)),
      clientCertificate: certificate === null ? null : this.#input(certificate, objects),
      ...needsOf([around, own])
    }
  }

  #listener(listener: ListenerState, objects: Objects): ListenerRecord {
    const { owner, fullName, hostname, port, protocol, place, certificate, clientAuthorities } = listener
    const { namespace = '', name } = owner.metadata
    const kind = owner.kind as PolicyTarget['kind']
    const levels = kind === 'Gateway' ? [] : [policiesOf({ kind, namespace, name }, objects, this.#options)]
    levels.push(policiesOf({ kind, namespace, name, sectionName: listener.name }, objects, this.#options))
    const merged = mergeLevels(
      levels.map(({ sets }) => sets),
      this.#options
    )
    const from = { key: place.key, path: [...place.path, 'tls', 'certificateRefs'] }
    const tls: Part<Raw> | null =
      certificate === null || certificate === undefined
        ? null
        : {
            value: { ...certificate, ...(clientAuthorities === null ? {} : { root: clientAuthorities }) },
            origins: [[[], from]]
          }
    return {
      ...{ name: fullName, hostname, port, protocol: protocol!, place },
      tls: tls === null ? null : this.#input(tls, objects),
      policies: this.#input(merged, objects),
      ...needsOf(levels)
    }
  }

  // --- what is referred to by name ---

  /** Undefined: there is no such backend, and `routes/references.ts` has not made the name. */
  backend(name: string, objects: Objects): BackendRecord | undefined {
    if (namedBackend(name) !== null) {
      const [entry] = serviceBackends([name], objects, this.#options).entries
      if (entry === undefined) return undefined
      return { name, entry: this.#input(entry as Part<Raw>, objects), backends: [], secrets: [] }
    }
    const [namespace = '', ...rest] = name.split('.')
    const object = objects.get('GatewayBackend', namespace, rest.join('.'))
    if (object === undefined) return undefined
    const { entry, backends, secrets } = translateBackend(object, objects, this.#options)
    if (entry === null) return undefined
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

function needsOf(all: readonly PolicyNeeds[]): Needs {
  return {
    backends: [...new Set(all.flatMap(({ backends }) => [...backends]))],
    secrets: [...new Set(all.flatMap(({ secrets }) => [...secrets]))]
  }
}

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
