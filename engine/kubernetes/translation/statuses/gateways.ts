/** Statuses of Gateways and ListenerSets, without addresses, which only the cluster knows. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { GatewayState, SetState } from '#engine/kubernetes/translation/attach/gateways.ts'
import { condition, conditionOf, faultsText } from '#engine/kubernetes/translation/conditions.ts'
import type { Condition, Fault } from '#engine/kubernetes/translation/parts.ts'
import { isJudgedServed, type JudgedListener, listenerStatus } from './listeners.ts'

/** What compiling has found of the Gateway itself. */
export interface JudgedGateway {
  readonly state: GatewayState
  /** Its own and those of its sets. */
  readonly listeners: readonly JudgedListener[]
  /** Of conditions Accepted, Programmed and ResolvedRefs. */
  readonly faults: readonly Fault[]
}

const PROGRAMMED = { reason: 'Programmed', message: 'data planes have it' }

/** Whether a listener has a condition that is False. */
const hasProblem = ({ faults }: JudgedListener): boolean => faults.some(({ type }) => type !== 'OverlappingTLSConfig')

const isAccepted = ({ faults }: JudgedListener): boolean => !faults.some(({ type }) => type === 'Accepted')

const namesOf = (listeners: readonly JudgedListener[]): string =>
  listeners.map(({ listener }) => listener.name).join(', ')

/** Whether anything of it is carried out. */
export const isGatewayAccepted = ({ faults, listeners }: JudgedGateway): boolean =>
  !faults.some(({ type }) => type === 'Accepted') && listeners.some(isAccepted)

export function gatewayStatus(judged: JudgedGateway) {
  const { state, listeners } = judged
  const { gateway, sets, isInsecure } = state
  const own = listeners.filter(({ listener }) => listener.owner === gateway)
  return {
    conditions: [
      acceptedOf(judged, own),
      programmedOf(judged),
      resolvedOf(judged, own),
      ...(isInsecure ? [insecure(gateway)] : [])
    ],
    listeners: own.map(listenerStatus),
    attachedListenerSets: sets.filter((set) => isSetAccepted(set, judged)).length
  }
}

function acceptedOf(
  { state: { gateway }, faults, listeners }: JudgedGateway,
  own: readonly JudgedListener[]
): Condition {
  const wrong = own.filter(hasProblem)
  if (faults.some(({ type }) => type === 'Accepted') || wrong.length === 0) {
    return conditionOf(gateway, 'Accepted', faults, { reason: 'Accepted', message: 'the Gateway is carried out' })
  }
  const status = listeners.some(isAccepted) ? 'True' : 'False'
  const message = `listeners have problems, which their conditions say: ${namesOf(wrong)}`
  return condition(gateway, 'Accepted', status, 'ListenersNotValid', message)
}

function programmedOf({ state: { gateway }, faults, listeners }: JudgedGateway): Condition {
  const own = faults.filter(({ type }) => type === 'Programmed' || type === 'Accepted')
  const text = faultsText(own, keyOf(gateway))
  if (own.length > 0) return condition(gateway, 'Programmed', 'False', 'Invalid', text)
  if (listeners.some(isJudgedServed))
    return condition(gateway, 'Programmed', 'True', PROGRAMMED.reason, PROGRAMMED.message)
  return condition(gateway, 'Programmed', 'False', 'Invalid', 'none of its listeners can be served')
}

function resolvedOf({ state: { gateway }, faults }: JudgedGateway, own: readonly JudgedListener[]): Condition {
  const lost = own.filter((one) => one.faults.some(({ type }) => type === 'ResolvedRefs'))
  if (lost.length > 0 && !faults.some(({ type }) => type === 'ResolvedRefs')) {
    const message = `references of listeners cannot be followed: ${namesOf(lost)}`
    return condition(gateway, 'ResolvedRefs', 'False', 'ListenersNotResolved', message)
  }
  const good = { reason: 'ResolvedRefs', message: 'all references can be followed' }
  return conditionOf(gateway, 'ResolvedRefs', faults, good)
}

const insecure = (gateway: KubernetesObject): Condition =>
  condition(
    gateway,
    'InsecureFrontendValidationMode',
    'True',
    'ConfigurationChanged',
    'clients are let in whatever certificate they have: AllowInsecureFallback'
  )

// --- ListenerSets ---

const listenersOfSet = ({ set }: SetState, { listeners }: JudgedGateway): readonly JudgedListener[] =>
  listeners.filter(({ listener }) => listener.owner === set)

const isSetAccepted = (state: SetState, judged: JudgedGateway): boolean =>
  setFaults(state, judged).length === 0 && listenersOfSet(state, judged).some(isJudgedServed)

function setFaults({ set, faults }: SetState, { faults: ofGateway }: JudgedGateway): readonly Fault[] {
  if (faults.length > 0 || !ofGateway.some(({ type }) => type === 'Accepted')) return faults
  const place = { key: keyOf(set), path: ['spec', 'parentRef'] }
  return [{ type: 'Accepted', reason: 'ParentNotAccepted', message: 'the Gateway is not accepted', place }]
}

export function listenerSetStatus(state: SetState, judged: JudgedGateway) {
  const { set } = state
  const own = listenersOfSet(state, judged)
  const faults = setFaults(state, judged)
  const conditions = (['Accepted', 'Programmed'] as const).map((type): Condition => {
    const good = type === 'Accepted' ? { reason: type, message: 'the ListenerSet is carried out' } : PROGRAMMED
    if (faults.length > 0)
      return conditionOf(
        set,
        type,
        faults.map((fault) => ({ ...fault, type })),
        good
      )
    const wrong = own.filter(hasProblem)
    if (wrong.length === 0) return condition(set, type, 'True', good.reason, good.message)
    const message = `listeners have problems, which their conditions say: ${namesOf(wrong)}`
    if (!own.some(isJudgedServed)) return condition(set, type, 'False', 'ListenersNotValid', message)
    return condition(set, type, 'True', type === 'Accepted' ? 'ListenersNotValid' : good.reason, message)
  })
  return { conditions, listeners: own.map(listenerStatus) }
}
