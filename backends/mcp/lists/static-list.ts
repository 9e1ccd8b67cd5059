/** Lists that never change (Target.staticLists) as pages, rendered once per configuration. */

import type { Names } from '#backends/mcp/names/names.ts'
import type { JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { StaticItem, Target } from '#backends/mcp/targets/target.ts'
import { type ListKind, renamedItem } from './kinds.ts'
import { type Page, pageOfTexts } from './page.ts'

/** Of one page: rendering 512 Ki takes some 2 ms. */
const PAGE_CHARS = 512 * 1024

interface RenderedPages {
  readonly names: Names
  readonly pages: Page[]
  /** Of the item that begins the next page. */
  next: number
}

const known = new WeakMap<readonly StaticItem[], RenderedPages>()

/**
 * Null: not rendered yet; each call renders one page, and the caller calls again in another turn of the event loop.
 * Undefined: the target has no such list.
 */
export function staticPages(
  target: Target,
  method: string,
  kind: ListKind,
  names: Names
): readonly Page[] | null | undefined {
  const items = target.staticLists?.get(method)
  if (items === undefined) return undefined
  let rendered = known.get(items)
  if (rendered?.names !== names) {
    rendered = { names, pages: [], next: 0 }
    known.set(items, rendered)
  }
  if (rendered.next < items.length) rendered.pages.push(pageFrom(items, rendered, target.name, kind))
  return rendered.next < items.length ? null : rendered.pages
}

function pageFrom(items: readonly StaticItem[], rendered: RenderedPages, target: string, kind: ListKind): Page {
  const texts: string[] = []
  const first = rendered.next
  let chars = 0
  while (rendered.next < items.length && chars < PAGE_CHARS) {
    const { json } = items[rendered.next++]!
    chars += json.length
    texts.push(renderItem(json, target, kind, rendered.names))
  }
  return pageOfTexts(
    items.slice(first, rendered.next).map(({ name }) => name),
    texts
  )
}

/** Under the name that clients know it by. */
function renderItem(json: string, target: string, kind: ListKind, names: Names): string {
  const before = `{"${kind.by}":"`
  // Names of targets have nothing to escape. `_meta` may name pages of apps, which are changed too.
  const isPlain = kind.by === 'name' && json.startsWith(before) && !json.includes('"_meta"')
  if (isPlain) return before + names.name(target, '') + json.slice(before.length)
  return JSON.stringify(renamedItem(JSON.parse(json) as JsonObject, target, kind, names))
}
