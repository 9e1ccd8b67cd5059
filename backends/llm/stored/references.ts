/**
 * Where ids of stored objects stand in JSON: in requests they are opened, in answers sealed. Sources: API references of
 * OpenAI ("Files", "Batches", "Responses", "Conversations", "Vector stores", "Containers"), Anthropic ("Message
 * Batches", "Files", "Skills") and Google ("Files", "Caching", "Batch Mode").
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { type Seal, type StoredKind, sealId } from './seal.ts'
import { openId, type Store, type StoreAccess } from './stores.ts'

/** Fields that hold an id, a list of ids, or an object with one. */
export const FIELDS: ReadonlyMap<string, StoredKind> = new Map<string, StoredKind>([
  ...['file_id', 'file_ids', 'input_file_id', 'output_file_id', 'error_file_id'].map((name) => [name, 'file'] as const),
  ...['training_file', 'validation_file', 'result_files'].map((name) => [name, 'file'] as const),
  ...['fileUri', 'file_uri', 'fileName', 'file_name', 'responsesFile'].map((name) => [name, 'file'] as const),
  ['vector_store_id', 'vector store'],
  ['vector_store_ids', 'vector store'],
  ['previous_response_id', 'response'],
  ['response_id', 'response'],
  ['conversation', 'conversation'],
  ['conversation_id', 'conversation'],
  ['container', 'container'],
  ['container_id', 'container'],
  ['skill_id', 'skill'],
  ['batch_id', 'batch'],
  ['eval_id', 'eval'],
  ['upload_id', 'upload'],
  ['cachedContent', 'cached content'],
  ['cached_content', 'cached content']
])

/** Of a form, whose fields are texts; null: it names no object. */
export const kindOfField = (name: string): StoredKind | null => FIELDS.get(name) ?? null

/** What says that it must be parsed: bytes that have none of it hold no id. */
const MARKS = [...FIELDS.keys(), '\\u'].map((name) => Buffer.from(name))

/** Parts of those: all of them have one, and a short body most often has none. A search takes 0.1 us to begin with. */
const HINTS = ['_id', 'ile', 'conversation', 'container', 'cached', '\\u'].map((part) => Buffer.from(part))

/** Whether a body may hold an id. Names can be escaped ("file\u005fid"), so an escape is enough. */
export const mayRefer = (bytes: Buffer): boolean =>
  HINTS.some((part) => bytes.includes(part)) && MARKS.some((name) => bytes.includes(name))

/** What belongs to clients and their tools: a member there that is called "file_id" is none of a provider's. */
const OPAQUE: ReadonlySet<string> = new Set([
  ...['metadata', 'attributes', 'labels', 'parameters', 'input_schema', 'json_schema', 'schema', 'args', 'arguments'],
  ...['functionCall', 'function_call', 'functionResponse', 'function_response', 'parametersJsonSchema'],
  ...['responseSchema', 'responseJsonSchema', 'response_schema', 'filters']
])

/**
 * What answers repeat of a request, or of a server of the client's own (arguments of shells, rows of evaluations, tools
 * of MCP servers). An id in there is no word of the provider's: sealed, it would open what others have made.
 */
const REPEATED: ReadonlySet<string> = new Set([
  ...['datasource_item', 'env', 'headers', 'item_schema', 'sample', 'sample_schema', 'variables']
])

function isRepeated(name: string, holder: JsonObject): boolean {
  // An item of a stream has an event around it, which says its type.
  return REPEATED.has(name) || (name === 'item' ? !isString(holder.type) : isToolList(name, holder))
}

const isToolList = (name: string, { type }: JsonObject): boolean => name === 'tools' && type === 'mcp_list_tools'

/** Members whose names are those of a client's own data. */
export const isOpaque = (name: string): boolean => OPAQUE.has(name) || name === 'item'

/** What tools of the client got, in Anthropic's format; elsewhere `input` is the conversation itself. */
const TOOL_USES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

