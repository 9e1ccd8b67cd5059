/** Lists as a caller sees them: without what rules hide, the rest as the text that it is. */

import type { RpcId } from '#backends/mcp/protocol/json-rpc.ts'
import type { Services } from '#backends/mcp/services.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import type { ListKind } from './kinds.ts'
import { lengthOf, type Page, writeItems } from './page.ts'

/** With an empty object has(mcp.tool.arguments.x) does not fail, which would hide the item. */
const NO_ARGUMENTS = {}
const COMMA = 44
/** Lists with more runs are composed each time: a cache key would cost as much. */
const KEYED_RUNS_MAX = 512

export interface TargetPages {
  readonly target: string
  readonly pages: readonly Page[]
}

/** What rules are evaluated for: one object for all items of a list. */
class Item implements McpItem {
  readonly kind: McpItem['kind']
  readonly arguments = NO_ARGUMENTS
  target = ''
  name = ''

  constructor(kind: McpItem['kind']) {
    this.kind = kind
  }
}

/**
 * The response, in pieces: the items of all parts that `ex` may see, and `rest`, other members of the result as JSON.
 * `isCached`: the same pages may be composed again.
 */
export function composeList(shown: ListView, id: RpcId, parts: readonly TargetPages[], isCached: boolean): Buffer[] {
  const { services, ex, kind, rest } = shown
  const { names, composedLists } = services
  const isPlainOfMany = names.isMultiplexed && !names.isPrefixed && kind.by === 'name'
  const owners = isPlainOfMany ? plainNameOwners(services, ex, kind, parts) : null
  const runs: Run[] = []
  const item = new Item(kind.kind)
  for (const { target, pages } of parts) {
    item.target = target
    for (const page of pages) addRuns(services, ex, item, page, owners, runs)
  }
  const head = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"${kind.key}":[`)
  const tail = Buffer.from(rest === '' ? ']}}' : `],${rest}}}`)
  if (runs.length === 0) return [head, tail]
  const pieces = isCached ? piecesOf(runs) : null
  if (pieces !== null) return [head, ...pieces, tail]
  const key = isCached && runs.length <= KEYED_RUNS_MAX ? keyOf(runs) : null
  const known = key === null ? undefined : composedLists.get(key)
  const items = known ?? itemsOf(runs)
  if (key !== null && known === undefined) composedLists.set(key, items)
  return [head, items, tail]
}

export interface ListView {
  readonly services: Services
  readonly ex: Exchange
  readonly kind: ListKind
  readonly rest: string
}

/** Adjacent items of a page. */
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

/** Long lists are not copied for each caller: they are sent as slices of the cached pages. */
const PIECES_BYTES_MIN = 1024 * 1024
const PIECES_MAX = 512
const BETWEEN = Buffer.from(',')

/** Null: they are to be copied together. */
function piecesOf(runs: readonly Run[]): Buffer[] | null {
  if (runs.length > PIECES_MAX || totalOf(runs) < PIECES_BYTES_MIN) return null
  const pieces: Buffer[] = []
  for (const { page, first, last } of runs) {
    const { json, starts, ends, prefix } = page
    if (prefix.length > 0) return null
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

/** The target that has a plain name; null: several have it, so that it cannot be called (calls/dispatch.ts). */
type Owners = Map<string, string | null>

function plainNameOwners(services: Services, ex: Exchange, kind: ListKind, parts: readonly TargetPages[]): Owners {
  const owners: Owners = new Map()
  const item = new Item(kind.kind)
  for (const { target, pages } of parts) {
    item.target = target
    const gate = services.gateOf(target)
    for (const name of pages.flatMap((page) => page.names)) {
      item.name = name
      // A hidden name does not make another one ambiguous.
      if (gate !== null && !gate(ex, item)) continue
      const owner = owners.get(name)
      if (owner === undefined) owners.set(name, target)
      else if (owner !== target) {
        owners.set(name, null)
        services.reportCollision(kind.kind, name, target)
      }
    }
  }
  return owners
}

function addRuns(services: Services, ex: Exchange, item: Item, page: Page, owners: Owners | null, runs: Run[]): void {
  const { names } = page
  const gate = services.gateOf(item.target)
  let first = -1
  for (let i = 0; i < names.length; i++) {
    const name = names[i]!
    item.name = name
    let isShown = gate === null || gate(ex, item)
    if (isShown && owners !== null) {
      isShown = owners.get(name) === item.target
      // A server may list a name twice: the second one is left out.
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
