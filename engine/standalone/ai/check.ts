/** What is wrong with policies of backends that act on models: two in one place, or none of the models reached. */
import type { AiRouteType } from '#engine/ir/snapshot.ts'
import { entriesOf, objectOf, type Path, type Placed, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import type { Problem } from '#engine/standalone/problems.ts'
import type { Source } from '#engine/standalone/source.ts'
import { bindsOf } from '#engine/standalone/walk.ts'
import { unguardedRoute } from './guards.ts'
import { MODEL_KEYS, type ModelKey } from './policies.ts'

/** One policy of one place, as it was read. */
interface Given {
  readonly field: (typeof MODEL_KEYS)[ModelKey]
  readonly value: unknown
  readonly path: Path
}

const FOR_TARGETS = 'which this backend has not: each of its targets has policies of its own'
const NOT_OF_MODELS = 'acts on models only in this version of weir'

/** `file`: as read, whatever else is wrong with it. */
export function checkModelPolicies(file: Raw, source: Source): Problem[] {
  return new Checks(file, source).run()
}

class Checks {
  readonly #file: Raw
  readonly #source: Source
  readonly #problems = new Map<string, Problem>()
  readonly #named: ReadonlyMap<unknown, Placed>
  /** What is said of models around routes, and whether some route has any. */
  readonly #reaches = new Map<Given, boolean>()

  constructor(file: Raw, source: Source) {
    this.#file = file
    this.#source = source
    this.#named = new Map(entriesOf(file.backends, ['backends']).map((backend) => [backend.raw.name, backend]))
  }

  run(): Problem[] {
    const top = this.#of({ raw: this.#file, path: [] })
    const owns = new Map([...this.#named].map(([name, backend]) => [name, this.#ofBackend(backend)]))
    for (const listener of bindsOf(this.#file).flatMap((bind) => bind.listeners)) {
      const outer = this.#of(listener)
      if (listener.path[0] === 'llm') {
        for (const given of [...top, ...outer]) {
          this.#report(
            given.path,
            'does not act on llm, which says it of each model: put it on a listener or a backend'
          )
        }
        continue
      }
      for (const route of listener.routes) {
        const levels = [top, outer, this.#of(route)]
        for (const reference of entriesOf(route.raw.backends, [...route.path, 'backends'])) {
          this.#checkReference(reference, levels, owns)
        }
      }
    }
    for (const [{ path }, isReached] of this.#reaches) {
      if (!isReached) this.#report(path, `${NOT_OF_MODELS}, and no backend below has any`)
    }
    return [...this.#problems.values()]
  }

  #report(path: Path, message: string): void {
    this.#problems.set(`${path.join()} ${message}`, { path, offset: this.#source.locate(path, 'key'), message })
  }

  #of(place: Placed): Given[] {
    const seen = new Map<string, string>()
    const all = policySetsOf(place).flatMap(({ raw, path }) => {
      return Object.entries(MODEL_KEYS).flatMap(([key, field]) => {
        if (raw[key] === undefined) return []
        const given = { field, value: raw[key], path: [...path, key] }
        if (raw.phase === 'PreRouting') {
          this.#report(given.path, 'is for backends, which are not known in the phase PreRouting')
        }
        const other = seen.get(field)
        if (other !== undefined) this.#report(given.path, `says again what ${other} says: keep one of them`)
        seen.set(field, key)
        return [given]
      })
    })
    if (place.path.at(-2) !== 'backends') for (const given of all) this.#reaches.set(given, false)
    return all
  }

  #ofBackend(backend: Placed): Given[] {
    const own = this.#of(backend)
    if (backend.raw.mcp !== undefined) this.#refuse(own, FOR_TARGETS)
    else if (backend.raw.ai === undefined) this.#refuse(own, 'which this backend has not')
    else this.#checkGuards(backend, [own])
    return own
  }

  #checkReference(
    reference: Placed,
    levels: readonly (readonly Given[])[],
    owns: ReadonlyMap<unknown, readonly Given[]>
  ): void {
    const { raw } = reference
    const backend = raw.backend === undefined ? reference : this.#named.get(raw.backend)
    // That there is no such backend is said elsewhere.
    if (backend === undefined) return
    const own = this.#of(reference)
    const outer = levels.flat()
    if (backend.raw.ai === undefined) {
      this.#refuse(own, 'which this backend has not')
      const name = text(raw.backend) ?? text(raw.host) ?? (raw.mcp === undefined ? 'a dynamic one' : 'MCP servers')
      const secret = outer.filter(({ field }) => field !== 'ai')
      for (const given of secret) this.#reaches.set(given, true)
      this.#refuse(secret, `and there is another backend below (${name}): put it on the backend of models`)
      return
    }
    for (const given of outer) this.#reaches.set(given, true)
    this.#checkGuards(backend, [...levels, owns.get(raw.backend) ?? [], own])
  }

  #refuse(given: readonly Given[], why: string): void {
    for (const { path } of given) this.#report(path, `${NOT_OF_MODELS}, ${why}`)
  }

  /** Guards and routes of different places must do together: what the backend has itself is seen by its schema. */
  #checkGuards({ raw, path }: Placed, levels: readonly (readonly Given[])[]): void {
    const own = { value: raw.ai, path: [...path, 'ai'] }
    const settings = levels.flat().findLast(({ field }) => field === 'ai')
    if (settings === undefined) return
    const owner = (key: string) => [own, settings].find(({ value }) => objectOf(value)[key] !== undefined)
    const guards = owner('promptGuard')
    const routes = objectOf(objectOf(owner('routes')?.value).routes)
    if (guards === undefined || (guards === own && owner('routes') === own)) return
    const known = Object.fromEntries(Object.entries(routes).filter(([, type]) => typeof type === 'string'))
    const unguarded = unguardedRoute(known as Record<string, AiRouteType>)
    if (unguarded === null) return
    const what = `prompt guards cannot see what passes as ${unguarded[1]} (route ${unguarded[0]})`
    this.#report([...guards.path, 'promptGuard'], `${what}; that needs a backend without them`)
  }
}
