/** What an API server keeps: objects, and what happened to them since the last compaction. */
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { KubernetesObject, ObjectKind } from '#engine/kubernetes/objects/object.ts'
import { applied, mergePatched, type Tree } from './patches.ts'

export interface StoredEvent {
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly plural: string
  readonly object: KubernetesObject
  /** As it was; null: it was not there. */
  readonly before: KubernetesObject | null
}

/** An answer that is no success, as a Status tells it. */
export class Refusal extends Error {
  readonly code: number
  readonly reason: string

  constructor(code: number, reason: string, message: string) {
    super(message)
    this.code = code
    this.reason = reason
  }
}

/** Kinds of the core without a status of their own, or without a generation. */
const WITHOUT_STATUS = new Set(['ConfigMap', 'Secret', 'EndpointSlice', 'Lease', 'ServiceAccount', 'ReferenceGrant'])
const WITHOUT_GENERATION = new Set([
  'Namespace',
  'Service',
  'ConfigMap',
  'Secret',
  'EndpointSlice',
  'Lease',
  'ServiceAccount'
])

export type Write =
  | { readonly type: 'replace' | 'merge'; readonly body: Tree }
  | { readonly type: 'apply'; readonly body: Tree; readonly manager: string }

interface Entry {
  readonly object: KubernetesObject
  /** What each manager has applied last. */
  readonly managers: ReadonlyMap<string, Tree>
}

export class ApiStore {
  readonly #collections = new Map<string, Map<string, Entry>>()
  #history: StoredEvent[] = []
  /** Versions up to this one are forgotten. */
  #compacted = 0
  version = 1
  readonly #listeners = new Set<(event: StoredEvent) => void>()

