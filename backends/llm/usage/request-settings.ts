/** What a request asks beside its content, out of a body in any of the clients' formats: for traces and expressions. */
import type { ClientFormat, Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { RequestSettings } from '#engine/contract/model-use.ts'

/** A span has 64 KiB: what is longer is cut. */
const TEXT_CHARS_MAX = 256
const TEXTS_MAX = 16

type Writable = { -readonly [field in keyof RequestSettings]: RequestSettings[field] }
type NumberField = 'temperature' | 'topP' | 'topK' | 'maxTokens' | 'frequencyPenalty' | 'presencePenalty' | 'seed'

const MAX_TOKENS = ['max_completion_tokens', 'max_output_tokens', 'max_tokens', 'maxOutputTokens']

/** OpenTelemetry's name (gen_ai.request.*), the field, then the formats' own names. */
const NUMBERS: readonly (readonly [name: string, field: NumberField, ...keys: string[]])[] = [
  ['temperature', 'temperature', 'temperature'],
  ['top_p', 'topP', 'top_p', 'topP'],
  ['top_k', 'topK', 'top_k', 'topK'],
  ['max_tokens', 'maxTokens', ...MAX_TOKENS],
  ['frequency_penalty', 'frequencyPenalty', 'frequency_penalty', 'frequencyPenalty'],
  ['presence_penalty', 'presencePenalty', 'presence_penalty', 'presencePenalty'],
  ['seed', 'seed', 'seed']
]
const COUNTS = ['n', 'candidateCount']
const STOPS = ['stop', 'stop_sequences', 'stopSequences']

/** gen_ai.output.type by the words of the formats. */
const OUTPUT_TYPES: ReadonlyMap<Json, string> = new Map([
  ['text', 'text'],
  ['text/plain', 'text'],
  ['json_object', 'json'],
  ['json_schema', 'json'],
  ['application/json', 'json']
])
const MODALITIES: ReadonlyMap<Json, string> = new Map([
  ['audio', 'speech'],
  ['AUDIO', 'speech'],
  ['image', 'image'],
  ['IMAGE', 'image']
])

/** Never throws. */
export function settingsOf(client: ClientFormat, body: JsonObject): RequestSettings {
  const config = configOf(client, body)
  const settings: Writable = {}
  if (config === null) return settings
  for (const [, field, ...keys] of NUMBERS) setNumber(settings, field, config, keys)
  setNumber(settings, 'choiceCount', config, COUNTS)
  const stops = firstOf(config, STOPS)
  if (isString(stops)) settings.stopSequences = [cut(stops)]
  else if (Array.isArray(stops)) settings.stopSequences = textsOf(stops as readonly Json[])
  const { outputs, modalities, effort } = FORMATS[client].settings
  const type = modalityOf(modalities === null ? undefined : config[modalities]) ?? outputTypeOf(config, outputs)
  if (type !== undefined) settings.outputType = type
  const level = at(config, effort)
  if (isString(level)) settings.reasoningLevel = cut(level)
  if (isString(body.previous_response_id)) settings.previousResponseId = cut(body.previous_response_id)
  return settings
}

/** As settingsOf, of embeddings. `format`: absent where the client's format has none. */
export function embeddingSettings(format: Json | undefined, dimensions: Json | undefined): RequestSettings {
  const settings: Writable = {}
  if (isString(format)) settings.encodingFormats = [cut(format)]
  if (isNumber(dimensions)) settings.dimensionCount = dimensions
  return settings
}

/** For expressions (llm.params): numbers by OpenTelemetry's names. */
export function paramsOf(client: ClientFormat, body: JsonObject): Readonly<Record<string, number>> {
  const config = configOf(client, body)
  const params: Record<string, number> = {}
  if (config === null) return params
  for (const [name, , ...keys] of NUMBERS) {
    const value = firstNumber(config, keys)
    if (value !== undefined) params[name] = value
  }
  return params
}

/** The limit of output alone, which budgets ask of every call. */
export function maxTokensOf(client: ClientFormat, body: JsonObject): number | undefined {
  const config = configOf(client, body)
  return config === null ? undefined : firstNumber(config, MAX_TOKENS)
}

/** What a name or an id is in a span. */
export function cut(text: string): string {
  return text.length > TEXT_CHARS_MAX ? text.slice(0, TEXT_CHARS_MAX) : text
}

/** Null: there is none. */
function configOf(client: ClientFormat, body: JsonObject): JsonObject | null {
  const { of } = FORMATS[client].settings
  return of === undefined ? body : of(body)
}

const isNumber = (value: Json | undefined): value is number => Number.isFinite(value)

function setNumber(
  settings: Writable,
  field: NumberField | 'choiceCount',
  config: JsonObject,
  keys: readonly string[]
): void {
  const value = firstNumber(config, keys)
  if (value !== undefined) settings[field] = value
}

function firstNumber(config: JsonObject, keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const value = config[key]
    if (isNumber(value)) return value
  }
  return undefined
}

function firstOf(config: JsonObject, keys: readonly string[]): Json | undefined {
  const found = keys.find((key) => (config[key] ?? null) !== null)
  return found === undefined ? undefined : config[found]
}

function textsOf(list: readonly Json[]): string[] {
  return list.slice(0, TEXTS_MAX).filter(isString).map(cut)
}

function at(config: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = config
  for (const name of path) value = isObject(value) ? value[name] : undefined
  return value
}

function outputTypeOf(config: JsonObject, places: readonly (readonly string[])[]): string | undefined {
  for (const place of places) {
    const type = OUTPUT_TYPES.get(at(config, place) ?? null)
    if (type !== undefined) return type
  }
  return undefined
}

/** The first that is more than text. */
function modalityOf(list: Json | undefined): string | undefined {
  if (!Array.isArray(list)) return undefined
  const found = (list as readonly Json[]).slice(0, TEXTS_MAX).find((word) => MODALITIES.has(word))
  return found === undefined ? undefined : MODALITIES.get(found)
}
