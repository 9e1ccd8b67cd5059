/** Routes of a delta that say the same become one object, and so do parts of them: thousands say much alike. */
import { isDeepStrictEqual } from 'node:util'
import type { RouteSpec } from './snapshot.ts'
import type { SnapshotDelta } from './snapshot-delta.ts'

/**
 * The delta, with one object for what is equal: a rule at two listeners, or the same policies at many routes. Messages
 * between threads keep that, MessagePack does not. For plain data, which must not be changed afterwards.
 */
export function withAlikeRoutes<D extends Pick<SnapshotDelta, 'binds'>>(delta: D): D {
  const alike = new Alike()
  const binds = delta.binds.map((bind) => ({
    ...bind,
    listeners: bind.listeners.map((listener) => ({
      ...listener,
      routes: listener.routes.map((entry) => ('matches' in entry ? alike.route(entry) : entry))
    }))
  }))
  return { ...delta, binds }
}

class Alike {
  /** By their JSON, which may be that of several: it has no room for bytes and what is undefined. */
  readonly #parts = new Map<string, object[]>()
  readonly #routes = new Map<string, RouteSpec[]>()

  /** The first of those that are equal. */
  route(spec: RouteSpec): RouteSpec {
    const { hostnames, matches, policies, backends } = spec
    const made: RouteSpec = {
      ...spec,
      hostnames: this.#part(hostnames),
      matches: this.#part(matches),
      policies: this.#part(policies),
      backends: this.#part(backends)
    }
    const key = `${made.name}/${made.rule}`
    const known = this.#routes.get(key)
    const equal = known?.find((other) => isSame(other, made))
    if (equal !== undefined) return equal
    if (known === undefined) this.#routes.set(key, [made])
    else known.push(made)
    return made
  }

  #part<T extends object>(value: T): T {
    const key = JSON.stringify(value)
    const known = this.#parts.get(key)
    const equal = known?.find((other) => isDeepStrictEqual(other, value))
    if (equal !== undefined) return equal as T
    if (known === undefined) this.#parts.set(key, [value])
    else known.push(value)
    return value
  }
}

/** Whether the fields of both are the very same. */
function isSame(a: RouteSpec, b: RouteSpec): boolean {
  const keys = Object.keys(a) as (keyof RouteSpec)[]
  return keys.length === Object.keys(b).length && keys.every((key) => Object.is(a[key], b[key]))
}
