/** `status.parents` of InferencePools: the entries of this controller, one for each Gateway whose routes lead there. */
import { type KubernetesObject, keyOf, type ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { Memo, type Objects } from '#engine/kubernetes/objects/objects.ts'
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import { conditionOf } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition } from '#engine/kubernetes/translation/parts.ts'
import { poolBackendName } from '#engine/kubernetes/translation/routes/names.ts'
import { judgedPool } from '#engine/kubernetes/translation/routes/pools.ts'
import type { StatusInputs } from './inputs.ts'

/** InferencePoolStatus. */
const PARENTS_MAX = 32

const ACCEPTED = { reason: 'Accepted', message: 'routes of the Gateway lead to it' }
const RESOLVED = { reason: 'ResolvedRefs', message: 'all references can be followed' }

export class PoolStatuses {
  readonly #controllerName: string
  #memo = new Memo<readonly Condition[]>()

  constructor(controllerName: string) {
    this.#controllerName = controllerName
  }

  update({ gateways, objects, keys }: StatusInputs): Map<ObjectKey, unknown> {
    if (keys === null) this.#memo = new Memo()
    else this.#memo.changed(keys)
    const statuses = new Map<ObjectKey, unknown>()
    for (const pool of objects.list('InferencePool')) {
      const key = keyOf(pool)
      const { namespace = '', name } = pool.metadata
      const make = (tracked: Objects) => conditionsOf(tracked.get('InferencePool', namespace, name) ?? pool, tracked)
      const conditions = this.#memo.of(key, objects, make)
      const users = gateways.filter(({ compiled }) => compiled.backends.has(poolBackendName(namespace, name)))
      const parents = users.slice(0, PARENTS_MAX).map(({ state }) => this.#parent(state.gateway, conditions))
      statuses.set(key, { parents })
    }
    return statuses
  }

  #parent({ kind, metadata: { namespace, name } }: KubernetesObject, conditions: readonly Condition[]) {
    return {
      parentRef: { group: GATEWAY_GROUP, kind, namespace, name },
      controllerName: this.#controllerName,
      conditions
    }
  }
}

function conditionsOf(pool: KubernetesObject, objects: Objects): readonly Condition[] {
  const { faults } = judgedPool(pool, objects)
  return [conditionOf(pool, 'Accepted', faults, ACCEPTED), conditionOf(pool, 'ResolvedRefs', faults, RESOLVED)]
}
