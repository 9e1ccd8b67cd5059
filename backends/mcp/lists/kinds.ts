/** The lists of MCP, and their items as clients see them. */

import { metaForClient, type Names } from '#backends/mcp/names/names.ts'
import { isObject, type JsonObject } from '#backends/mcp/protocol/json-rpc.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
/** What a method lists. */
export interface ListKind {
  /** Field of the result that holds the items. */
  readonly key: 'tools' | 'prompts' | 'resources' | 'resourceTemplates' | 'tasks'
  /** Field of an item that names it. */
  readonly by: 'name' | 'uri' | 'uriTemplate' | 'taskId'
  readonly kind: McpItem['kind']
  /** Targets without this capability are not asked. */
  readonly capability: 'tools' | 'prompts' | 'resources' | 'tasks'
}

export const LISTS: ReadonlyMap<string, ListKind> = new Map([
  ['tools/list', { key: 'tools', by: 'name', kind: 'tool', capability: 'tools' }],
  ['prompts/list', { key: 'prompts', by: 'name', kind: 'prompt', capability: 'prompts' }],
  ['resources/list', { key: 'resources', by: 'uri', kind: 'resource', capability: 'resources' }],
  [
    'resources/templates/list',
    { key: 'resourceTemplates', by: 'uriTemplate', kind: 'resource', capability: 'resources' }
  ],
  ['tasks/list', { key: 'tasks', by: 'taskId', kind: 'task', capability: 'tasks' }]
])

/** The items of a result, as far as they are some. */
export function itemsOf(result: JsonObject, { key, by }: ListKind): JsonObject[] {
  const items = result[key]
  return Array.isArray(items) ? items.filter((item) => isObject(item) && typeof item[by] === 'string') : []
}

/** Of items in lists: rules that ask has(mcp.tool.arguments.x) do not fail, which would hide what they do not mean. */
const NO_ARGUMENTS = {}

/** The items that `mayUse` lets pass, still under the target's own names. */
export function visibleItems(
  items: readonly JsonObject[],
  target: string,
  { by, kind }: ListKind,
  mayUse: (item: McpItem) => boolean
): JsonObject[] {
  return items.filter((item) => mayUse({ kind, target, name: item[by] as string, arguments: NO_ARGUMENTS }))
}

/** An item under the name that clients know it by. */
export function renamedItem(item: JsonObject, target: string, { by }: ListKind, names: Names): JsonObject {
  const name = item[by] as string
  const meta = names.isMultiplexed && isObject(item._meta) ? { _meta: metaForClient(names, target, item._meta) } : {}
  if (by === 'name') return { ...item, ...meta, name: names.name(target, name) }
  return { ...item, ...meta, [by]: by === 'taskId' ? names.taskId(target, name) : names.uri(target, name) }
}

/** The result of an unknown request, of a stream that goes on: what it lists is treated as a list. */
export function listsForClient(
  result: JsonObject,
  target: string,
  names: Names,
  mayUse: (item: McpItem) => boolean
): JsonObject {
  const kinds = [...LISTS.values()].filter(({ key }) => Array.isArray(result[key]))
  if (kinds.length === 0) return result
  const lists = kinds.map((kind) => {
    const seen = visibleItems(itemsOf(result, kind), target, kind, mayUse)
    return [kind.key, seen.map((item) => renamedItem(item, target, kind, names))]
  })
  return { ...result, ...Object.fromEntries(lists) }
}
