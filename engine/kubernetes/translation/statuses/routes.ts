/** `status.parents` of routes: the entries of this controller. */
import type { KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { keyOf } from '#engine/kubernetes/objects/object.ts'
import type { ParentState } from '#engine/kubernetes/translation/attach/routes.ts'
import { condition, conditionOf, faultsText } from '#engine/kubernetes/translation/conditions.ts'
import { contained } from '#engine/kubernetes/translation/contained.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { entriesOf, objectOf } from '#engine/schema/placed.ts'

const ACCEPTED = { reason: 'Accepted', message: 'the route is attached' }
const RESOLVED = { reason: 'ResolvedRefs', message: 'all references can be followed' }

export interface JudgedParent {
  readonly parent: ParentState
  /** What translating the route, and compiling it at the listeners of this parent, has found. */
  readonly faults: readonly Fault[]
}

export interface RouteParentStatus {
  readonly parentRef: ParentState['ref']
  readonly controllerName: string
  readonly conditions: readonly Condition[]
}

export function routeStatus(
  route: KubernetesObject,
  parents: readonly JudgedParent[],
  controllerName: string
): { readonly parents: readonly RouteParentStatus[] } {
  return {
    parents: parents.map(({ parent, faults }) => ({
      parentRef: parent.ref,
      controllerName,
      conditions: conditionsOf(route, parent, faults)
    }))
  }
}

export const isAttached = ({ parent, faults }: JudgedParent, route: KubernetesObject): boolean =>
  parent.attachments.length > 0 && validityOf(route, faults) !== 'none'

function conditionsOf(route: KubernetesObject, parent: ParentState, faults: readonly Fault[]): Condition[] {
  const resolved = conditionOf(route, 'ResolvedRefs', faults, RESOLVED)
  if (parent.faults.length > 0) return [conditionOf(route, 'Accepted', parent.faults, ACCEPTED), resolved]
  const validity = validityOf(route, faults)
  if (validity === 'none') return [conditionOf(route, 'Accepted', faults, ACCEPTED), resolved]
  const accepted = conditionOf(route, 'Accepted', [], ACCEPTED)
  if (validity === 'all') return [accepted, resolved]
  const own = faults.filter(({ type }) => type === 'Accepted')
  const message = `Dropped Rule: ${faultsText(own, keyOf(route))}`
  return [accepted, resolved, condition(route, 'PartiallyInvalid', 'True', 'UnsupportedValue', message)]
}

/** How many of its rules are carried out as they are said. */
function validityOf(route: KubernetesObject, faults: readonly Fault[]): 'all' | 'some' | 'none' {
  const count = contained(
    route,
    () => entriesOf(objectOf(route.spec).rules, []).length || 1,
    () => 0
  )
  const wrong = new Set<unknown>()
  for (const { type, place } of faults) {
    if (type !== 'Accepted') continue
    // What is not said of a rule is said of all of them.
    if (place.path[1] !== 'rules' || place.path[2] === undefined) return 'none'
    wrong.add(place.path[2])
  }
  return wrong.size === 0 ? 'all' : wrong.size < count ? 'some' : 'none'
}
