/** An object over which weir itself stumbles is refused alone: those of other tenants are translated all the same. */
import type { ObjectKey } from '#engine/kubernetes/objects/object.ts'
import type { RouteRecord } from './compile/records.ts'

/** What `make` gives; where it throws, what stands in its place. */
export function contained<T>(make: () => T, instead: (fault: string) => T): T {
  try {
    return make()
  } catch (error) {
    // Its text may have parts of the object.
    return instead(`weir cannot read it, which is a fault of weir (${(error as Error).name}): please report it`)
  }
}

/** A route that is not served, and says why. */
export const unreadableRoute = (key: ObjectKey, message: string): RouteRecord => ({
  rules: [],
  faults: [{ type: 'Accepted', reason: 'UnsupportedValue', message, place: { key, path: ['spec'] } }]
})
