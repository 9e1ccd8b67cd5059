/** Texts of the Responses API, for prompt guards. */
import {
  ALL,
  answered,
  astray,
  beside,
  type EventTexts,
  type Kind,
  NONE,
  pieceOf,
  ROLE,
  requestReach,
  type Value,
  whole
} from '#backends/llm/formats/guarded-texts.ts'
import { isObject, type Slot, textsBelow, textsBeside, textsOf } from '#engine/kit/scan/texts.ts'

export const requestTexts = requestReach(['instructions', 'input', 'prompt'], ['tools', 'text.format'])

// The client's own texts come back in other fields.
export const answerTexts = answered('output', 'output_text', 'error')

/** Of a response: the client's own texts come back in others. */
const RESPONSE_FIELDS = ['output', 'output_text', 'error']
const RESPONSE_ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

export function eventTexts(value: Value): EventTexts {
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
