/** The texts in one event of a provider's stream. What an event has beside them is looked through as a whole answer. */
import type { FormatName } from '#backends/llm/conversation.ts'
import { FormatError, type WireEvent } from '#backends/llm/formats/format.ts'
import { ALL, type EventTexts } from '#backends/llm/formats/guarded-texts.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import { hasTwins } from '#engine/kit/scan/body.ts'
import { isObject } from '#engine/kit/scan/texts.ts'

/** `value`: what the event's data is as JSON; null when it is none ("[DONE]"). Throws FormatError. */
export function eventTexts(format: FormatName, { name, data }: WireEvent, value: unknown): EventTexts {
  if (isObject(value)) {
    if (hasTwins(data, value)) throw new FormatError('', 'a field of an event comes twice')
    return FORMATS[format].eventTexts(value, name)
  }
  // All texts of a format are in objects: other values are not searched.
  if (data !== '' && data.trim() !== '[DONE]') throw new FormatError('', 'an event is no JSON object')
  return { pieces: [], ends: ALL }
}
