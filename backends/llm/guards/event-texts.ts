/**
 * The texts in one event of a provider's stream: which of them go on from event to event, and which are complete. By
 * the formats' own streaming references; what an event has beside them is looked through as in a whole answer.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import { FormatError, type WireEvent } from '#backends/llm/format.ts'
import { hasTwins } from '#engine/kit/scan/job.ts'
import { isObject, type Slot, textsBelow, textsOf } from '#engine/kit/scan/texts.ts'

export interface Piece {
  readonly slot: Slot
  /** Of the text that it is a piece of; null: it is a text of its own. */
  readonly key: string | null
}

export interface EventTexts {
  readonly pieces: readonly Piece[]
  /** Texts whose keys begin like this have ended with this event, or before it. */
  readonly ends: readonly string[]
}

type Value = { readonly [name: string]: unknown }
type Reader = (value: Value, name: string) => EventTexts

const NONE: EventTexts = { pieces: [], ends: [] }
/** Every key begins so. */
const ALL = ['']
const ROLE = 'assistant'

/** `value`: what the event's data is as JSON; null when it is none ("[DONE]"). Throws FormatError. */
export function eventTexts(format: FormatName, { name, data }: WireEvent, value: unknown): EventTexts {
  if (isObject(value)) {
    if (hasTwins(data, value)) throw new FormatError('', 'a field of an event comes twice')
    return READERS[format](value, name)
  }
  // All texts of a format are in objects: what is in another value nobody has looked through.
  if (data !== '' && data.trim() !== '[DONE]') throw new FormatError('', 'an event is no JSON object')
  return { pieces: [], ends: ALL }
}

function whole(slots: readonly Slot[]): Piece[] {
  return slots.map((slot) => ({ slot, key: null }))
}

/** A text that goes on is over when something else of the same choice has begun; `group` ends with "|". */
function goingOn(slots: readonly Slot[], group: string): Piece[] {
  return slots.map((slot) => ({ slot, key: `${group}${slot.path}` }))
}

function listOf(value: unknown): Value[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function completions(value: Value): EventTexts {
  const pieces: Piece[] = []
  const ends: string[] = []
  for (const [i, choice] of listOf(value.choices).entries()) {
    const group = `${String(choice.index ?? i)}|`
    pieces.push(...goingOn(textsBelow(choice, 'delta', ROLE), group))
    // Of servers that stream whole messages, or the older completions.
    pieces.push(...whole(textsBelow(choice, 'message', ROLE)), ...goingOn(textsBelow(choice, 'text', ROLE), group))
    if ((choice.finish_reason ?? null) !== null) ends.push(group)
  }
  return { pieces, ends }
}

const BLOCK_TEXT = /^(?:content_block|delta)\.(text|thinking|partial_json)$/

function messages(value: Value): EventTexts {
  const group = `${String(value.index)}|`
  switch (value.type) {
    case 'message_start':
      return isObject(value.message) ? { ...NONE, pieces: whole(textsOf(value.message, ['content'], ROLE)) } : NONE
    case 'content_block_start':
    case 'content_block_delta': {
      const slots = textsBelow(value, value.type === 'content_block_start' ? 'content_block' : 'delta', ROLE)
      return { ...NONE, pieces: slots.map((slot) => ({ slot, key: blockKey(group, slot) })) }
    }
    case 'content_block_stop':
      return { ...NONE, ends: [group] }
    case 'message_stop':
      return { ...NONE, ends: ALL }
    default:
      return NONE
  }
}

function blockKey(group: string, { path }: Slot): string | null {
  const kind = BLOCK_TEXT.exec(path)?.[1]
  return kind === undefined ? null : `${group}${kind}`
}

/** Fields of events that are complete texts, or hold some. */
const RESPONSE_FIELDS = ['text', 'arguments', 'refusal', 'transcript', 'input', 'code', 'part', 'item', 'annotation']
const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function responses(value: Value): EventTexts {
  const type = String(value.type)
  const item = `${String(value.output_index ?? '')}|`
  if (type.endsWith('.delta')) {
    // Sound is no text.
    if (type === 'response.audio.delta') return NONE
    const key = `${item}${String(value.content_index ?? value.summary_index ?? '')}|${type.slice(0, -6)}`
    const isJson = type.endsWith('arguments.delta')
    const slots = textsBelow(value, 'delta', ROLE)
    return { ...NONE, pieces: slots.map((slot) => ({ slot: { ...slot, isJson }, key })) }
  }
  const pieces = RESPONSE_FIELDS.flatMap((name) => whole(textsBelow(value, name, ROLE)))
  if (isObject(value.response)) pieces.push(...whole(textsOf(value.response, ['output'], ROLE)))
  if (RESPONSE_ENDS.has(type)) return { pieces, ends: ALL }
  return { pieces, ends: type.endsWith('.done') ? [item] : [] }
}

function gemini(value: Value): EventTexts {
  const pieces: Piece[] = []
  const ends: string[] = []
  for (const [i, candidate] of listOf(value.candidates).entries()) {
    const group = `${String(candidate.index ?? i)}|`
    for (const name of Object.keys(candidate)) {
      if (name !== 'content') pieces.push(...whole(textsBelow(candidate, name, ROLE)))
    }
    for (const part of isObject(candidate.content) ? listOf(candidate.content.parts) : []) {
      const kind = part.thought === true ? 'thought' : 'text'
      for (const slot of textsBelow({ part }, 'part', ROLE)) {
        pieces.push({ slot, key: slot.path === 'part.text' ? `${group}${kind}` : partialKey(group, part, slot) })
      }
    }
    if ((candidate.finishReason ?? null) !== null) ends.push(group)
  }
  return { pieces, ends }
}

const PARTIAL = /^part\.functionCall\.partialArgs\.([0-9]+)\.stringValue$/

/** Arguments that come bit by bit say where they belong. */
function partialKey(group: string, { functionCall }: Value, { path }: Slot): string | null {
  const index = PARTIAL.exec(path)?.[1]
  if (index === undefined || !isObject(functionCall)) return null
  return `${group}args ${String(listOf(functionCall.partialArgs)[Number(index)]?.jsonPath)}`
}

/** Amazon Bedrock API reference, "ConverseStream": the kind of an event is its name. */
function converse(value: Value, name: string): EventTexts {
  const group = `${String(value.contentBlockIndex ?? '')}|`
  if (name === 'contentBlockStop') return { ...NONE, ends: [group] }
  if (name === 'messageStop') return { ...NONE, ends: ALL }
  const slots = [...textsBelow(value, 'delta', ROLE), ...textsBelow(value, 'start', ROLE)]
  const pieces = slots.map((slot) => {
    const isJson = slot.isJson || slot.path.endsWith('toolUse.input')
    return { slot: { ...slot, isJson }, key: `${group}${slot.path}` }
  })
  return { ...NONE, pieces }
}

const READERS: { readonly [format in FormatName]: Reader } = { completions, messages, responses, gemini, converse }
