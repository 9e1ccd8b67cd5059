/** What is wrong with policies `http` (two of one place, or no server that they could act on), and with paths. */

import { entriesOf, type Path, type Placed, policySetsOf, type Raw } from '#engine/schema/placed.ts'
import type { Problem } from '#engine/standalone/problems.ts'
import type { Source } from '#engine/standalone/source.ts'
import { bindsOf } from '#engine/standalone/walk.ts'
import { checkMatchPaths } from './reach.ts'

const OF_SERVERS = 'acts on backends that are plain servers (host, static, dynamic)'

/** `file`: as read, whatever else is wrong with it. */
export function checkHttp(file: Raw, source: Source): Problem[] {
  return [...new Checks(file, source).run(), ...checkMatchPaths(file, source)]
}

class Checks {
  readonly #file: Raw
  readonly #source: Source
  readonly #problems = new Map<string, Problem>()
  readonly #named: ReadonlyMap<unknown, Placed>

  constructor(file: Raw, source: Source) {
    this.#file = file
    this.#source = source
    this.#named = new Map(entriesOf(file.backends, ['backends']).map((backend) => [backend.raw.name, backend]))
  }

  run(): Iterable<Problem> {
    const reaches = new Map<string, Path>()
    const around = (place: Placed): Path[] => {
      const paths = this.#of(place)
      for (const path of paths) reaches.set(path.join(), path)
      return paths
    }
    const reached = new Set<string>()
    const top = around({ raw: this.#file, path: [] })
    for (const backend of this.#named.values()) this.#refuseOn(backend, backend)
    for (const listener of bindsOf(this.#file).flatMap((bind) => bind.listeners)) {
      const outer = [...top, ...around(listener)]
      for (const route of listener.routes) {
        // The one route of a shortcut has no place of its own.
        const own = route.path.length === 1 ? [] : around(route)
        for (const reference of entriesOf(route.raw.backends, [...route.path, 'backends'])) {
          const backend = reference.raw.backend === undefined ? reference : this.#named.get(reference.raw.backend)
          // That there is no such backend is said elsewhere.
          if (backend === undefined || this.#refuseOn(reference, backend)) continue
          for (const path of [...outer, ...own]) reached.add(path.join())
        }
      }
    }
    for (const [key, path] of reaches) {
      if (!reached.has(key)) this.#report(path, `${OF_SERVERS}, and there is none below`)
    }
    return this.#problems.values()
  }

  #report(path: Path, message: string): void {
    this.#problems.set(`${path.join()} ${message}`, { path, offset: this.#source.locate(path, 'key'), message })
  }

  #of(place: Placed): Path[] {
    const paths = policySetsOf(place).flatMap(({ raw, path }) => {
      if (raw.http === undefined) return []
      const at = [...path, 'http']
      if (raw.phase !== 'PreRouting') return [at]
      this.#report(at, 'is for backends, which are not known in the phase PreRouting')
      return []
    })
    for (const path of paths.slice(1)) this.#report(path, 'is in another set of this place already: keep one of them')
    return paths
  }

  /** Whether `backend` is no server; what `place` says of it then is a mistake. */
  #refuseOn(place: Placed, { raw }: Placed): boolean {
    const paths = this.#of(place)
    if (raw.ai === undefined && raw.mcp === undefined) return false
    for (const path of paths) this.#report(path, `${OF_SERVERS}, and this one is none`)
    return true
  }
}
