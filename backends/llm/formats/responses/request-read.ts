/** A request of POST /v1/responses (API reference, "Create a model response") as a conversation. */

import {
  type Conversation,
  type Json,
  NO_SAMPLING,
  type OutputShape,
  type Part,
  type Sampling,
  type TextPart,
  type Thinking,
  type Tool,
  type ToolChoice,
  type Turn
} from '#backends/llm/conversation.ts'
import { Fields } from '#backends/llm/formats/fields.ts'
import { type ChatFormat, FormatError } from '#backends/llm/formats/format.ts'
import { newNotes, type ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import type { Item, ItemRole } from './content-read.ts'
import { opaque, readItem } from './content-read.ts'
import { paths } from './paths.ts'
import { originOf } from './wording.ts'

export const readRequest: ChatFormat['readRequest'] = (body, from): Conversation => {
  const fields = Fields.of(body, '')
  const notes = newNotes()
  const model = from.model ?? fields.optionalString('model')
  // A prompt template may say the model.
  if (model === null && (fields.value.prompt ?? null) === null) throw new FormatError('model', 'is required')
  fields.any('model')
  const stream = fields.optionalBoolean('stream')
  if (stream === false) notes.wording.set('stream', false)
  const input = readInput(fields, notes)
  const output = readText(fields, notes)
  const conversation: Conversation = {
    model: model ?? '',
    isStreamed: from.isStreamed ?? stream ?? false,
    system: input.system,
    turns: input.turns,
    tools: fields.objects('tools').map((tool) => readTool(tool, notes)),
    toolChoice: readToolChoice(fields, notes),
    sampling: readSampling(fields, notes),
    output,
    thinking: readThinking(fields, notes),
    serviceTier: fields.optionalString('service_tier'),
    user: readUser(fields, notes),
    metadata: fields.optionalStrings('metadata'),
    origin: { ...originOf(notes), paths }
  }
  if (conversation.tools.length === 0 && Array.isArray(body.tools)) notes.wording.set('tools', [])
  keepHarmless(fields, notes)
  fields.leaveUnknown(notes.unknown)
  return conversation
}

function readInput(fields: Fields, notes: ReadNotes): { system: readonly TextPart[]; turns: readonly Turn[] } {
  const system: TextPart[] = []
  const instructions = fields.optionalString('instructions')
  if (instructions !== null) system.push({ kind: 'text', text: instructions, cache: null })
  const input = fields.any('input')
  if (input === null || typeof input === 'string') {
    notes.wording.set('#input', input === null ? 'absent' : 'text')
    const parts: Part[] = input === null ? [] : [{ kind: 'text', text: input, cache: null }]
    return { system, turns: input === null ? [] : [{ role: 'user', parts }] }
  }
  const turns = new Turns()
  const leading: number[] = []
  for (const field of fields.objects('input')) {
    const item = readItem(field, notes)
    const texts = turns.isEmpty ? systemTexts(item) : null
    if (texts === null) {
      turns.add(item)
    } else {
      leading.push(texts.length)
      for (const text of texts) system.push(text) // A spread of a great many would exhaust the stack.
    }
  }
  if (leading.length > 0) notes.wording.set('#system', leading)
  return { system, turns: turns.turns }
}

/** System and developer messages ahead of all others are the system prompt; null for what is none. */
function systemTexts(item: Item): readonly TextPart[] | null {
  if (item.kind !== 'message' || item.role !== 'system') return null
  return item.parts.every((part) => part.kind === 'text') ? (item.parts as readonly TextPart[]) : null
}

/**
 * Items as turns: what one side says without interruption is one turn, except that each message after a message is
 * one of its own. So a writer finds the messages again: they are the runs of content in a turn.
 */
class Turns {
  readonly turns: { role: ItemRole; parts: Part[] }[] = []
  #isClosed = true
  #isMessageLast = false

  get isEmpty(): boolean {
    return this.turns.length === 0
  }

  add(item: Item): void {
    if (item.kind === 'seal') this.#seal(item)
    else if (item.kind === 'part') this.#grow(item.role, [item.part], false)
    else this.#grow(item.role, item.parts, true)
  }

  #grow(role: ItemRole, parts: readonly Part[], isMessage: boolean): void {
    const last = this.turns.at(-1)
    const isMore = last?.role === role && !this.#isClosed && role !== 'system' && parts.length > 0
    if (last === undefined || !isMore || (isMessage && this.#isMessageLast))
      this.turns.push({ role, parts: [...parts] })
    else for (const part of parts) last.parts.push(part)
    this.#isMessageLast = isMessage
    this.#isClosed = parts.length === 0
  }

  #seal(item: Extract<Item, { readonly kind: 'seal' }>): void {
    const parts = this.turns.at(-1)?.parts
    const call = parts?.at(-1)
    if (parts !== undefined && call?.kind === 'toolCall' && call.signature === null) {
      parts[parts.length - 1] = { ...call, signature: item.signature }
    } else {
      this.#grow('assistant', [item.part], false)
    }
  }
}

function readTool(tool: Fields, notes: ReadNotes): Tool {
  const type = tool.string('type')
  if (type !== 'function') {
    const native = opaque(tool.value) as Tool['native']
    const name = typeof tool.value.name === 'string' ? tool.value.name : type
    return { name, description: null, schema: {}, strict: null, cache: null, native }
  }
  const schema = tool.optionalObject('parameters')
  if (schema === null) notes.wording.set(`${tool.path}#bare`, true)
  const read: Tool = {
    name: tool.string('name'),
    description: tool.optionalString('description'),
    schema: schema?.value ?? {},
    strict: tool.optionalBoolean('strict'),
    cache: null,
    native: null
  }
  tool.leaveUnknown(notes.unknown)
  return read
}

const CHOICES = { auto: 'auto', none: 'none', required: 'any' } as const

function readToolChoice(fields: Fields, notes: ReadNotes): ToolChoice | null {
  const parallel = fields.optionalBoolean('parallel_tool_calls')
  const choice = fields.any('tool_choice')
  if (typeof choice === 'string') {
    if (!Object.hasOwn(CHOICES, choice)) {
      throw new FormatError('tool_choice', 'must be one of none, auto, required, or an object')
    }
    return { kind: CHOICES[choice as keyof typeof CHOICES], name: null, parallel }
  }
  if (choice === null) {
    notes.wording.set('#tool_choice', 'absent')
    return parallel === null ? null : { kind: 'auto', name: null, parallel }
  }
  const object = Fields.of(choice, 'tool_choice')
  if (object.string('type') === 'function') {
    const name = object.string('name')
    object.leaveUnknown(notes.unknown)
    return { kind: 'tool', name, parallel }
  }
  // A hosted tool, or a list of allowed ones: no other format can say it.
  notes.unknown.set('tool_choice', choice)
  return parallel === null ? null : { kind: 'auto', name: null, parallel }
}

function readSampling(fields: Fields, notes: ReadNotes): Sampling {
  const include = fields.optionalList('include')
  const top = fields.optionalNumber('top_logprobs')
  if (top === null) notes.wording.set('#top_logprobs', 'absent')
  if (include !== null) {
    // Both of these are asked of other formats in their own way; what hosted tools would add is not.
    const isCarried = include.every((what) => what === 'reasoning.encrypted_content' || what === LOGPROBS)
    ;(isCarried ? notes.wording : notes.unknown).set('include', include)
  }
  return {
    ...NO_SAMPLING,
    maxTokens: fields.optionalNumber('max_output_tokens'),
    temperature: fields.optionalNumber('temperature'),
    topP: fields.optionalNumber('top_p'),
    topLogprobs: top ?? (include?.includes(LOGPROBS) ? 0 : null)
  }
}

/** Of `include`. */
export const LOGPROBS = 'message.output_text.logprobs'

function readText(fields: Fields, notes: ReadNotes): OutputShape | null {
  const text = fields.optionalObject('text')
  if (text === null) return null
  if (Object.keys(text.value).length === 0) notes.wording.set('text', {})
  const format = text.optionalObject('format')
  text.leaveUnknown(notes.unknown)
  if (format === null) return null
  const type = format.string('type')
  if (type === 'json_schema') {
    const shape: OutputShape = {
      kind: 'schema',
      name: format.string('name'),
      description: format.optionalString('description'),
      schema: format.object('schema').value,
      strict: format.optionalBoolean('strict')
    }
    format.leaveUnknown(notes.unknown)
    return shape
  }
  if (type === 'json_object') {
    format.leaveUnknown(notes.unknown)
    return { kind: 'json' }
  }
  // Text is what comes unasked; a format that is not known (grammars) is a matter of this API alone.
  const isText = type === 'text' && Object.keys(format.value).length === 1
  ;(isText ? notes.wording : notes.unknown).set('text.format', format.value)
  return null
}

function readThinking(fields: Fields, notes: ReadNotes): Thinking | null {
  const reasoning = fields.optionalObject('reasoning')
  if (reasoning === null) return null
  const effort = reasoning.optionalString('effort')
  const summary = reasoning.optionalString('summary')
  if (summary !== null && summary !== 'auto') notes.wording.set('reasoning.summary', summary)
  reasoning.leaveUnknown(notes.unknown)
  if (effort === null && summary === null) {
    if (Object.keys(reasoning.value).length === 0) notes.wording.set('reasoning', {})
    return null
  }
  const isShown = summary === null ? null : true
  if (effort === 'none') return { mode: 'off', effort: null, budgetTokens: null, isShown }
  return { mode: effort === null ? 'adaptive' : 'on', effort, budgetTokens: null, isShown }
}

/** `user` is the old name of `safety_identifier`. */
function readUser(fields: Fields, notes: ReadNotes): string | null {
  const user = fields.optionalString('user')
  const safety = fields.optionalString('safety_identifier')
  if (user !== null) notes.wording.set('#user', safety === null ? 'old' : 'both')
  if (user !== null && safety !== null) notes.wording.set('user', user)
  return safety ?? user
}

/** What asks for nothing that other formats would not do unasked. */
const HARMLESS: readonly (readonly [name: string, value: Json])[] = [
  ['store', false],
  ['background', false],
  ['truncation', 'disabled']
]

function keepHarmless(fields: Fields, notes: ReadNotes): void {
  for (const [name, value] of HARMLESS) {
    if (fields.value[name] === value) notes.wording.set(name, fields.any(name))
  }
  const options = fields.optionalObject('stream_options')
  if (options === null) return
  if (Object.keys(options.value).length === 0) notes.wording.set('stream_options', {})
  // Padding of events, which only this API has.
  if (options.optionalBoolean('include_obfuscation') === false)
    notes.wording.set('stream_options.include_obfuscation', false)
  else if (options.value.include_obfuscation === true) notes.unknown.set('stream_options.include_obfuscation', true)
  options.leaveUnknown(notes.unknown)
}
