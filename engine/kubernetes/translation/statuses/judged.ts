/** Statuses of objects over which weir itself may stumble, before or while they are made. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { condition } from '#engine/kubernetes/translation/conditions.ts'
import { contained, stumbleOf } from '#engine/kubernetes/translation/contained.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'

/** What `make` gives; of an object that is refused, with that in all of its conditions Accepted. */
export function judgedStatus(object: KubernetesObject, make: () => object): object {
  const status = contained(object, make, () => ({}))
  const fault = stumbleOf(object)
  return fault === null ? status : refusedStatus(object, status, fault)
}

/** A status, or a part of one. */
interface WithConditions {
  readonly conditions?: readonly Condition[]
}

function refusedStatus(object: KubernetesObject, status: object, { reason, message }: Fault): object {
  const accepted = condition(object, 'Accepted', 'False', reason, message)
  const refuse = <T extends WithConditions>(one: T): T => {
    // It may say more than that.
    if (one.conditions?.some(({ type, message: own }) => type === 'Accepted' && own.includes(message)) === true)
      return one
    const rest = (one.conditions ?? []).filter(({ type }) => type !== 'Accepted')
    return { ...one, conditions: [accepted, ...rest] }
  }
  const { parents, ancestors } = status as Readonly<Record<string, readonly WithConditions[] | undefined>>
  if (parents !== undefined) return { ...status, parents: parents.map(refuse) }
  return ancestors === undefined ? refuse(status) : { ...status, ancestors: ancestors.map(refuse) }
}
