/**
 * The texts in one event of a provider's stream: which of them go on from event to event, and which are complete. By
 * the formats' own streaming references; what an event has beside them is looked through as in a whole answer.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import { hasTwins } from '#engine/kit/scan/body.ts'
import { isObject, type Slot, textsBelow, textsBeside, textsOf } from '#engine/kit/scan/texts.ts'

export interface Piece {
  readonly slot: Slot
  /** Of the part that it is a piece of, or that it repeats; null: it is a text of its own. */
  readonly key: string | null
  /** Parts of the same kind and choice are read as one text; null: this one is not. */
  readonly kind: Kind | null
  /** "0|"; formats that have only one choice: "|". */
  readonly choice: string
  /** It says again, whole, what has come in pieces. */
  readonly isRepeated: boolean
}

export type Kind = 'text' | 'thought'

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

/** The choice of formats that have only one. */
const ONLY = '|'

function whole(slots: readonly Slot[]): Piece[] {
  return slots.map((slot) => pieceOf(slot, null))
}

/** What nobody knows of a value: its fields beside those that are. */
function beside(value: Value, ...known: string[]): Piece[] {
  return whole(textsBeside(value, known, ROLE))
}

/** What is in a list beside objects, or in what should be one. */
function astray(value: Value, name: string): Piece[] {
  const list = value[name]
  if (!Array.isArray(list)) return whole(textsBelow(value, name, ROLE))
  return whole(list.flatMap((item, i) => (isObject(item) ? [] : textsBelow(list, String(i), ROLE))))
}

function pieceOf(slot: Slot, key: string | null, kind: Kind | null = null, choice: string = ONLY): Piece {
  return { slot, key, kind, choice, isRepeated: false }
}

/** A text that goes on is over when something else of the same choice has begun; `group` ends with "|". */
function goingOn(slots: readonly Slot[], group: string): Piece[] {
  return slots.map((slot) => pieceOf(slot, `${group}${slot.path}`, kindIn(slot), group))
}

const SPOKEN = /^(?:delta\.content(?:\.\d+\.text)?|text)$/
/** Of servers that show them beside the content. */
const THOUGHT = /^delta\.reasoning(?:_content)?$/

function kindIn({ path }: Slot): Kind | null {
  if (SPOKEN.test(path)) return 'text'
  return THOUGHT.test(path) ? 'thought' : null
}

