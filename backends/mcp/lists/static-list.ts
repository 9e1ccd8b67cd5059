/** Lists that never change (Target.fixed) as pages: written once for a configuration, shown as the bytes they are. */
import { type ListKind, renamed } from '#backends/mcp/lists/kinds.ts'
import type { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { FixedItem, Target } from '#backends/mcp/targets/target.ts'
import { type Page, pageOfTexts } from './page.ts'

/** Of one page: to write 512 Ki takes some 2 ms of a worker. */
const PAGE_CHARS = 512 * 1024

interface Written {
  readonly names: Names
  readonly pages: Page[]
  /** Of the item that begins the next page. */
  next: number
}

const known = new WeakMap<readonly FixedItem[], Written>()

/**
 * Null: they are not written yet. Each call writes one page more, and whoever wants them calls again in another turn.
 * Undefined: the target is asked.
 */
export function fixedPages(
  target: Target,
  method: string,
  kind: ListKind,
  names: Names
): readonly Page[] | null | undefined {
  const items = target.fixed?.get(method)
  if (items === undefined) return undefined
  let written = known.get(items)
  if (written?.names !== names) {
    written = { names, pages: [], next: 0 }
    known.set(items, written)
  }
  if (written.next < items.length) written.pages.push(pageFrom(items, written, target.name, kind))
  return written.next < items.length ? null : written.pages
}

function pageFrom(items: readonly FixedItem[], written: Written, target: string, kind: ListKind): Page {
  const texts: string[] = []
  const first = written.next
  let chars = 0
  while (written.next < items.length && chars < PAGE_CHARS) {
    const { json } = items[written.next++]!
    chars += json.length
    texts.push(shown(json, target, kind, written.names))
  }
  return pageOfTexts(
    items.slice(first, written.next).map(({ name }) => name),
    texts
  )
}

/** Under the name that clients know it by. */
function shown(json: string, target: string, kind: ListKind, names: Names): string {
  const before = `{"${kind.by}":"`
  // Names of targets have nothing to escape. `_meta` may name pages of apps, which are changed too.
  const isPlain = kind.by === 'name' && json.startsWith(before) && !json.includes('"_meta"')
  if (isPlain) return before + names.name(target, '') + json.slice(before.length)
  return JSON.stringify(renamed(JSON.parse(json) as JsonObject, target, kind, names))
}
