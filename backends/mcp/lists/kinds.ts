/** Answers of several targets as one: pure functions, one for each thing that is merged. */

import { type Names, outwardMeta } from '#backends/mcp/names/names.ts'
import type { JsonObject, JsonValue } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import { older } from '#backends/mcp/protocol/versions.ts'
import type { ServerFacts } from '#backends/mcp/targets/target.ts'
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
export function visible(
  items: readonly JsonObject[],
  target: string,
  { by, kind }: ListKind,
  mayUse: (item: McpItem) => boolean
): JsonObject[] {
  return items.filter((item) => mayUse({ kind, target, name: item[by] as string, arguments: NO_ARGUMENTS }))
}

/** An item under the name that clients know it by. */
export function renamed(item: JsonObject, target: string, { by }: ListKind, names: Names): JsonObject {
  const name = item[by] as string
  const meta = names.isTagged && isObject(item._meta) ? { _meta: outwardMeta(names, target, item._meta) } : {}
  if (by === 'name') return { ...item, ...meta, name: names.name(target, name) }
  return { ...item, ...meta, [by]: by === 'taskId' ? names.taskId(target, name) : names.uri(target, name) }
}

/** The result of a request that nobody here remembers, of a stream that goes on: what it lists is seen as in a list. */
export function relisted(
  result: JsonObject,
  target: string,
  names: Names,
  mayUse: (item: McpItem) => boolean
): JsonObject {
  const kinds = [...LISTS.values()].filter(({ key }) => Array.isArray(result[key]))
  if (kinds.length === 0) return result
  const lists = kinds.map((kind) => {
    const seen = visible(itemsOf(result, kind), target, kind, mayUse)
    return [kind.key, seen.map((item) => renamed(item, target, kind, names))]
  })
  return { ...result, ...Object.fromEntries(lists) }
}

/** Of several servers, as one. `facts`: by target, in the order of the configuration; at least one. */
export function mergeFacts(facts: ReadonlyMap<string, ServerFacts>, own: JsonObject): ServerFacts {
  const all = [...facts.values()]
  const instructions = [...facts]
    .filter(([, { instructions: text }]) => text !== null && text !== '')
    .map(([target, { instructions: text }]) => `[${target}]\n${text}`)
  return {
    protocolVersion: all.map(({ protocolVersion }) => protocolVersion).reduce(older),
    capabilities: all.map(({ capabilities }) => capabilities).reduce((a, b) => union(a, b, 0)),
    serverInfo: own,
    instructions: instructions.length === 0 ? null : instructions.join('\n\n')
  }
}

/** Whatever one of them can. What is true of one is true; where they say it differently, the first is believed. */
function union(a: JsonObject, b: JsonObject, depth: number): JsonObject {
  const merged: Record<string, JsonValue> = { ...a }
  for (const [key, value] of Object.entries(b)) {
    const known = Object.hasOwn(merged, key) ? merged[key] : undefined
    if (isObject(known) && isObject(value) && depth < 8) merged[key] = union(known, value, depth + 1)
    else if (known === undefined || known === false) merged[key] = value
  }
  return merged
}

/** What the answer to `initialize` says; null: it is none. */
export function factsOf(result: JsonObject): ServerFacts | null {
  const { protocolVersion, capabilities, serverInfo, instructions } = result
  if (typeof protocolVersion !== 'string' || protocolVersion.length > 32) return null
  return {
    protocolVersion,
    capabilities: isObject(capabilities) ? capabilities : {},
    serverInfo: isObject(serverInfo) ? serverInfo : {},
    instructions: typeof instructions === 'string' ? instructions : null
  }
}
