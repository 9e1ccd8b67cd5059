/** Messages of a request as a dialect has them. */
import { hash } from 'node:crypto'
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject, type Writable } from '#backends/llm/formats/fields.ts'
import type { Dialect } from './dialect.ts'
import type { Notes } from './notes.ts'
import { isNothing } from './nothing.ts'

/** `messages` itself where nothing differs. `goesOn`: as of inDialect (request.ts). */
export function messagesIn(
  messages: readonly Json[],
  dialect: Dialect,
  notes: Notes,
  goesOn: boolean
): readonly Json[] {
  const made = messages.map((message, i) => (isObject(message) ? messageIn(message, i, dialect, notes) : message))
  const taken = dialect.alternating ? inTurns(made) : made
  const { prefill } = dialect
  const last = taken.at(-1)
  if (goesOn && (prefill === 'partial' || prefill === 'prefix') && isBegun(last)) {
    taken[taken.length - 1] = { ...last, [prefill]: true }
  }
  return taken.length === messages.length && taken.every((one, i) => one === messages[i]) ? messages : taken
}

/** The last message is the model's. */
export const isBegun = (last: Json | undefined): last is JsonObject => isObject(last) && last.role === 'assistant'

function messageIn(message: JsonObject, i: number, dialect: Dialect, notes: Notes): JsonObject {
  const made: Writable = { ...message }
  if (!dialect.developer && made.role === 'developer') made.role = 'system'
  if (made.role === 'assistant') {
    thoughtsIn(made, i, dialect, notes)
    refusalIn(made, dialect)
  }
  for (const name of dialect.refusesInMessages) {
    const value = made[name] as Json | undefined
    if (value === undefined) continue
    if (!isNothing(value)) notes.lose(`messages[${i}].${name}`)
    delete made[name]
  }
  if (!dialect.textLists) textIn(made)
  if (dialect.callIds === 'alphanumeric9') callIdsIn(made)
  const names = Object.keys(made)
  const isSame = names.length === Object.keys(message).length && names.every((name) => made[name] === message[name])
  return isSame ? message : (made as JsonObject)
}

// --- what the model has said ---

/** Where clients have them: DeepSeek's name, OpenRouter's, and the blocks of LiteLLM. */
const THOUGHTS = ['reasoning_content', 'reasoning', 'thinking_blocks'] as const

/** Where OpenAI's own clients have none, the default, they stay as they are. */
function thoughtsIn(made: Writable, i: number, { thoughts, needsThoughts }: Dialect, notes: Notes): void {
  if (thoughts !== 'reasoning_content') {
    const text = THOUGHTS.map((name) => made[name]).find((value) => typeof value === 'string' && value !== '')
    for (const name of THOUGHTS) {
      if (name === thoughts || made[name] === undefined) continue
      const isLost = thoughts === 'none' || text === undefined
      if (isLost && !isNothing(made[name] as Json)) notes.lose(`messages[${i}].${name}`, true)
      delete made[name]
    }
    if (text !== undefined) {
      if (thoughts === 'reasoning') made.reasoning ??= text
      else if (thoughts === 'content') made.content = withThoughts(text as string, (made.content ?? null) as Json)
    }
  }
  if (needsThoughts && thoughts !== 'none' && thoughts !== 'content' && !isNothing(made.tool_calls as Json)) {
    // An empty one counts as none (litellm, moonshot/chat/transformation.py: fill_reasoning_content).
    if (isNothing(made[thoughts] as Json)) made[thoughts] = ' '
  }
}

function withThoughts(text: string, content: Json): Json {
  const thought: Json = { type: 'thinking', thinking: [{ type: 'text', text }] }
  if (Array.isArray(content)) return [thought, ...(content as readonly Json[])]
  return isNothing(content) ? [thought] : [thought, { type: 'text', text: content }]
}

/** It is what the model has answered: where it has no member of its own, it is the content. */
function refusalIn(made: Writable, { refusesInMessages }: Dialect): void {
  if (typeof made.refusal !== 'string' || !refusesInMessages.includes('refusal')) return
  if (!isNothing(made.content as Json) || made.refusal === '') return
  made.content = made.refusal
  delete made.refusal
}

// --- content ---

function textIn(made: Writable): void {
  const { content } = made
  if (!Array.isArray(content) || content.length === 0) return
  const texts = (content as readonly Json[]).map(textOf)
  if (texts.every((text) => text !== null)) made.content = texts.join('\n')
}

const textOf = (part: Json): string | null =>
  isObject(part) && part.type === 'text' && typeof part.text === 'string' ? part.text : null

/** Calls and their results keep their places. */
function inTurns(messages: readonly Json[]): Json[] {
  const turns: Json[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    const joined = last === undefined ? null : joinedWith(last, message)
    if (joined === null) turns.push(message)
    else turns[turns.length - 1] = joined
  }
  return turns
}

function joinedWith(first: Json, second: Json): Json | null {
  if (!isObject(first) || !isObject(second) || first.role !== second.role) return null
  const isSpoken = (first.role === 'user' || first.role === 'assistant') && !hasCalls(first) && !hasCalls(second)
  if (!isSpoken) return null
  const [one, two] = [first.content ?? '', second.content ?? '']
  const content =
    typeof one === 'string' && typeof two === 'string' ? `${one}\n\n${two}` : [...partsOf(one), ...partsOf(two)]
  return { ...first, content }
}

const hasCalls = (message: JsonObject): boolean => !isNothing(message.tool_calls)

function partsOf(content: Json): readonly Json[] {
  if (Array.isArray(content)) return content as readonly Json[]
  return isNothing(content) ? [] : [{ type: 'text', text: content }]
}

// --- calls ---

function callIdsIn(made: Writable): void {
  if (typeof made.tool_call_id === 'string') made.tool_call_id = shortId(made.tool_call_id)
  if (!Array.isArray(made.tool_calls)) return
  const calls = made.tool_calls as readonly Json[]
  const ids = calls.map((call) => (isObject(call) && typeof call.id === 'string' ? shortId(call.id) : null))
  if (ids.every((id, i) => id === null || id === (calls[i] as JsonObject).id)) return
  made.tool_calls = calls.map((call, i) => (ids[i] === null ? call : { ...(call as JsonObject), id: ids[i]! }))
}

const SHORT = /^[a-zA-Z0-9]{9}$/

/** The same for a call and its result, in every request. 36 bits: calls of one conversation are some hundreds. */
const shortId = (id: string): string => (SHORT.test(id) ? id : hash('sha256', id).slice(0, 9))
