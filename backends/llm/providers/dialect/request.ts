/**
 * A request of chat completions as the server of a dialect takes it. What it refuses and what means nothing to the
 * answer is left out; what it says in other words is put so; each is noted, for `unsupported` to decide.
 */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, type Writable } from '#backends/llm/formats/fields.ts'
import { budgetOf } from '#backends/llm/translate/effort.ts'
import { JSON_ONLY } from '#backends/llm/translate/rewrites.ts'
import { type Dialect, EFFORTS, type Effort, OPENAI } from './dialect.ts'
import { isBegun, messagesIn } from './messages.ts'
import type { Notes } from './notes.ts'
import { isNothing } from './nothing.ts'
import { toolsIn } from './tools.ts'

/**
 * `body` where nothing differs, else a copy. `goesOn`: a last message of the model is the beginning of its answer, as
 * clients of other formats mean it.
 */
export function inDialect(body: JsonObject, dialect: Dialect, notes: Notes, goesOn: boolean): JsonObject {
  if (dialect === OPENAI) return body
  const made: Writable = { ...body }
  leaveOut(made, dialect, notes)
  rename(made, 'max_completion_tokens', dialect.limit)
  rename(made, 'seed', dialect.seed)
  effortIn(made, dialect, notes)
  toolsIn(made, dialect, notes)
  const instruction = outputIn(made, dialect, notes)
  if (Array.isArray(made.messages)) {
    const messages = messagesIn(made.messages as readonly Json[], dialect, notes, goesOn)
    made.messages = instruction === null ? messages : withInstruction(messages, instruction)
    if (goesOn && dialect.prefill === 'continue_final_message' && isBegun(messages.at(-1))) {
      made.continue_final_message ??= true
      made.add_generation_prompt ??= false
    }
  }
  return isSame(made, body) ? body : (made as JsonObject)
}

function isSame(made: Writable, body: JsonObject): boolean {
  const names = Object.keys(made)
  return names.length === Object.keys(body).length && names.every((name) => made[name] === body[name])
}

function leaveOut(made: Writable, { streamOptions, refuses }: Dialect, notes: Notes): void {
  if (!streamOptions && made.stream_options !== undefined) {
    // What is asked for there alone is the usage, which such servers tell in the last event unasked, or never.
    if (!isNothing(made.stream_options)) notes.lose('stream_options', true)
    delete made.stream_options
  }
  for (const name of refuses) {
    const value = made[name]
    if (value === undefined) continue
    if (!isNothing(value)) notes.lose(name)
    delete made[name]
  }
}

function rename(made: Writable, name: string, wanted: string): void {
  if (name === wanted || made[name] === undefined) return
  if (made[wanted] === undefined) made[wanted] = made[name] ?? null
  delete made[name]
}

// --- how much to think ---

function effortIn(made: Writable, { effort, efforts }: Dialect, notes: Notes): void {
  const word = made.reasoning_effort
  if (typeof word !== 'string' || (effort === 'reasoning_effort' && efforts.length === 0)) return
  const isOff = word === 'none'
  if (effort === 'reasoning_effort' && isOff) {
    if (efforts.includes('none')) return
    notes.lose('reasoning_effort')
    delete made.reasoning_effort
    return
  }
  const taken = isOff ? null : nearestEffort(word, efforts)
  delete made.reasoning_effort
  if (taken !== null) made.reasoning_effort = taken
  // The client may have said it as this server has it.
  if (effort === 'thinking') made.thinking ??= { type: isOff ? 'disabled' : 'enabled' }
  if (effort === 'enable_thinking') {
    made.enable_thinking ??= !isOff
    if (!isOff) made.thinking_budget ??= budgetOf(word)
    return
  }
  if (effort === 'none') notes.lose('reasoning_effort')
  else if (!isOff && taken !== word) notes.reword('reasoning_effort')
}

/** Of two that are as near, the greater one. Null: there are none. A word that is not known stays. */
function nearestEffort(word: string, efforts: readonly Effort[]): string | null {
  const wanted = EFFORTS.indexOf(word as Effort)
  const levels = efforts.filter((one) => one !== 'none').map((one) => EFFORTS.indexOf(one))
  if (levels.length === 0) return null
  if (wanted < 0) return word
  const away = (level: number): number => Math.abs(level - wanted)
  const nearest = levels.reduce((best, one) =>
    away(one) < away(best) || (away(one) === away(best) && one > best) ? one : best
  )
  return EFFORTS[nearest]!
}

// --- the form of the answer ---

/** What the model is told in its stead; null: nothing. */
function outputIn(made: Writable, { outputs }: Dialect, notes: Notes): string | null {
  const format = made.response_format
  if (!isObject(format as Json) || outputs.length === OPENAI.outputs.length) return null
  const { type, json_schema: named } = format as JsonObject
  if ((type !== 'json_object' && type !== 'json_schema') || outputs.includes(type)) return null
  notes.reword('response_format')
  const [other] = outputs
  if (other === undefined) delete made.response_format
  else made.response_format = other === 'json_object' ? { type: other } : { type: other, json_schema: ANY_OBJECT }
  if (type === 'json_object') return other === undefined ? JSON_ONLY : null
  const schema = isObject(named) ? (named.schema ?? {}) : {}
  return `${JSON_ONLY} It must follow this JSON Schema: ${JSON.stringify(schema)}`
}

const ANY_OBJECT: JsonObject = { name: 'output', schema: { type: 'object' } }

/** Behind the first instructions. */
function withInstruction(messages: readonly Json[], text: string): Json[] {
  const [first, ...others] = messages
  const isInstruction = isObject(first) && (first.role === 'system' || first.role === 'developer')
  if (!isInstruction) return [{ role: 'system', content: text }, ...messages]
  const { content = null } = first
  const more = typeof content === 'string' ? `${content}\n\n${text}` : [...listOf(content), { type: 'text', text }]
  return [{ ...first, content: more }, ...others]
}

const listOf = (content: Json): readonly Json[] => (Array.isArray(content) ? content : [])
