/** Conditions of statuses (meta/v1), without the times of their transitions. */
import type { KubernetesObject, ObjectKey } from '#engine/kubernetes/objects/object.ts'
import { keyOf } from '#engine/kubernetes/objects/object.ts'
import { pathText } from '#engine/schema/placed.ts'
import type { Condition, Fault, ObjectPlace } from './parts.ts'

/** meta/v1: what the message of a condition may have. */
const MESSAGE_CHARS_MAX = 32_768
/** Of one kind that are told. More do not help anybody. */
const FAULTS_SHOWN_MAX = 8

export const generationOf = ({ metadata }: KubernetesObject): number => metadata.generation ?? 0

export const condition = (
  object: KubernetesObject,
  type: string,
  status: Condition['status'],
  reason: string,
  message: string
): Condition => ({
  type,
  status,
  reason,
  message: message.slice(0, MESSAGE_CHARS_MAX),
  observedGeneration: generationOf(object)
})

/** What a condition says while nothing is wrong. */
export interface Good {
  readonly reason: string
  readonly message: string
}

/** A condition that is True unless there are faults of its type; then the first gives the reason. */
export function conditionOf(
  object: KubernetesObject,
  type: string,
  faults: readonly Fault[],
  { reason, message }: Good
): Condition {
  const own = faults.filter((fault) => fault.type === type)
  const [first] = own
  return first === undefined
    ? condition(object, type, 'True', reason, message)
    : condition(object, type, 'False', first.reason, faultsText(own, keyOf(object)))
}

/** In one line. `key`: of the object whose status it is, which need not be named. */
export function faultsText(faults: readonly Fault[], key: ObjectKey): string {
  const texts = [...new Set(faults.map((fault) => faultText(fault, key)))]
  const rest = texts.length - FAULTS_SHOWN_MAX
  const shown = texts.slice(0, FAULTS_SHOWN_MAX).join('; ')
  return rest > 0 ? `${shown}; and ${rest} more` : shown
}

function faultText({ message, place }: Fault, key: ObjectKey): string {
  const at = place.key === key ? pathText(place.path) : placeText(place)
  return at === '' ? message : `${at}: ${message}`
}

/** "HTTPRoute demo/shop: spec.rules[0]"; of the cluster: "GatewayClass weir". */
export function placeText({ key, path }: ObjectPlace): string {
  const at = pathText(path)
  return at === '' ? objectText(key) : `${objectText(key)}: ${at}`
}

export function objectText(key: ObjectKey): string {
  const [kind = '', namespace = '', name = ''] = key.split('/')
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}
