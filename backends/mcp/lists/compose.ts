/** Lists as a caller sees them: what rules hide is left out, the rest goes as the text that it is. */

import type { ListKind } from '#backends/mcp/lists/kinds.ts'
import type { RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import type { Core } from '#backends/mcp/services.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { lengthOf, type Page, writeItems } from './page.ts'

/** Of items in lists: rules that ask has(mcp.tool.arguments.x) do not fail, which would hide what they do not mean. */
const NO_ARGUMENTS = {}
const COMMA = 44

export interface Part {
  readonly target: string
  readonly pages: readonly Page[]
}

/** What rules are asked about, item by item: one for all of a list. */
class Item implements McpItem {
  readonly kind: McpItem['kind']
  readonly arguments = NO_ARGUMENTS
  target = ''
  name = ''

  constructor(kind: McpItem['kind']) {
    this.kind = kind
  }
}

/** Lists that have been put together lately, and their bytes, of one backend. */
const COMPOSED_MAX = 16
const COMPOSED_BYTES_MAX = 8 * 1024 * 1024
/** Lists with more gaps are put together each time: to name one would cost as much. */
const NAMED_RUNS_MAX = 512

/** Items of remembered lists as text, by what is shown of which: the same for callers who see the same. */
export class Composed {
  readonly #lists = new Map<string, Buffer>()
  #bytes = 0

  get(key: string): Buffer | undefined {
    const known = this.#lists.get(key)
    if (known !== undefined) {
      this.#lists.delete(key)
      this.#lists.set(key, known)
    }
    return known
  }

  set(key: string, items: Buffer): void {
    if (items.length > COMPOSED_BYTES_MAX) return
    this.#lists.set(key, items)
    this.#bytes += items.length
    for (const [oldest, { length }] of this.#lists) {
      if (this.#bytes <= COMPOSED_BYTES_MAX && this.#lists.size <= COMPOSED_MAX) break
      this.#lists.delete(oldest)
      this.#bytes -= length
    }
  }
}

/**
 * The response, in pieces: the items of all parts that `ex` may see, and `rest`, other members of the result as JSON.
 * `isKept`: all pages will be shown again, perhaps.
 */
export function shownList(shown: Shown, id: RpcId, parts: readonly Part[], isKept: boolean): Buffer[] {
  const { core, ex, kind, rest } = shown
  const { names, composed } = core
  const isPlainOfMany = names.isTagged && !names.isPrefixed && kind.by === 'name'
  const owners = isPlainOfMany ? ownersOf(core, ex, kind, parts) : null
  const runs: Run[] = []
  const item = new Item(kind.kind)
  for (const { target, pages } of parts) {
    item.target = target
    for (const page of pages) addRuns(core, ex, item, page, owners, runs)
  }
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"${kind.key}":[`)
  const tail = Buffer.from(rest === '' ? ']}}' : `],${rest}}}`)
  if (runs.length === 0) return [head, tail]
  const pieces = isKept ? piecesOf(runs) : null
  if (pieces !== null) return [head, ...pieces, tail]
  const key = isKept && runs.length <= NAMED_RUNS_MAX ? keyOf(runs) : null
  const known = key === null ? undefined : composed.get(key)
  const items = known ?? itemsOf(runs)
  if (key !== null && known === undefined) composed.set(key, items)
  return [head, items, tail]
}

export interface Shown {
  readonly core: Core
  readonly ex: Exchange
  readonly kind: ListKind
  readonly rest: string
}

/** Items that stand beside each other in a page, as one. */
interface Run {
  readonly page: Page
  readonly first: number
  readonly last: number
}

function keyOf(runs: readonly Run[]): string {
  let key = ''
  for (const { page, first, last } of runs) key += `${page.serial}.${first}.${last} `
  return key
}

/** Long lists are not put together anew for each caller: they go as the pieces that they are kept in. */
const PIECES_BYTES_MIN = 1024 * 1024
const PIECES_MAX = 512
const BETWEEN = Buffer.from(',')

/** Null: they are to be put together. */
function piecesOf(runs: readonly Run[]): Buffer[] | null {
  if (runs.length > PIECES_MAX || totalOf(runs) < PIECES_BYTES_MIN) return null
  const pieces: Buffer[] = []
  for (const { page, first, last } of runs) {
    const { json, starts, ends, tag } = page
    if (tag.length > 0) return null
    if (pieces.length > 0) pieces.push(BETWEEN)
    pieces.push(json.subarray(starts[first]!, ends[last]!))
  }
  return pieces
}

function totalOf(runs: readonly Run[]): number {
  let length = runs.length - 1
  for (const { page, first, last } of runs) length += lengthOf(page, first, last)
  return length
}

function itemsOf(runs: readonly Run[]): Buffer {
  const items = Buffer.allocUnsafeSlow(totalOf(runs))
  let at = 0
  for (const { page, first, last } of runs) {
    if (at > 0) items[at++] = COMMA
    at = writeItems(page, first, last, items, at)
  }
  return items
}

/** Who has a plain name that several may have; null: more than one, so that nobody can call it (calls/dispatch.ts). */
type Owners = Map<string, string | null>

function ownersOf(core: Core, ex: Exchange, kind: ListKind, parts: readonly Part[]): Owners {
  const owners: Owners = new Map()
  const item = new Item(kind.kind)
  for (const { target, pages } of parts) {
    item.target = target
    const gate = core.gateOf(target)
    for (const name of pages.flatMap((page) => page.names)) {
      item.name = name
      // What is hidden does not make a name ambiguous.
      if (gate !== null && !gate(ex, item)) continue
      const owner = owners.get(name)
      if (owner === undefined) owners.set(name, target)
      else if (owner !== target) {
        owners.set(name, null)
        core.collides(kind.kind, name, target)
      }
    }
  }
  return owners
}

function addRuns(core: Core, ex: Exchange, item: Item, page: Page, owners: Owners | null, runs: Run[]): void {
  const { names } = page
  const gate = core.gateOf(item.target)
  let first = -1
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    item.name = name
    let isShown = gate === null || gate(ex, item)
    if (isShown && owners !== null) {
      isShown = owners.get(name) === item.target
      // A server that lists a name twice has one of it.
      if (isShown) owners.set(name, null)
    }
    if (isShown && first < 0) first = i
    else if (!isShown && first >= 0) {
      runs.push({ page, first, last: i - 1 })
      first = -1
    }
  }
  if (first >= 0) runs.push({ page, first, last: names.length - 1 })
}
