/**
 * Results by object, each good as long as everything that was read for it is the same. Policies are converted once for
 * all that they are attached to, and every caller has read what the conversion has read.
 */
import { isSameList } from '#engine/kit/same-list.ts'
import type { KindName, KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'

type IsSame = (objects: Objects) => boolean

export class Recall<T> {
  readonly #known = new WeakMap<KubernetesObject, { readonly result: T; readonly reads: readonly IsSame[] }>()

  of(object: KubernetesObject, objects: Objects, make: (objects: Objects) => T): T {
    const known = this.#known.get(object)
    if (known?.reads.every((isSame) => isSame(objects)) === true) return known.result
    const reads: IsSame[] = []
    const result = make(noting(objects, reads))
    this.#known.set(object, { result, reads })
    return result
  }
}

function noting(objects: Objects, reads: IsSame[]): Objects {
  return {
    get(kind: KindName, namespace: string, name: string) {
      const found = objects.get(kind, namespace, name)
      reads.push((now) => now.get(kind, namespace, name) === found)
      return found
    },
    list(kind: KindName, namespace?: string) {
      const found = objects.list(kind, namespace)
      reads.push((now) => isSameList(found, now.list(kind, namespace)))
      return found
    },
    // Who reads so is told of changes by that name, and nothing that is recalled does.
    under: (read) => objects.under(read)
  }
}
