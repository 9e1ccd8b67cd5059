/**
 * Fields that a provider need not get: without them the answer is still what the client asked for. Each format lists
 * its own (formats/<format>/tolerated.ts). Everything else that is lost changes the meaning of a request
 * (`unsupported: tolerant` refuses it).
 */
import type { ClientFormat, Conversation, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { CLIENT_FORMATS } from '#backends/llm/formats/index.ts'
import type { Tolerated, ToleratedFields } from '#backends/llm/formats/tolerated.ts'
import { partPattern } from './client-paths.ts'

/** Wherever they stand. */
const ANYWHERE: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint', 'cachePoint', 'signature'])

/** Parts that say nothing new: another provider cannot look them up, or has no use for where a text came from. */
const ECHOES: ReadonlySet<unknown> = new Set(['item_reference', 'weir.citations'])

const MAPS: ReadonlyMap<ClientFormat, ReadonlyMap<string, Tolerated>> = new Map(
  CLIENT_FORMATS.map(({ name, tolerated }) => [name, new Map(Object.entries(tolerated))])
)

/** `part`: that `path` is, or is of. */
export function changesMeaning(client: ClientFormat, path: string, body: JsonObject, part: Part | null): boolean {
  if (part !== null && isEcho(part)) return false
  return isMissed(MAPS.get(client)!, path, body)
}

/** As changesMeaning, of an operation that is no chat. */
export function changesOperation(tolerated: ToleratedFields, path: string): boolean {
  return isMissed(new Map(Object.entries(tolerated)), path, {})
}

function isMissed(table: ReadonlyMap<string, Tolerated>, path: string, body: JsonObject): boolean {
  const name = path.slice(path.lastIndexOf('.') + 1)
  if (ANYWHERE.has(name)) return false
  const value = valueAt(body, path)
  if (isNothing(value)) return false
  const entry = entryOf(table, path, body)
  // An empty map says nothing where what it would hold is known, and may be a switch elsewhere (web_search_options).
  if (isEmptyMap(value) && (entry !== undefined || EMPTY_MAPS.has(name))) return false
  if (entry === undefined) return true
  return entry !== null && !entry(value ?? null)
}

const isEcho = (part: Part): boolean =>
  part.kind === 'thinking' || (part.kind === 'opaque' && ECHOES.has(part.value.type))

function isNothing(value: Json | undefined): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

const isEmptyMap = (value: Json | undefined): boolean => isObject(value) && Object.keys(value).length === 0

/** What SDKs write empty, and what would hold no more than settings. */
const EMPTY_MAPS: ReadonlySet<string> = new Set([
  ...['logit_bias', 'extra_headers', 'extra_query', 'extra_body', 'provider_specific_fields', 'additional_kwargs'],
  ...['response_format', 'text', 'generationConfig', 'toolConfig', 'output_config', 'stream_options', 'labels']
])

const INDEX = /\[\d+\]/g
const FIRST = /^(\w+)\[(\d+)\]/

/** Four looks into a map, however many lines the table has; undefined: it has none for this. */
function entryOf(table: ReadonlyMap<string, Tolerated>, path: string, body: JsonObject): Tolerated | undefined {
  const shape = path.replace(INDEX, '[]')
  const dot = shape.lastIndexOf('.')
  // A star is a member: what a list holds is content.
  const shapes = dot < 0 || shape.endsWith(']') ? [shape] : [shape, `${shape.slice(0, dot)}.*`]
  const own = isOfModel(path, body) ? shapes.map((one) => one.replace('[]', '[@]')) : []
  const found = [...own, ...shapes].find((one) => table.has(one))
  return found === undefined ? undefined : table.get(found)
}

const MODEL_ITEMS = /_call$|^reasoning$|^compaction$/

function isOfModel(path: string, body: JsonObject): boolean {
  const [, list, index] = FIRST.exec(path) ?? []
  if (list === undefined) return false
  const turns = body[list]
  const turn = Array.isArray(turns) ? (turns[Number(index)] as Json | undefined) : undefined
  if (!isObject(turn)) return false
  return turn.role === 'assistant' || turn.role === 'model' || MODEL_ITEMS.test(String(turn.type ?? ''))
}

const STEP = /([^.[\]]+)|\[(\d+)\]/g

/** Undefined where the path leads to nothing: it is a name of the writer's, or of a part that has several. */
function valueAt(body: JsonObject, path: string): Json | undefined {
  let at: Json | undefined = body
  for (const [, name, index] of path.matchAll(STEP)) {
    if (index !== undefined) at = Array.isArray(at) ? (at[Number(index)] as Json | undefined) : undefined
    else at = isObject(at) && Object.hasOwn(at, name!) ? at[name!] : undefined
    if (at === undefined) return undefined
  }
  return at
}

const PART = partPattern()

/** What a writer's path is, or is of. */
export function partAt({ turns }: Conversation, path: string): Part | null {
  const [, turn, part] = PART.exec(path) ?? []
  return turn === undefined ? null : (turns[Number(turn)]?.parts[Number(part)] ?? null)
}

/** A table as documentation has it. */
export function toleratedPaths(client: ClientFormat): { readonly path: string; readonly isAlways: boolean }[] {
  return [...MAPS.get(client)!].map(([path, entry]) => ({ path, isAlways: entry === null }))
}