/** Google's names are of files only where they stand in its collection; other URIs are those of others. */
const GOOGLE_FILE = /(?:^|\/)(files\/[A-Za-z0-9-]+)$/
/** Where nothing else is: a URI that Google would read as that of a file, however it is spelled, is none of others. */
const GOOGLE_HOST = 'generativelanguage.googleapis.com'
const OF_GOOGLE: ReadonlySet<string> = new Set([...['fileUri', 'file_uri', 'fileName', 'file_name', 'responsesFile']])

const DEPTH_MAX = 64

/** All ids of one request: they must be of one account. */
export class References {
  readonly #access: StoreAccess
  /** Where all of them are; null: none says where. */
  store: Store | null = null
  count = 0

  constructor(access: StoreAccess) {
    this.#access = access
  }

  /** The provider's own id. Throws FormatError: it is none of this tenant's, or of another account than the others. */
  open(text: string, kind: StoredKind, field: string): string {
    const opened = openId(text, kind, this.#access)
    if (opened === null) {
      throw new FormatError(field, `there is no ${kind} with this id: ids are those that this gateway has given out`)
    }
    this.count++
    const { raw, store } = opened
    if (store === null) return raw
    if (this.store !== null && this.store !== store) {
      throw new FormatError(field, 'is kept by another provider than the other ids of this request')
    }
    this.store = store
    return raw
  }

  /** `body` with the providers' own ids; the same object where it has none. Throws FormatError. */
  openBody(body: JsonObject): JsonObject {
    const map: Mapping['map'] = (text, kind, field) => this.open(text, kind, field)
    return mapped(body, '', 0, { map }) as JsonObject
  }
}

/** `body` as the tenant gets it. Objects are known by what they say that they are. */
export function sealBody<T extends Json>(body: T, seal: Seal, own: StoredKind | null): T {
  return mapped(body, '', 0, { map: (text, kind) => sealId(text, kind, seal), own }) as T
}

/** The ids that sealBody would seal. */
export function idsIn(body: Json, own: StoredKind): { readonly raw: string; readonly kind: StoredKind }[] {
  const found: { raw: string; kind: StoredKind }[] = []
  const map: Mapping['map'] = (raw, kind) => {
    found.push({ raw, kind })
    return raw
  }
  mapped(body, '', 0, { map, own })
  return found
}

interface Mapping {
  readonly map: (text: string, kind: StoredKind, field: string) => string
  /** What the API is of whose answer it is, where objects have ids of their own; absent: it is a request. */
  readonly own?: StoredKind | null
}

/** Google's ids are names with their collection, and may stand at the end of a URI: the mark is that of the name. */
const nameAt = (text: string): number =>
  text.includes('://') && GOOGLE_FILE.test(text) ? text.lastIndexOf('files/') : 0

/** A copy of what differs, on the way to it; the same objects elsewhere. */
function mapped(value: Json, path: string, depth: number, mapping: Mapping): Json {
  if (depth > DEPTH_MAX) return value
  if (Array.isArray(value)) return mappedList(value as readonly Json[], path, depth, mapping)
  if (!isObject(value)) return value
  let copy: { [name: string]: Json } | null = null
  for (const [name, member] of Object.entries(value)) {
    if (OPAQUE.has(name) || (name === 'input' && TOOL_USES.has(value.type))) continue
    if (mapping.own !== undefined && isRepeated(name, value)) continue
    const field = path === '' ? name : `${path}.${name}`
    const made = mappedMember(value, name, member, { field, depth, mapping })
    if (made === member) continue
    copy ??= { ...value }
    copy[name] = made
  }
  return copy ?? value
}

function mappedList(list: readonly Json[], path: string, depth: number, mapping: Mapping): Json {
  let copy: Json[] | null = null
  list.forEach((member, i) => {
    const made = mapped(member, `${path}[${i}]`, depth + 1, mapping)
    if (made === member) return
    copy ??= [...list]
    copy[i] = made
  })
  return copy ?? (list as Json)
}

interface Place {
  readonly field: string
  readonly depth: number
  readonly mapping: Mapping
}

function mappedMember(holder: JsonObject, name: string, member: Json, place: Place): Json {
  const { field, depth, mapping } = place
  const kind = FIELDS.get(name) ?? ownKind(holder, name, mapping)
  if (kind === null) return mapped(member, field, depth + 1, mapping)
  if (isString(member)) return refers(name, member) ? mapId(member, kind, field, mapping) : member
  if (Array.isArray(member)) {
    return member.map((one, i) => {
      const at = `${field}[${i}]`
      return isString(one) ? mapId(one, kind, at, mapping) : mapped(one, at, depth + 1, mapping)
    })
  }
  if (!isObject(member)) return member
  const inner = mapped(member, field, depth + 1, mapping)
  // A conversation, or a container, with its id.
  const { id } = member
  if (!isString(id) || !isObject(inner) || inner.id !== id) return inner
  return { ...inner, id: mapId(id, kind, `${field}.id`, mapping) }
}

function mapId(text: string, kind: StoredKind, field: string, { map }: Mapping): string {
  const at = nameAt(text)
  return at === 0 ? map(text, kind, field) : text.slice(0, at) + map(text.slice(at), kind, field)
}

/** Whether the value of the field is an id of a provider's: some fields also name what is public. */
function refers(name: string, value: string): boolean {
  if (value === '') return false
  if (OF_GOOGLE.has(name)) return GOOGLE_FILE.test(value) || isAtGoogle(value)
  // Skills of the provider itself ("pptx") are for all.
  return name !== 'skill_id' || value.startsWith('skill_')
}

function isAtGoogle(value: string): boolean {
  const text = value.trim()
  return text.startsWith('files/') || URL.parse(text)?.hostname === GOOGLE_HOST
}

/** What the members `id`, `name`, `uri` of an object in an answer are, by what that says of itself. */
function ownKind(holder: JsonObject, name: string, { own }: Mapping): StoredKind | null {
  // The rows of an evaluation: {type: 'file_id', id}.
  if (name === 'id' && holder.type === 'file_id') return 'file'
  if (own === undefined) return null
  if (name === 'id') {
    const called = isString(holder.object) ? holder.object : holder.type
    return isString(called) ? (OBJECTS.get(called) ?? null) : null
  }
  if (name === 'first_id' || name === 'last_id') return own
  // Chats tell no names of Google's objects; a page on the web that one quotes may look like it.
  if (own === null) return null
  const text = holder[name]
  if (name === 'uri') return isString(text) && GOOGLE_FILE.test(text) ? 'file' : null
  if (name !== 'name' || !isString(text)) return null
  return COLLECTIONS.get(text.slice(0, text.indexOf('/'))) ?? null
}

/** `object` of OpenAI's, `type` of Anthropic's. Files of a vector store or a container have the ids of files. */
const OBJECTS: ReadonlyMap<string, StoredKind> = new Map<string, StoredKind>([
  ...['file', 'file_deleted', 'vector_store.file', 'vector_store.file.deleted', 'container.file'].map(
    (name) => [name, 'file'] as const
  ),
  ['batch', 'batch'],
  ['message_batch', 'batch'],
  ['message_batch_deleted', 'batch'],
  ['response', 'response'],
  ['response.deleted', 'response'],
  ['response.compaction', 'response'],
  ['conversation', 'conversation'],
  ['conversation.deleted', 'conversation'],
  ['container', 'container'],
  ['container.deleted', 'container'],
  ['vector_store', 'vector store'],
  ['vector_store.deleted', 'vector store'],
  ['upload', 'upload'],
  ['fine_tuning.job', 'job'],
  ['eval', 'eval'],
  ['eval.deleted', 'eval'],
  ['skill', 'skill'],
  ['skill.deleted', 'skill'],
  ['skill_deleted', 'skill']
])

const COLLECTIONS: ReadonlyMap<string, StoredKind> = new Map<string, StoredKind>([
  ['files', 'file'],
  ['cachedContents', 'cached content'],
  ['batches', 'batch']
])
