/** Problems of `mcp` targets that show once they are prepared: places of the Snapshot as those of the file. */
import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import { entriesOf, type Path, type Placed } from '#engine/schema/placed.ts'

/** In the Snapshot. Names of targets have neither dots nor quotes. */
const PLACE = /^targets\["(?<target>[^"]*)"\]\.(?<within>.*)$/

/** Null: it is about something else. */
export function locateInTarget(
  { raw, path }: Placed,
  text: string
): { readonly path: Path; readonly prefix: string } | null {
  const { target, within = '' } = PLACE.exec(text)?.groups ?? {}
  const found = entriesOf(raw.targets, [...path, 'targets']).find((one) => one.raw.name === target)
  const key = TARGET_KEYS.find(({ name }) => found?.raw[name] !== undefined)
  return key?.locate?.([...found!.path, key.name], within) ?? null
}