function listOf(value: unknown): Value[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

function completions(value: Value): EventTexts {
  const pieces: Piece[] = [...astray(value, 'choices'), ...beside(value, 'choices')]
  const ends: string[] = []
  for (const [i, choice] of listOf(value.choices).entries()) {
    const group = `${String(choice.index ?? i)}|`
    pieces.push(...goingOn(textsBelow(choice, 'delta', ROLE), group))
    // Of servers that stream whole messages, or the older completions.
    pieces.push(...goingOn(textsBelow(choice, 'text', ROLE), group), ...beside(choice, 'delta', 'text'))
    if ((choice.finish_reason ?? null) !== null) ends.push(group)
  }
  return { pieces, ends }
}

const BLOCK_TEXT = /^(?:content_block|delta)\.(text|thinking|partial_json)$/

function messages(value: Value): EventTexts {
  const group = `${String(value.index)}|`
  switch (value.type) {
    case 'message_start': {
      const pieces = isObject(value.message) ? beside(value.message) : astray(value, 'message')
      return { ...NONE, pieces: [...pieces, ...beside(value, 'message')] }
    }
    case 'content_block_start':
    case 'content_block_delta': {
      const name = value.type === 'content_block_start' ? 'content_block' : 'delta'
      const pieces = textsBelow(value, name, ROLE).map((slot) => blockPiece(group, slot))
      return { ...NONE, pieces: [...pieces, ...beside(value, name)] }
    }
    case 'content_block_stop':
      return { pieces: beside(value), ends: [group] }
    case 'message_stop':
      return { pieces: beside(value), ends: ALL }
    default:
      return { ...NONE, pieces: beside(value) }
  }
}

function blockPiece(group: string, slot: Slot): Piece {
  const kind = BLOCK_TEXT.exec(slot.path)?.[1]
  if (kind === undefined) return pieceOf(slot, null)
  return pieceOf(slot, `${group}${kind}`, kind === 'text' ? kind : kind === 'thinking' ? 'thought' : null)
}

/** Of a response: what the client has said itself comes back in others. */
const RESPONSE_FIELDS = ['output', 'output_text', 'error']
const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

function responses(value: Value): EventTexts {
  const type = String(value.type)
  const item = `${String(value.output_index ?? '')}|`
  if (type.endsWith('.delta')) {
    // Sound is no text.
    if (type === 'response.audio.delta') return { ...NONE, pieces: beside(value, 'delta', 'response') }
    const what = type.slice('response.'.length, -'.delta'.length)
    const key = `${item}${String(value.content_index ?? value.summary_index ?? '')}|${what}`
    const isJson = type.endsWith('arguments.delta')
    const slots = textsBelow(value, 'delta', ROLE)
    const pieces = slots.map((slot) => pieceOf({ ...slot, isJson }, key, RESPONSE_KINDS.get(what) ?? null))
    return { ...NONE, pieces: [...pieces, ...beside(value, 'delta')] }
  }
  const pieces = textsBeside(value, ['response'], ROLE).map((slot) => {
    const what = repeatedIn(value, type, slot)
    return what === null ? pieceOf(slot, null) : { ...pieceOf(slot, `${item}${what}`, 'text'), isRepeated: true }
  })
  const { response } = value
  if (isObject(response)) pieces.push(...whole(textsOf(response, RESPONSE_FIELDS, ROLE)))
  else pieces.push(...astray(value, 'response'))
  if (RESPONSE_ENDS.has(type)) return { pieces, ends: ALL }
  return { pieces, ends: type.endsWith('.done') ? [item] : [] }
}

/** Texts of parts, by the names of the events in which they come. */
const RESPONSE_KINDS: ReadonlyMap<string, Kind> = new Map([
  ['output_text', 'text'],
  ['reasoning_text', 'thought'],
  ['reasoning_summary_text', 'thought']
])
const REPEATED_PART = /^item\.(content|summary)\.(\d+)\.text$/
const WITH_PART = /^response\.(?:content_part|reasoning_summary_part)\.done$/

/** Which part a text says again: "0|output_text"; null: none that comes in pieces. */
function repeatedIn(value: Value, type: string, { path }: Slot): string | null {
  const index = String(value.content_index ?? value.summary_index ?? '')
  if (path === 'text') {
    const what = type.slice('response.'.length, -'.done'.length)
    return type.endsWith('.done') && RESPONSE_KINDS.has(what) ? `${index}|${what}` : null
  }
  if (path === 'part.text' && isObject(value.part)) {
    return WITH_PART.test(type) ? `${index}|${PART_NAMES.get(value.part.type) ?? ''}` : null
  }
  const part = REPEATED_PART.exec(path)
  if (part === null || type !== 'response.output_item.done' || !isObject(value.item)) return null
  if (part[1] === 'summary') return `${part[2]}|reasoning_summary_text`
  return `${part[2]}|${value.item.type === 'reasoning' ? 'reasoning_text' : 'output_text'}`
}

const PART_NAMES: ReadonlyMap<unknown, string> = new Map([
  ['output_text', 'output_text'],
  ['reasoning_text', 'reasoning_text'],
  ['summary_text', 'reasoning_summary_text']
])

function gemini(value: Value): EventTexts {
  const pieces: Piece[] = [...astray(value, 'candidates'), ...beside(value, 'candidates')]
  const ends: string[] = []
  for (const [i, candidate] of listOf(value.candidates).entries()) {
    const group = `${String(candidate.index ?? i)}|`
    const { content } = candidate
    pieces.push(...beside(candidate, 'content'))
    if (isObject(content)) pieces.push(...astray(content, 'parts'), ...beside(content, 'parts'))
    else pieces.push(...astray(candidate, 'content'))
    for (const part of isObject(content) ? listOf(content.parts) : []) {
      const kind = part.thought === true ? 'thought' : 'text'
      for (const slot of textsBelow({ part }, 'part', ROLE)) {
        if (slot.path === 'part.text') pieces.push(pieceOf(slot, `${group}${kind}`, kind, group))
        else pieces.push(pieceOf(slot, partialKey(group, part, slot), null, group))
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

const CONVERSE_KINDS: ReadonlyMap<string, Kind> = new Map([
  ['delta.text', 'text'],
  ['delta.reasoningContent.text', 'thought']
])

/** Amazon Bedrock API reference, "ConverseStream": the kind of an event is its name. */
function converse(value: Value, name: string): EventTexts {
  const group = `${String(value.contentBlockIndex ?? '')}|`
  if (name === 'contentBlockStop') return { ...NONE, ends: [group] }
  if (name === 'messageStop') return { ...NONE, ends: ALL }
  const slots = [...textsBelow(value, 'delta', ROLE), ...textsBelow(value, 'start', ROLE)]
  const pieces = slots.map((slot) => {
    const isJson = slot.isJson || slot.path.endsWith('toolUse.input')
    return pieceOf({ ...slot, isJson }, `${group}${slot.path}`, CONVERSE_KINDS.get(slot.path) ?? null)
  })
  return { ...NONE, pieces: [...pieces, ...beside(value, 'delta', 'start')] }
}

const READERS: { readonly [format in FormatName]: Reader } = { completions, messages, responses, gemini, converse }
