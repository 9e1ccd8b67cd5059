/**
 * An object over which weir itself stumbles is refused alone: those of others are translated all the same. Every
 * function that reads an object for the first time, its own or one that it refers to, stands in `contained`.
 */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from './parts.ts'

/** What one translation, and what is made of it, has stumbled over. */
export class Stumbles {
  /** Objects do not change: one that is refused stays so until it is another one. */
  readonly #refused = new WeakMap<KubernetesObject, Fault>()
  /** Of these, those that `take` has not given yet. */
  #unread: Fault[] = []

  /** What `contained` refuses while `work` runs, which does not wait, is noted here. */
  during<T>(work: () => T): T {
    const outer = current
    current = this
    try {
      return work()
    } finally {
      current = outer
    }
  }

  /** Null: nothing is known against it. */
  of(object: KubernetesObject): Fault | null {
    return this.#refused.get(object) ?? null
  }

  note(object: KubernetesObject, fault: Fault): void {
    if (this.#refused.has(object)) return
    this.#refused.set(object, fault)
    this.#unread.push(fault)
  }

  /** Each once. */
  take(): readonly Fault[] {
    const stumbles = this.#unread
    this.#unread = []
    return stumbles
  }
}

/** Of the work that runs now. */
let current: Stumbles | null = null

/** What `make` gives; where it throws, what stands in its place. */
export function contained<T>(object: KubernetesObject, make: () => T, instead: (fault: Fault) => T): T {
  try {
    return make()
  } catch (error) {
    const fault = stumbleOf(object) ?? faultOf(object, error as Error)
    noteStumble(object, fault)
    return instead(fault)
  }
}

/** Also for who has kept what was made instead. */
export function noteStumble(object: KubernetesObject, fault: Fault): void {
  current?.note(object, fault)
}

/** What the work that runs now knows against it. */
export const stumbleOf = (object: KubernetesObject): Fault | null => current?.of(object) ?? null

/** The text of an error may have parts of the object. */
function faultOf(object: KubernetesObject, { name }: Error): Fault {
  const message = `weir cannot read it, which is a fault of weir (${name}): please report it`
  return { type: 'Accepted', reason: 'Invalid', message, place: { key: keyOf(object), path: ['spec'] } }
}
