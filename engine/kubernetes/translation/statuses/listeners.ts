/** `status.listeners` of Gateways and ListenerSets. */
import { GATEWAY_GROUP } from '#engine/kubernetes/resources/names.ts'
import type { ListenerState } from '#engine/kubernetes/translation/attach/listeners.ts'
import { isServed } from '#engine/kubernetes/translation/attach/listeners.ts'
import { condition, conditionOf, faultsText } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'

/** A listener with what compiling has found. */
export interface JudgedListener {
  readonly listener: ListenerState
  readonly faults: readonly Fault[]
  /** Routes at it whose condition Accepted is True. */
  readonly attachedRoutes: number
}

export function judgedListener(
  listener: ListenerState,
  found: readonly Fault[],
  attachedRoutes: number
): JudgedListener {
  return { listener, faults: [...listener.faults, ...found], attachedRoutes }
}

export const isJudgedServed = ({ faults }: JudgedListener): boolean => isServed({ faults })

export function listenerStatus({ listener, faults, attachedRoutes }: JudgedListener) {
  const { owner, name, kinds } = listener
  return {
    name,
    supportedKinds: kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
    attachedRoutes,
    conditions: [
      conditionOf(owner, 'Accepted', faults, { reason: 'Accepted', message: 'the listener can be carried out' }),
      conditionOf(owner, 'Programmed', programming(faults), { reason: 'Programmed', message: 'data planes have it' }),
      conditionOf(owner, 'ResolvedRefs', faults, { reason: 'ResolvedRefs', message: 'all references can be followed' }),
      conflicted({ listener, faults }),
      ...overlapping({ listener, faults })
    ]
  }
}

/** What is not accepted is not programmed either. */
function programming(faults: readonly Fault[]): readonly Fault[] {
  if (faults.some(({ type }) => type === 'Programmed')) return faults
  return faults.flatMap((fault) =>
    fault.type === 'Accepted' ? { ...fault, type: 'Programmed', reason: 'Invalid' } : []
  )
}

type Judged = Pick<JudgedListener, 'listener' | 'faults'>

function conflicted({ listener: { owner, place }, faults }: Judged): Condition {
  const [first, ...more] = faults.filter(({ type }) => type === 'Conflicted')
  if (first === undefined) return condition(owner, 'Conflicted', 'False', 'NoConflicts', 'no other listener is like it')
  return condition(owner, 'Conflicted', 'True', first.reason, faultsText([first, ...more], place.key))
}

/** Only there while it is True. */
function overlapping({ listener: { owner, place }, faults }: Judged): Condition[] {
  const found = faults.find(({ type }) => type === 'OverlappingTLSConfig')
  if (found === undefined) return []
  return [condition(owner, found.type, 'True', found.reason, faultsText([found], place.key))]
}
