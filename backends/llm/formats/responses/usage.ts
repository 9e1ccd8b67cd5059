/** Tokens as the Responses API counts them (API reference, `usage` of the response object). */

import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, type Fields, isObject } from '#backends/llm/formats/fields.ts'
import type { ReadNotes } from '#backends/llm/formats/unknown-fields.ts'
import { allAudio, allImage, inputKinds } from '#backends/llm/usage/input-kinds.ts'
import { reportedCost } from '#backends/llm/usage/reported-cost.ts'

/** `output`: of the response, since its usage does not tell of searches. */
export function readUsage(usage: Fields | null, output: Json | undefined, notes: ReadNotes | null): Usage | null {
  if (usage === null) return null
  const input = usage.optionalObject('input_tokens_details')
  const details = usage.optionalObject('output_tokens_details')
  const [all, cacheRead] = [usage.count('input_tokens'), input?.count('cached_tokens') ?? 0]
  // One price for all times.
  const written = input?.count('cache_write_tokens') ?? 0
  const read: Usage = {
    input: all,
    cacheRead,
    cacheWrite5m: written,
    cacheWrite1h: 0,
    ...inputKinds({
      ...{ input: all, cacheRead, written, cachedAudio: null, cachedImage: null },
      audio: input?.count('audio_tokens') ?? 0,
      image: input?.count('image_tokens') ?? 0
    }),
    output: usage.count('output_tokens'),
    reasoning: details?.count('reasoning_tokens') ?? 0,
    outputAudio: details?.count('audio_tokens') ?? 0,
    outputImage: details?.count('image_tokens') ?? 0,
    ...searchesIn(output),
    ...reportedCost(usage.value)
  }
  usage.any('total_tokens')
  if (notes !== null) for (const object of [usage, input, details]) object?.leaveUnknown(notes.wording)
  return read
}

/** Calls of the web search tool that have searched ("Pricing", built-in tools): opening a page costs nothing. */
function searchesIn(output: Json | undefined): Pick<Usage, 'searches'> {
  if (!Array.isArray(output)) return {}
  let searches = 0
  for (const item of output as readonly Json[]) {
    if (!isObject(item) || item.type !== 'web_search_call' || item.status === 'failed') continue
    if (!isObject(item.action) || item.action.type === 'search') searches++
  }
  return searches === 0 ? {} : { searches }
}

export function writeUsage(usage: Usage | null): JsonObject | null {
  if (usage === null) return null
  return compact({
    input_tokens: usage.input,
    input_tokens_details: compact({
      cached_tokens: usage.cacheRead,
      cache_write_tokens: usage.cacheWrite5m + usage.cacheWrite1h,
      audio_tokens: allAudio(usage) === 0 ? null : allAudio(usage),
      image_tokens: allImage(usage) === 0 ? null : allImage(usage)
    }),
    output_tokens: usage.output,
    output_tokens_details: compact({
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio === 0 ? null : usage.outputAudio,
      image_tokens: usage.outputImage === 0 ? null : usage.outputImage
    }),
    total_tokens: usage.input + usage.output
  })
}
