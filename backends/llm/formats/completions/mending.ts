/** What servers leave out of their chunks, put in again in streams that pass as they are. */
import type { Json, JsonObject } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { Mending } from '#backends/llm/formats/format.ts'
import { parseJson } from '#engine/kit/json.ts'
import { callIndexes } from './call-indexes.ts'
import { usageIn } from './usage.ts'

export const mending: Mending = {
  // Calls that have their index have it first, nearly all.
  marks: /"tool_calls"\s*:\s*\[\s*\{(?!\s*"index"\s*:\s*\d)/,
  marksOfRead: /"x_groq"\s*:\s*\{[^{}]*"usage"\s*:\s*\{|"finish_reason"\s*:\s*"\w*"\s*,\s*"usage"\s*:\s*\{/,
  begin() {
    const withIndexes = callIndexes()
    return (data) => {
      const value = parseJson(data) as Json | undefined
      if (!isObject(value)) return null
      const counted = withUsage(value)
      const mended = withIndexes(counted ?? value) ?? counted
      return mended === null ? null : JSON.stringify(mended)
    }
  }
}

/**
 * Groq counts in `x_groq`, and Moonshot in the choice, where OpenAI's clients and those made from them do not look:
 * it is said where the format has it, too. Null: it is there, or nowhere.
 */
function withUsage(value: JsonObject): JsonObject | null {
  const usage = usageIn(value)
  return usage === null || usage === value.usage ? null : { ...value, usage }
}
