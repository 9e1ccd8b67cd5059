/** Mistakes of `mcp` backends and rules that no schema sees: rules that reach nothing, files that are not there. */

import type { DocumentSources } from '#engine/contract/policy.ts'
import { entriesOf, objectOf, type Path, type Placed, policySetsOf, type Raw, text } from '#engine/schema/placed.ts'
import type { Problem } from '#engine/standalone/problems.ts'
import type { Source } from '#engine/standalone/source.ts'
import { bindsOf } from '#engine/standalone/walk.ts'
import { readDocument } from './document.ts'
import { MCP_KEYS } from './policies.ts'
import { readKey } from './session-key.ts'
import { isFetched } from './targets.ts'

/** `file`: as read, whatever else is wrong with it. */
export function checkMcp(file: Raw, source: Source, sources: DocumentSources): Problem[] {
  return [...new Checks(file, source, sources).run()]
}

/** Rules of one place: the keys that say them. */
interface Given {
  readonly path: Path
}

const OF_MCP = 'acts on MCP servers'

class Checks {
  readonly #file: Raw
  readonly #source: Source
  readonly #sources: DocumentSources
  readonly #problems = new Map<string, Problem>()
  readonly #named: ReadonlyMap<unknown, Placed>
  /** What stands around routes, and whether it reaches an MCP server. */
  readonly #reaches = new Map<Given, boolean>()

  constructor(file: Raw, source: Source, sources: DocumentSources) {
    this.#file = file
    this.#source = source
    this.#sources = sources
    this.#named = new Map(entriesOf(file.backends, ['backends']).map((backend) => [backend.raw.name, backend]))
  }

  run(): Iterable<Problem> {
    const top = this.#around({ raw: this.#file, path: [] })
    for (const backend of this.#named.values()) this.#checkBackend(backend)
    if (this.#file.mcp !== undefined) this.#checkFiles(objectOf(this.#file.mcp), ['mcp'])
    for (const listener of bindsOf(this.#file).flatMap((bind) => bind.listeners)) {
      const outer = [...top, ...this.#around(listener)]
      if (listener.path[0] === 'mcp') for (const given of outer) this.#reaches.set(given, true)
      for (const route of listener.routes) {
        // The one route of a shortcut has no place of its own.
        const own = route.path.length === 1 ? [] : this.#around(route)
        const references = entriesOf(route.raw.backends, [...route.path, 'backends'])
        const isMcp = references.map((reference) => this.#checkReference(reference))
        if (isMcp.includes(true)) for (const given of [...outer, ...own]) this.#reaches.set(given, true)
      }
    }
    for (const [{ path }, isReached] of this.#reaches) {
      if (!isReached) this.#report(path, `${OF_MCP}, and no backend below has any`)
    }
    return this.#problems.values()
  }

  #report(path: Path, message: string, what: 'key' | 'value' = 'key'): void {
    this.#problems.set(`${path.join()} ${message}`, { path, offset: this.#source.locate(path, what), message })
  }

  #around(place: Placed): Given[] {
    const all = this.#rulesOf(place)
    for (const given of all) this.#reaches.set(given, false)
    return all
  }

  #rulesOf(place: Placed): Given[] {
    return policySetsOf(place).flatMap(({ raw, path }) => {
      const given = MCP_KEYS.filter((key) => raw[key] !== undefined).map((key) => ({ path: [...path, key] }))
      if (given.length > 1) this.#report(given[1]!.path, 'says again what mcpAuthorization says: keep one of them')
      if (raw.phase !== 'PreRouting') return given
      for (const one of given) this.#report(one.path, 'is for backends, which are not known in the phase PreRouting')
      return []
    })
  }

  #checkBackend(backend: Placed): void {
    const own = this.#rulesOf(backend)
    if (backend.raw.mcp !== undefined) this.#checkFiles(objectOf(backend.raw.mcp), [...backend.path, 'mcp'])
    else for (const { path } of own) this.#report(path, `${OF_MCP}, which this backend has not`)
  }

  /** Whether it leads to MCP servers. */
  #checkReference(reference: Placed): boolean {
    const backend = reference.raw.backend === undefined ? reference : this.#named.get(reference.raw.backend)
    // That there is no such backend is said elsewhere.
    if (backend === undefined) return false
    const own = this.#rulesOf(reference)
    if (backend.raw.mcp === undefined) {
      for (const { path } of own) this.#report(path, `${OF_MCP}, which this backend has not`)
      return false
    }
    if (backend === reference) this.#checkFiles(objectOf(reference.raw.mcp), [...reference.path, 'mcp'])
    return true
  }

  // --- what a backend refers to ---

  #checkFiles(mcp: Raw, at: Path): void {
    const { key } = objectOf(mcp.session)
    const file = text(objectOf(key).file)
    if (file !== undefined) this.#try([...at, 'session', 'key', 'file'], () => readKey({ file }, this.#sources))
    for (const { raw, path } of entriesOf(mcp.targets, [...at, 'targets'])) {
      this.#rulesOf(raw.static === undefined ? { raw, path } : { raw: objectOf(raw.static), path: [...path, 'static'] })
      const { schema } = objectOf(raw.openapi)
      const place = [...path, 'openapi', 'schema']
      const { file: name, url } = { file: text(objectOf(schema).file), url: text(objectOf(schema).url) }
      if (typeof schema === 'string') this.#try(place, () => readDocument(schema, this.#sources))
      else if (name !== undefined) this.#try([...place, 'file'], () => readDocument({ file: name }, this.#sources))
      else if (url !== undefined && isFetched(url)) {
        this.#try([...place, 'url'], () => readDocument({ url }, this.#sources))
      }
    }
  }

  #try(path: Path, read: () => unknown): void {
    try {
      read()
    } catch (error) {
      this.#report(path, (error as Error).message, 'value')
    }
  }
}
