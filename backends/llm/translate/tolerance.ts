/**
 * Fields that a provider need not get: without them the answer is still what the client asked for.
 * Everything else that is lost changes the meaning of a request (`unsupported: tolerant` refuses it). To add a field,
 * add a line.
 */
import type { ClientFormat, Conversation, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'

/** Null: it never matters. Else whether a value asks for nothing. */
type Entry = ((value: Json) => boolean) | null

/** How it is answered, kept or paid, and not what: the provider does as it is used to. */
const HINT: Entry = null
/** For the caller's own records, or copied by SDKs from answers. */
const RECORD: Entry = null

const word = (value: Json): string => JSON.stringify(value).toLowerCase()
/** Some values are what happens unasked. */
const noOp =
  (...values: readonly Json[]): Entry =>
  (value) =>
    values.some((one) => word(one) === word(value))
const everyOf =
  (name: string, ...values: readonly Json[]): Entry =>
  (value) =>
    Array.isArray(value) &&
    value.every((one) => isObject(one) && values.some((v) => word(v) === word(one[name] ?? null)))

type Table = Readonly<Record<string, Entry>>

/** OpenAI's two formats have these in common. */
const OPENAI: Table = {
  store: HINT,
  metadata: RECORD,
  'metadata.*': RECORD,
  user: RECORD,
  safety_identifier: RECORD,
  prompt_cache_key: HINT,
  prompt_cache_retention: HINT,
  prompt_cache_options: HINT,
  service_tier: HINT,
  parallel_tool_calls: HINT,
  temperature: HINT,
  top_p: HINT,
  'stream_options.*': HINT
}

/**
 * Paths of each client's format: `[]` is any element, `[@]` one of the model (its turns are echoes of
 * answers), `*` any name.
 */
const TABLES: { readonly [client in ClientFormat | 'embeddings']: Table } = {
  completions: {
    ...OPENAI,
    seed: HINT,
    top_k: HINT,
    n: noOp(1),
    frequency_penalty: noOp(0),
    presence_penalty: noOp(0),
    modalities: noOp(['text']),
    logprobs: noOp(false),
    top_logprobs: noOp(0),
    prediction: HINT,
    reasoning_effort: HINT,
    reasoning: HINT,
    verbosity: HINT,
    drop_params: RECORD,
    'response_format.strict': HINT,
    'response_format.json_schema.strict': HINT,
    'messages[].name': RECORD,
    'messages[].provider_specific_fields': RECORD,
    'messages[@].*': RECORD,
    // A spoken turn has no text: without it the model would not know that it has answered.
    'messages[@].audio': () => false,
    'messages[@].content[].*': RECORD,
    'messages[@].tool_calls[].*': RECORD,
    'messages[@].tool_calls[].function.*': RECORD,
    'messages[].content[].image_url.detail': HINT,
    'messages[].content[].file.filename': RECORD
  },
  responses: {
    ...OPENAI,
    background: noOp(false),
    truncation: HINT,
    include: HINT,
    client_metadata: RECORD,
    max_tool_calls: HINT,
    reasoning: HINT,
    'reasoning.*': HINT,
    'text.verbosity': HINT,
    'text.format.strict': HINT,
    'input[].id': RECORD,
    'input[].phase': RECORD,
    'input[@].*': RECORD,
    'input[@].content[].*': RECORD,
    'input[].content[].detail': HINT,
    'input[].content[].filename': RECORD,
    // Only what a provider has kept of pages, and with no word of how: a model does without.
    'tools[]': (tool) => isObject(tool) && tool.type === 'web_search' && tool.external_web_access === false,
    'tools[].defer_loading': HINT
  },
  messages: {
    metadata: RECORD,
    'metadata.*': RECORD,
    'metadata.user_id': RECORD,
    service_tier: HINT,
    speed: HINT,
    temperature: HINT,
    top_p: HINT,
    top_k: HINT,
    thinking: HINT,
    'thinking.*': HINT,
    'output_config.effort': HINT,
    'output_config.task_budget': HINT,
    betas: RECORD,
    context_management: HINT,
    'tool_choice.disable_parallel_tool_use': HINT,
    parallel_tool_calls: HINT,
    'messages[@].*': RECORD,
    'messages[@].content[].*': RECORD,
    'messages[].content[].title': RECORD,
    'messages[].content[].citations': (value) => isObject(value) && value.enabled !== true,
    'tools[].eager_input_streaming': HINT,
    'tools[].defer_loading': HINT,
    'tools[].input_examples': HINT,
    'tools[].allowed_callers': noOp(['direct'])
  },
  gemini: {
    labels: RECORD,
    serviceTier: HINT,
    safetySettings: everyOf('threshold', 'OFF', 'BLOCK_NONE', 'HARM_BLOCK_THRESHOLD_UNSPECIFIED'),
    'generationConfig.seed': HINT,
    'generationConfig.topK': HINT,
    'generationConfig.topP': HINT,
    'generationConfig.temperature': HINT,
    'generationConfig.candidateCount': noOp(1),
    'generationConfig.frequencyPenalty': noOp(0),
    'generationConfig.presencePenalty': noOp(0),
    'generationConfig.logprobs': noOp(0),
    'generationConfig.responseLogprobs': noOp(false),
    'generationConfig.responseModalities': noOp(['text'], ['modality_unspecified']),
    'generationConfig.mediaResolution': HINT,
    'generationConfig.thinkingConfig': HINT,
    'generationConfig.thinkingConfig.*': HINT,
    'generationConfig.responseMimeType': noOp('text/plain'),
    'toolConfig.functionCallingConfig': HINT,
    'toolConfig.functionCallingConfig.mode': noOp('validated'),
    'contents[@].parts[].*': RECORD,
    'contents[@].*': RECORD,
    'contents[].parts[].videoMetadata': HINT,
    'contents[].parts[].mediaResolution': HINT,
    'contents[].parts[].inlineData.displayName': RECORD,
    'contents[].parts[].functionResponse.scheduling': HINT,
    'contents[].parts[].functionResponse.willContinue': noOp(false),
    'tools[].functionDeclarations[].response': HINT,
    'tools[].functionDeclarations[].responseJsonSchema': HINT,
    'tools[].functionDeclarations[].behavior': noOp('blocking', 'unspecified')
  },
  embeddings: { user: RECORD, title: HINT, 'requests[].title': HINT, autoTruncate: HINT }
}

/** Wherever they stand. */
const ANYWHERE: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint', 'cachePoint', 'signature'])

/** Parts that say nothing new: another provider cannot look them up, or has no use for where a text came from. */
const ECHOES: ReadonlySet<unknown> = new Set(['item_reference', 'weir.citations'])

const MAPS = new Map(Object.entries(TABLES).map(([name, table]) => [name, new Map(Object.entries(table))]))

/** `part`: that `path` is, or is of. */
export function changesMeaning(
  client: ClientFormat | 'embeddings',
  path: string,
  body: JsonObject,
  part: Part | null
): boolean {
  if (part !== null && isEcho(part)) return false
  const name = path.slice(path.lastIndexOf('.') + 1)
  if (ANYWHERE.has(name)) return false
  const value = valueAt(body, path)
  if (isNothing(value)) return false
  const entry = entryOf(MAPS.get(client)!, path, body)
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
function entryOf(table: ReadonlyMap<string, Entry>, path: string, body: JsonObject): Entry | undefined {
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

const PART = /^(?:turns|messages|contents)\[(\d+)\]\.(?:parts|content)\[(\d+)\]/

/** What a writer's path is, or is of. */
export function partAt({ turns }: Conversation, path: string): Part | null {
  const [, turn, part] = PART.exec(path) ?? []
  return turn === undefined ? null : (turns[Number(turn)]?.parts[Number(part)] ?? null)
}

/** A table as documentation has it. */
export function toleratedPaths(client: ClientFormat): { readonly path: string; readonly isAlways: boolean }[] {
  return [...MAPS.get(client)!].map(([path, entry]) => ({ path, isAlways: entry === null }))
}
