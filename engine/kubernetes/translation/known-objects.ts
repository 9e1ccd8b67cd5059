/** Which changes of objects are changes for the translation: statuses, which it writes itself, are not. */
import {
  KINDS,
  type KindName,
  type KubernetesObject,
  keyOf,
  type ObjectKey
} from '#engine/kubernetes/objects/object.ts'
import type { Objects } from '#engine/kubernetes/objects/objects.ts'
import { aimKeys } from './policies/targets.ts'

/** Kinds whose objects have a generation, which does not rise with their status. Endpoints have none. */
const WITH_STATUS: ReadonlySet<string> = new Set(
  (Object.keys(KINDS) as KindName[]).filter((kind) => KINDS[kind].apiVersion.includes('.') && kind !== 'EndpointSlice')
)

export class KnownObjects {
  readonly #known = new Map<ObjectKey, KubernetesObject>()

  /**
   * Those of `keys` whose objects have changed in what the translation reads. With a GatewayPolicy come the keys under
   * which the policies of its targets are read (aimKeys): of those that it had, and of those that it has.
   */
  changed(objects: Objects, keys: Iterable<ObjectKey>): ObjectKey[] {
    return [...keys].flatMap((key) => {
      const [kind, namespace = '', name = ''] = key.split('/')
      // Addresses of endpoints are no part of a configuration.
      if (kind === 'EndpointSlice') return []
      const before = this.#known.get(key)
      const now = objects.get(kind as KindName, namespace, name)
      if (now === undefined) this.#known.delete(key)
      else this.#known.set(key, now)
      if (before !== undefined && now !== undefined && isAlike(before, now)) return []
      if (kind !== 'GatewayPolicy') return [key]
      return [key, ...[before, now].flatMap((policy) => (policy === undefined ? [] : aimKeys(policy, objects)))]
    })
  }

  /** All of `objects` are known. */
  reset(objects: Objects): void {
    this.#known.clear()
    for (const kind of WITH_STATUS) {
      for (const one of objects.list(kind as KindName)) this.#known.set(keyOf(one), one)
    }
  }
}

/** Other kinds have no status that would be written often. */
function isAlike({ kind, metadata: a }: KubernetesObject, { metadata: b }: KubernetesObject): boolean {
  return (
    WITH_STATUS.has(kind) &&
    a.generation !== undefined &&
    a.generation === b.generation &&
    a.uid === b.uid &&
    a.deletionTimestamp === b.deletionTimestamp &&
    JSON.stringify([a.labels, a.annotations]) === JSON.stringify([b.labels, b.annotations])
  )
}
