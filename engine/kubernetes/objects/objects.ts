/** The objects that are known, and what was read of them: who has read nothing that changed need not read again. */
import { type KindName, type KubernetesObject, type ObjectKey, objectKey } from './object.ts'

/** Objects do not change: a change is another object of the same key. */
export interface Objects {
  get(kind: KindName, namespace: string, name: string): KubernetesObject | undefined
  /** All of a kind, or those of a namespace; in no order. */
  list(kind: KindName, namespace?: string): readonly KubernetesObject[]
  /**
   * The same objects, for a reader that needs few of a long list. It depends on `read` instead of on all that it looks
   * at: `read` has to be among the changed keys whenever those few change.
   */
  under(read: Read): Objects
}

/** An object, or all objects of a kind ("HTTPRoute//*") or of a kind in a namespace ("HTTPRoute/demo/*"). */
export type Read = ObjectKey

export class ObjectStore implements Objects {
  readonly #kinds = new Map<string, Map<string, Map<string, KubernetesObject>>>()

  get(kind: KindName, namespace: string, name: string): KubernetesObject | undefined {
    return this.#kinds.get(kind)?.get(namespace)?.get(name)
  }

  list(kind: KindName, namespace?: string): readonly KubernetesObject[] {
    const namespaces = this.#kinds.get(kind)
    if (namespaces === undefined) return []
    if (namespace !== undefined) return [...(namespaces.get(namespace)?.values() ?? [])]
    return [...namespaces.values()].flatMap((objects) => [...objects.values()])
  }

  under(): Objects {
    return this
  }

  set(object: KubernetesObject): void {
    const { name, namespace = '' } = object.metadata
    const namespaces = this.#kinds.get(object.kind) ?? new Map<string, Map<string, KubernetesObject>>()
    this.#kinds.set(object.kind, namespaces)
    const objects = namespaces.get(namespace) ?? new Map<string, KubernetesObject>()
    namespaces.set(namespace, objects)
    objects.set(name, object)
  }

  delete(key: ObjectKey): void {
    const [kind = '', namespace = '', name = ''] = key.split('/')
    const namespaces = this.#kinds.get(kind)
    const objects = namespaces?.get(namespace)
    objects?.delete(name)
    if (objects?.size === 0) namespaces?.delete(namespace)
  }

  static of(objects: Iterable<KubernetesObject>): ObjectStore {
    const store = new ObjectStore()
    for (const object of objects) store.set(object)
    return store
  }
}

/** Everything that someone who has read the object `key` or its list may have noted. */
export function readsOf(key: ObjectKey): readonly Read[] {
  const [kind = '', namespace = ''] = key.split('/')
  return [key, objectKey(kind, namespace, '*'), objectKey(kind, '', '*')]
}

/** Reads `objects`, and notes what was read in `reads`, found or not. */
export function tracked(objects: Objects, reads: Set<Read>): Objects {
  return {
    get(kind, namespace, name) {
      reads.add(objectKey(kind, namespace, name))
      return objects.get(kind, namespace, name)
    },
    list(kind, namespace) {
      reads.add(objectKey(kind, namespace ?? '', '*'))
      return objects.list(kind, namespace)
    },
    under(read) {
      reads.add(read)
      return objects.under(read)
    }
  }
}

/** Results by name, each made anew when something changes that it was made from. */
export class Memo<T> {
  readonly #known = new Map<string, { readonly result: T; readonly reads: ReadonlySet<Read> }>()
  readonly #readers = new Map<Read, Set<string>>()

  /** `reads`: what is noted beside it, for a result that is a part of another one. */
  of(name: string, objects: Objects, make: (objects: Objects) => T, reads?: Set<Read>): T {
    let known = this.#known.get(name)
    if (known === undefined) {
      const own = new Set<Read>()
      known = { result: make(tracked(objects, own)), reads: own }
      this.#known.set(name, known)
      for (const read of own) this.#readers.set(read, (this.#readers.get(read) ?? new Set()).add(name))
    }
    if (reads !== undefined) for (const read of known.reads) reads.add(read)
    return known.result
  }

  /** Forgets what was made from these objects, and gives its names. */
  changed(keys: Iterable<ObjectKey>): Set<string> {
    const names = new Set<string>()
    for (const key of keys) {
      for (const read of readsOf(key)) for (const name of this.#readers.get(read) ?? []) names.add(name)
    }
    for (const name of names) this.forget(name)
    return names
  }

  forget(name: string): void {
    for (const read of this.#known.get(name)?.reads ?? []) {
      const readers = this.#readers.get(read)
      readers?.delete(name)
      if (readers?.size === 0) this.#readers.delete(read)
    }
    this.#known.delete(name)
  }

  get names(): Iterable<string> {
    return this.#known.keys()
  }
}
