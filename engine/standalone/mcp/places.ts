/** Problems of `mcp` targets that show once their documents are read: places of the Snapshot as those of the file. */
import { ownName } from '#engine/ir/snapshot.ts'
import { entriesOf, objectOf, type Path, type Placed, type Raw, text } from '#engine/schema/placed.ts'
import { type Problem, parsePath } from '#engine/standalone/problems.ts'
import type { Source } from '#engine/standalone/source.ts'
import { bindsOf } from '#engine/standalone/walk.ts'
import { MCP_BACKEND } from './translate.ts'

/** In the Snapshot: names of backends may have dots, those of targets have neither dots nor quotes. */
const PLACE = /^backends\.(?<backend>.+)\.targets\["(?<target>[^"]*)"\]\.(?<part>document|operations)(?<within>.*)$/

interface Late {
  readonly path: string
  readonly message: string
}

/** Null: it is about something else. */
export function mcpProblems(file: Raw, source: Source): (problem: Late) => Problem | null {
  const known = mcpOf(file)
  return ({ path: text, message }) => {
    const { backend, target, part, within } = PLACE.exec(text)?.groups ?? {}
    const mcp = known.get(backend ?? '')
    const found = entriesOf(mcp?.raw.targets, [...(mcp?.path ?? []), 'targets']).find(({ raw }) => raw.name === target)
    if (found === undefined) return null
    const own = [...found.path, 'openapi']
    const isInside = part === 'document' && within !== ''
    const path = part === 'document' ? [...own, 'schema'] : [...own, 'operations', ...parsePath(within!)]
    const offset = source.locate(path, 'key')
    // The document may be another file: what is in it has no line here.
    return { path, offset, message: isInside ? `${within!.replace(/^\./, '')}: ${message}` : message }
  }
}

/** What stands behind `mcp`, by the names that translate.ts gives to backends. */
function mcpOf(file: Raw): ReadonlyMap<string, Placed> {
  const out = new Map<string, Placed>()
  const named = new Map(entriesOf(file.backends, ['backends']).map((backend) => [text(backend.raw.name), backend]))
  const add = (name: string, { raw, path }: { raw: Raw; path: Path }): void => {
    if (raw.mcp !== undefined) out.set(name, { raw: objectOf(raw.mcp), path: [...path, 'mcp'] })
  }
  for (const [name, backend] of named) if (name !== undefined) add(name, backend)
  add(MCP_BACKEND, { raw: file, path: [] })
  for (const { raw: bind, listeners } of bindsOf(file)) {
    for (const listener of listeners) {
      for (const route of listener.routes) {
        const own = ownName({ name: route.name, rule: text(route.raw.ruleName) })
        for (const [i, reference] of entriesOf(route.raw.backends, [...route.path, 'backends']).entries()) {
          const place = `${listener.name}/${own}/${i}`
          add(out.has(place) ? `${bind.port}/${place}` : place, named.get(text(reference.raw.backend)) ?? reference)
        }
      }
    }
  }
  return out
}
