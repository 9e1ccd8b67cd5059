/** Tokens used (OpenAI API reference, "The chat completion object": usage), and what others add to them. */

import type { Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { compact, isObject, type Writable } from '#backends/llm/formats/fields.ts'
import { allAudio, allImage, inputKinds } from '#backends/llm/usage/input-kinds.ts'
import { reportedCost } from '#backends/llm/usage/reported-cost.ts'

/**
 * What a chunk has cost so far: `usage`, or as Groq (x_groq) and Moonshot (in the choice) have it. Null: it does not
 * say.
 */
export function usageIn({ usage, x_groq: groq, choices }: JsonObject): JsonObject | null {
  if (isObject(usage)) return usage
  if (isObject(groq) && isObject(groq.usage)) return groq.usage
  const choice = Array.isArray(choices) ? (choices as readonly Json[])[0] : undefined
  return isObject(choice) && isObject(choice.usage) ? choice.usage : null
}

/**
 * Images are counted by OpenRouter ("Usage accounting") and LiteLLM. On the path of every chunk
 * of some servers: no Fields.
 */
export function readUsage(value: JsonObject): Usage {
  const prompt = objectIn(value, 'prompt_tokens_details')
  const completion = objectIn(value, 'completion_tokens_details')
  const input = count(value, 'prompt_tokens')
  const reported = count(value, 'completion_tokens')
  // Some (xAI, Google's compatible endpoint) leave thoughts out of completion_tokens, but not out of the total.
  const output = Math.max(reported, count(value, 'total_tokens') - input)
  // DeepSeek has it in a field of its own.
  const cacheRead = count(prompt, 'cached_tokens') || count(value, 'prompt_cache_hit_tokens')
  // OpenRouter tells tokens of Gemini's own cache as read and as written: no token is both.
  const writes = readWrites(prompt, value, Math.max(input - cacheRead, 0))
  const cached = isObject(prompt.cached_tokens_details) ? prompt.cached_tokens_details : null
  const kinds = inputKinds({
    input,
    cacheRead,
    written: writes.short + writes.long,
    audio: count(prompt, 'audio_tokens'),
    image: count(prompt, 'image_tokens'),
    cachedAudio: cached === null ? null : count(cached, 'audio_tokens'),
    cachedImage: cached === null ? null : count(cached, 'image_tokens')
  })
  // Spreads in the middle of an object cost more than all the rest.
  const usage = {
    input,
    cacheRead,
    cacheWrite5m: writes.short,
    cacheWrite1h: writes.long,
    inputAudio: kinds.inputAudio,
    inputImage: kinds.inputImage,
    output,
    reasoning: count(completion, 'reasoning_tokens') || output - reported,
    outputAudio: count(completion, 'audio_tokens'),
    outputImage: count(completion, 'image_tokens'),
    ...reportedCost(value)
  }
  return kinds.cacheReadAudio === undefined && kinds.cacheReadImage === undefined ? usage : { ...usage, ...kinds }
}

/** OpenAI tells what was written; LiteLLM ("Prompt caching") for how long as well. */
function readWrites(prompt: JsonObject, value: JsonObject, most: number): { short: number; long: number } {
  const details = objectIn(prompt, 'cache_creation_token_details')
  const reported =
    count(prompt, 'cache_write_tokens') ||
    count(prompt, 'cache_creation_tokens') ||
    count(value, 'cache_creation_input_tokens')
  const total = Math.min(reported, most)
  const long = Math.min(count(details, 'ephemeral_1h_input_tokens'), total)
  return { short: total - long, long }
}

const NOTHING: JsonObject = {}

/** {} where it is none. */
export function objectIn(value: JsonObject, name: string): JsonObject {
  const found = value[name]
  return isObject(found) ? found : NOTHING
}

/** What is no count counts nothing: the answer is worth more than that. A prompt below nothing must not make output. */
function count(value: JsonObject, name: string): number {
  const found = value[name]
  return typeof found === 'number' && found > 0 ? found : 0
}

export function writeUsage(usage: Usage): Writable {
  const writes = usage.cacheWrite5m + usage.cacheWrite1h
  const lasting =
    usage.cacheWrite1h === 0
      ? null
      : { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h }
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: compact({
      cached_tokens: usage.cacheRead,
      audio_tokens: allAudio(usage),
      image_tokens: allImage(usage) === 0 ? null : allImage(usage),
      cache_write_tokens: writes === 0 ? null : writes,
      cache_creation_token_details: lasting
    }),
    completion_tokens_details: compact({
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio,
      image_tokens: usage.outputImage === 0 ? null : usage.outputImage
    })
  }
}
