/** The body of a provider's error, ahead of its head: it says what is wrong with a request, and who may yet take it. */
import type { ChatError, FormatName } from '#backends/llm/conversation.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Peek } from '#engine/contract/filter.ts'
import { parseJson } from '#engine/kit/json.ts'

const END = /[}\]]\s{0,16}$/

/** Null: it cannot be read. `isLeft`: whether somebody else is asked after it; called once, when all of it is here. */
export function errorBody(
  { status, response }: Exchange,
  format: FormatName,
  isLeft: (error: ChatError) => boolean
): Peek | null {
  if ((response?.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return null
  const pieces: Buffer[] = []
  return {
    look(chunk, start, end) {
      pieces.push(Buffer.from(chunk.subarray(start, end)))
      const text = Buffer.concat(pieces).toString()
      // Not all of it is here.
      if (!END.test(text) || parseJson(text) === undefined) return 'more'
      return isLeft(FORMATS[format].readError(status, text)) ? 'again' : 'take'
    }
  }
}
