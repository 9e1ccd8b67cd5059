/** Statuses of GatewayPolicies and GatewayBackends. */

import { isSameList } from '#engine/kit/same-list.ts'
import { type KubernetesObject, keyOf, type ObjectKey, objectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, type Objects } from '#engine/kubernetes/objects/objects.ts'
import type { Fault } from '#engine/kubernetes/translation/parts.ts'
import {
  backendStatus,
  type PolicyOptions,
  type PolicyTarget,
  policyStatus
} from '#engine/kubernetes/translation/policies/index.ts'
import { poolBackendName } from '#engine/kubernetes/translation/routes/names.ts'
import type { TranslatedGateway } from '#engine/kubernetes/translation/translated.ts'
import type { StatusInputs } from './inputs.ts'
import { judgedStatus } from './judged.ts'

const NONE: readonly Fault[] = []

export class PolicyStatuses {
  readonly #options: PolicyOptions
  #memo = new Memo<unknown>()
  #faults: ReadonlyMap<ObjectKey, readonly Fault[]> = new Map()
  /** The Gateways, and the backends of each. */
  #backends: readonly unknown[] = []

  constructor(options: PolicyOptions) {
    this.#options = options
  }

  /** `hasMoved`: routes have other parents, so that policies act on other Gateways. */
  update(inputs: StatusInputs, hasMoved: boolean): Map<ObjectKey, unknown> {
    const { gateways, objects, keys } = inputs
    const backends = gateways.flatMap(({ name, compiled }) => [name, compiled.backends])
    if (keys === null || hasMoved || !isSameList(this.#backends, backends)) this.#memo = new Memo()
    else this.#memo.changed(keys)
    this.#backends = backends
    this.#updateFaults(inputs)
    const next = new Map<ObjectKey, unknown>()
    for (const policy of objects.list('GatewayPolicy')) {
      const key = keyOf(policy)
      const faults = this.#faults.get(key) ?? NONE
      const context = { gatewaysOf: (target: PolicyTarget) => gatewaysOf(target, inputs), faults }
      const make = (tracked: Objects) => {
        const own = tracked.get('GatewayPolicy', policy.metadata.namespace ?? '', policy.metadata.name)
        return judgedStatus(own ?? policy, () => policyStatus(own ?? policy, tracked, this.#options, context))
      }
      next.set(key, this.#memo.of(key, objects, make))
    }
    for (const backend of objects.list('GatewayBackend')) {
      const key = keyOf(backend)
      const make = (tracked: Objects) => {
        const own = tracked.get('GatewayBackend', backend.metadata.namespace ?? '', backend.metadata.name)
        const found = this.#faults.get(key) ?? NONE
        return judgedStatus(own ?? backend, () => backendStatus(own ?? backend, tracked, this.#options, found))
      }
      next.set(key, this.#memo.of(key, objects, make))
    }
    return next
  }

  #updateFaults({ gateways, routes, others }: StatusInputs): void {
    const all = [...gateways.flatMap(faultsOf), ...others]
    for (const { record } of routes.values()) if (record.faults.length > 0) all.push(...record.faults)
    const faults = Map.groupBy(all, ({ place }) => place.key)
    for (const key of new Set([...faults.keys(), ...this.#faults.keys()])) {
      if (!isSameList(faults.get(key) ?? NONE, this.#faults.get(key) ?? NONE)) this.#memo.forget(key)
    }
    this.#faults = faults
  }
}

/** Whatever compiling has found, of whichever object. */
function faultsOf({ compiled }: TranslatedGateway): Fault[] {
  const faults = [...compiled.above.faults, ...compiled.backendFaults]
  for (const { units } of compiled.noteworthy.values()) for (const { result } of units) faults.push(...result.faults)
  return faults
}

/** Gateways that a target acts on, as far as routes lead to it. */
function gatewaysOf(target: PolicyTarget, { gateways, routes }: StatusInputs): KubernetesObject[] {
  const { kind, namespace, name } = target
  const key = objectKey(kind, namespace, name)
  const acts = (one: TranslatedGateway): boolean => {
    if (kind === 'Gateway') return one.name === `${namespace}/${name}`
    if (kind === 'ListenerSet') return one.state.sets.some(({ set }) => keyOf(set) === key)
    if (kind === 'GatewayBackend') return one.compiled.backends.has(`${namespace}.${name}`)
    if (kind === 'InferencePool') return one.compiled.backends.has(poolBackendName(namespace, name))
    if (kind === 'Service') return one.compiled.services.has(`${namespace}/${name}`)
    return (routes.get(key)?.parents.attachments[one.name] ?? []).length > 0
  }
  return gateways.filter(acts).map(({ state }) => state.gateway)
}