  list({ plural }: ObjectKind, namespace: string): readonly KubernetesObject[] {
    const entries = [...(this.#collections.get(plural) ?? [])].filter(
      ([key]) => namespace === '' || key.startsWith(`${namespace}/`)
    )
    return entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, { object }]) => object)
  }

  get(kind: ObjectKind, namespace: string, name: string): KubernetesObject {
    return this.#entry(kind, namespace, name).object
  }

  create(kind: ObjectKind, namespace: string, body: Tree, managers: Entry['managers'] = new Map()): KubernetesObject {
    const { name = '' } = (body.metadata ?? {}) as { readonly name?: string }
    if (kind.isNamespaced && !this.#collections.get('namespaces')?.has(`/${namespace}`))
      throw new Refusal(404, 'NotFound', `namespaces "${namespace}" not found`)
    if (this.#collections.get(kind.plural)?.has(`${namespace}/${name}`))
      throw new Refusal(409, 'AlreadyExists', `${kind.plural} "${name}" already exists`)
    const { status: _, ...rest } = body
    const metadata = {
      ...(body.metadata as object),
      ...(kind.isNamespaced ? { namespace } : {}),
      uid: randomUUID(),
      creationTimestamp: new Date().toISOString(),
      ...(WITHOUT_GENERATION.has(kind.kind) ? {} : { generation: 1 })
    }
    return this.#keep(kind, 'ADDED', { ...(WITHOUT_STATUS.has(kind.kind) ? body : rest), metadata } as Tree, managers)
  }

  /** `isStatus`: changes the status alone; any other write changes everything but it. */
  write(kind: ObjectKind, namespace: string, name: string, write: Write, isStatus: boolean): KubernetesObject {
    const known = this.#collections.get(kind.plural)?.get(`${namespace}/${name}`)
    if (known === undefined && write.type === 'apply' && !isStatus)
      return this.create(kind, namespace, write.body, new Map([[write.manager, write.body]]))
    const { object: before, managers } = known ?? this.#entry(kind, namespace, name)
    const { resourceVersion = before.metadata.resourceVersion } = (write.body.metadata ??
      {}) as KubernetesObject['metadata']
    if (resourceVersion !== before.metadata.resourceVersion)
      throw new Refusal(
        409,
        'Conflict',
        `Operation cannot be fulfilled on ${kind.plural} "${name}": the object has been modified`
      )
    const after = merged(before as unknown as Tree, write, managers)
    const hasStatus = !WITHOUT_STATUS.has(kind.kind)
    const object = (
      isStatus ? { ...before, status: after.status } : hasStatus ? { ...after, status: before.status } : after
    ) as Tree
    if (object.status === undefined) delete object.status
    const metadata = {
      ...(object.metadata as object),
      uid: before.metadata.uid,
      creationTimestamp: before.metadata.creationTimestamp
    }
    const next = { ...object, metadata: { ...metadata, resourceVersion: before.metadata.resourceVersion } } as Tree
    const own = write.type === 'apply' ? new Map(managers).set(write.manager, write.body) : managers
    // A write that changes nothing is no event.
    if (isDeepStrictEqual(next, before)) return before
    const { generation } = before.metadata
    const isRaised = generation !== undefined && !isStatus && !isDeepStrictEqual(next.spec, before.spec)
    if (generation !== undefined) Object.assign(next.metadata as object, { generation: generation + Number(isRaised) })
    return this.#keep(kind, 'MODIFIED', next, own)
  }

  delete(kind: ObjectKind, namespace: string, name: string): KubernetesObject {
    const { object } = this.#entry(kind, namespace, name)
    this.#collections.get(kind.plural)!.delete(`${namespace}/${name}`)
    this.version++
    const last = { ...object, metadata: { ...object.metadata, resourceVersion: `${this.version}` } }
    this.#tell({ version: this.version, type: 'DELETED', plural: kind.plural, object: last, before: object })
    for (const { plural, objects } of this.#owned(object.metadata.uid!)) {
      for (const { metadata } of objects) this.delete({ ...kind, plural }, metadata.namespace ?? '', metadata.name)
    }
    return last
  }

  /** As the garbage collector of a cluster finds them. */
  #owned(uid: string) {
    const owns = ({ metadata }: KubernetesObject) =>
      ((metadata as { ownerReferences?: readonly { readonly uid: string }[] }).ownerReferences ?? []).some(
        (owner) => owner.uid === uid
      )
    return [...this.#collections].map(([plural, entries]) => ({
      plural,
      objects: [...entries.values()].map(({ object }) => object).filter(owns)
    }))
  }

  /** Null: they are forgotten. */
  since(version: number): readonly StoredEvent[] | null {
    return version < this.#compacted ? null : this.#history.filter((event) => event.version > version)
  }

  /** Forgets what has happened. */
  compact(): void {
    // A version of its own: a client that has seen the last one has not seen what is forgotten.
    this.version++
    this.#compacted = this.version
    this.#history = []
  }

  listen(listener: (event: StoredEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #entry({ plural }: ObjectKind, namespace: string, name: string): Entry {
    const entry = this.#collections.get(plural)?.get(`${namespace}/${name}`)
    if (entry === undefined) throw new Refusal(404, 'NotFound', `${plural} "${name}" not found`)
    return entry
  }

  #keep(kind: ObjectKind, type: 'ADDED' | 'MODIFIED', body: Tree, managers: Entry['managers']): KubernetesObject {
    this.version++
    const { apiVersion, kind: kindName, plural } = kind
    const metadata = { ...(body.metadata as KubernetesObject['metadata']), resourceVersion: `${this.version}` }
    const object: KubernetesObject = { ...body, apiVersion, kind: kindName, metadata }
    const entries = this.#collections.get(plural) ?? new Map<string, Entry>()
    this.#collections.set(plural, entries)
    const key = `${metadata.namespace ?? ''}/${metadata.name}`
    const before = entries.get(key)?.object ?? null
    entries.set(key, { object, managers })
    this.#tell({ version: this.version, type, plural, object, before })
    return object
  }

  #tell(event: StoredEvent): void {
    this.#history.push(event)
    for (const listener of this.#listeners) listener(event)
  }
}

function merged(before: Tree, write: Write, managers: Entry['managers']): Tree {
  if (write.type === 'replace') return write.body
  if (write.type === 'apply') return applied(before, managers.get(write.manager) ?? {}, write.body)
  return mergePatched(before, write.body) as Tree
}
