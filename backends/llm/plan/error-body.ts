/** The body of a provider's error, ahead of its head: it says what is wrong with a request, and who may yet take it. */
import type { ChatError, FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek } from '#engine/contract/filter.ts'
import { parseJson } from '#engine/kit/json.ts'
import { JsonEnd } from '#engine/kit/json-end.ts'

/** Null: it cannot be read. `isLeft`: whether somebody else is asked after it; called once, when all of it is here. */
export function errorBody(
  { status, response }: Exchange,
  format: FormatName,
  isLeft: (error: ChatError) => boolean
): Peek | null {
  if ((response?.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return null
  const pieces: Buffer[] = []
  const whole = new JsonEnd()
  return {
    look(chunk, start, end) {
      pieces.push(Buffer.from(chunk.subarray(start, end)))
      if (!whole.push(chunk, start, end)) return 'more'
      const text = Buffer.concat(pieces).toString()
      if (parseJson(text) === undefined) return 'take'
      return isLeft(FORMATS[format].readError(status, text)) ? 'again' : 'take'
    }
  }
}
