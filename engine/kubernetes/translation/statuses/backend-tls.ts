/** `status.ancestors` of BackendTLSPolicies: the entries of this controller. */
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, type Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import type { Condition } from '#engine/kubernetes/translation/parts.ts'
import { readTargets } from '#engine/kubernetes/translation/routes/backend-tls.ts'
import { backendTlsConditions } from '#engine/kubernetes/translation/routes/backend-tls-status.ts'
import { serviceOf } from '#engine/kubernetes/translation/routes/names.ts'
import type { TranslatedGateway } from '#engine/kubernetes/translation/translated.ts'
import type { StatusInputs } from './inputs.ts'

/** Gateway API, PolicyStatus. */
const ANCESTORS_MAX = 16

export class BackendTlsStatuses {
  readonly #controllerName: string
  #memo = new Memo<readonly Condition[]>()

  constructor(controllerName: string) {
    this.#controllerName = controllerName
  }

  /** A policy for Services that no Gateway sends to has no ancestors, and one for what others may know neither. */
  update({ gateways, objects, keys }: StatusInputs): Map<ObjectKey, unknown> {
    if (keys === null) this.#memo = new Memo()
    else this.#memo.changed(keys)
    const all = objects.list('BackendTLSPolicy')
    if (all.length === 0) return new Map()
    const users = gateways.map((gateway) => ({ gateway, services: servicesOf(gateway) }))
    return new Map(
      all.map((policy) => {
        const key = keyOf(policy)
        const make = (tracked: Objects) => {
          const own = tracked.get('BackendTLSPolicy', policy.metadata.namespace ?? '', policy.metadata.name)
          return backendTlsConditions(own ?? policy, tracked)
        }
        const conditions = this.#memo.of(key, objects, make)
        const { services, isForOthers } = readTargets(policy)
        const names = services.map(({ name }) => `${policy.metadata.namespace}/${name}`)
        const ancestors = users
          .filter((user) => names.some((name) => user.services.has(name)))
          .slice(0, ANCESTORS_MAX)
          .map(({ gateway }) => this.#ancestor(gateway.state.gateway, conditions))
        // A status needs an ancestor, and nothing else is known that could be one.
        const isLost = services.length === 0 && !isForOthers && gateways.length > 0
        return [key, { ancestors: isLost ? [this.#ancestor(policy, conditions)] : ancestors }]
      })
    )
  }

  #ancestor({ kind, metadata: { namespace, name } }: KubernetesObject, conditions: readonly Condition[]) {
    return {
      ancestorRef: { group: GATEWAY_GROUP, kind, namespace, name },
      controllerName: this.#controllerName,
      conditions
    }
  }
}

/** Also those that nothing can be sent to, because of the policy. */
function servicesOf({ compiled }: TranslatedGateway): ReadonlySet<string> {
  const services = [...compiled.backends].flatMap((name) => serviceOf(name) ?? [])
  return new Set(services.map(({ namespace, name }) => `${namespace}/${name}`))
}
