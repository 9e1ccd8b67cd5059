/** Problems of `mcp` targets that show once their documents are read: places of the Snapshot as those of the file. */
import { entriesOf, type Path, type Placed, parsePath } from '#engine/schema/placed.ts'

/** In the Snapshot. Names of targets have neither dots nor quotes. */
const PLACE = /^targets\["(?<target>[^"]*)"\]\.(?<part>document|operations)(?<within>.*)$/

/** Null: it is about something else. */
export function locateInTarget(
  { raw, path }: Placed,
  text: string
): { readonly path: Path; readonly prefix: string } | null {
  const { target, part, within = '' } = PLACE.exec(text)?.groups ?? {}
  const found = entriesOf(raw.targets, [...path, 'targets']).find((one) => one.raw.name === target)
  if (found === undefined || part === undefined) return null
  const own = [...found.path, 'openapi']
  if (part === 'operations') return { path: [...own, 'operations', ...parsePath(within)], prefix: '' }
  // The document may be another file: what is in it has no line here.
  return { path: [...own, 'schema'], prefix: within === '' ? '' : `${within.replace(/^\./, '')}: ` }
}
