/** An object over which weir itself stumbles is refused alone: those of other tenants are translated all the same. */
import { type KubernetesObject, keyOf } from '#engine/kubernetes/objects/object.ts'
import type { Fault } from './parts.ts'

/** What `make` gives; where it throws, what stands in its place. */
export function contained<T>(object: KubernetesObject, make: () => T, instead: (fault: Fault) => T): T {
  try {
    return make()
  } catch (error) {
    // Its text may have parts of the object.
    const message = `weir cannot read it, which is a fault of weir (${(error as Error).name}): please report it`
    return instead({ type: 'Accepted', reason: 'Invalid', message, place: { key: keyOf(object), path: ['spec'] } })
  }
}
