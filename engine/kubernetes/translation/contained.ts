/**
 * An object over which weir itself stumbles is refused alone: those of others are translated all the same. Every
 * function that reads an object for the first time, its own or one that it refers to, stands in `contained`.
 */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from './parts.ts'

/** Objects do not change: one that is refused stays so until it is another one. */
const refused = new WeakMap<KubernetesObject, Fault>()
/** Of these, those that `newStumbles` has not given yet. */
let unread: Fault[] = []

/** What `make` gives; where it throws, what stands in its place. */
export function contained<T>(object: KubernetesObject, make: () => T, instead: (fault: Fault) => T): T {
  try {
    return make()
  } catch (error) {
    const fault = refused.get(object) ?? faultOf(object, error as Error)
    if (!refused.has(object)) unread.push(fault)
    refused.set(object, fault)
    return instead(fault)
  }
}

/** The text of an error may have parts of the object. */
function faultOf(object: KubernetesObject, { name }: Error): Fault {
  const message = `weir cannot read it, which is a fault of weir (${name}): please report it`
  return { type: 'Accepted', reason: 'Invalid', message, place: { key: keyOf(object), path: ['spec'] } }
}

/** Null: nothing is known against it. */
export const stumbleOf = (object: KubernetesObject): Fault | null => refused.get(object) ?? null

/** Each once. Translating does not wait, so it is called behind it for what that has stumbled over. */
export function newStumbles(): readonly Fault[] {
  const stumbles = unread
  unread = []
  return stumbles
}
