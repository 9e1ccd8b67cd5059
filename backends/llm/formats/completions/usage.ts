/** Tokens used (OpenAI API reference, "The chat completion object": usage), and what others add to them. */
import type { JsonObject, Usage } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/fields.ts'
import { FormatError } from '#backends/llm/format.ts'
import { type Draft, draft } from './rest.ts'

/**
 * `path`: of the object. Images are counted by OpenRouter ("Usage accounting") and LiteLLM. On the path of every chunk
 * of some servers: no Fields.
 */
export function readUsage(value: JsonObject, path: string): Usage {
  const prompt = object(value, 'prompt_tokens_details', path)
  const completion = object(value, 'completion_tokens_details', path)
  const input = count(value, 'prompt_tokens', path)
  const said = count(value, 'completion_tokens', path)
  // Some (xAI, Google's compatible endpoint) leave thoughts out of completion_tokens, but not out of the total.
  const output = Math.max(said, count(value, 'total_tokens', path) - input)
  const writes = readWrites(prompt, value, path)
  return {
    input,
    // DeepSeek has it in a field of its own.
    cacheRead: count(prompt, 'cached_tokens', path) || count(value, 'prompt_cache_hit_tokens', path),
    cacheWrite5m: writes.short,
    cacheWrite1h: writes.long,
    inputAudio: count(prompt, 'audio_tokens', path),
    inputImage: count(prompt, 'image_tokens', path),
    output,
    reasoning: count(completion, 'reasoning_tokens', path) || output - said,
    outputAudio: count(completion, 'audio_tokens', path),
    outputImage: count(completion, 'image_tokens', path)
  }
}

/** OpenAI tells what was written; LiteLLM ("Prompt caching") for how long as well. */
function readWrites(prompt: JsonObject, value: JsonObject, path: string): { short: number; long: number } {
  const details = object(prompt, 'cache_creation_token_details', path)
  const total =
    count(prompt, 'cache_write_tokens', path) ||
    count(prompt, 'cache_creation_tokens', path) ||
    count(value, 'cache_creation_input_tokens', path)
  const long = Math.min(count(details, 'ephemeral_1h_input_tokens', path), total)
  return { short: total - long, long }
}

const NOTHING: JsonObject = {}

function object(value: JsonObject, name: string, path: string): JsonObject {
  const found = value[name] ?? null
  if (found === null) return NOTHING
  if (isObject(found)) return found
  throw new FormatError(`${path}.${name}`, 'must be an object')
}

function count(value: JsonObject, name: string, path: string): number {
  const found = value[name] ?? 0
  if (typeof found === 'number') return found
  throw new FormatError(`${path}.${name}`, 'must be a number')
}

export function writeUsage(usage: Usage): Draft {
  const writes = usage.cacheWrite5m + usage.cacheWrite1h
  const lasting =
    usage.cacheWrite1h === 0
      ? null
      : { ephemeral_5m_input_tokens: usage.cacheWrite5m, ephemeral_1h_input_tokens: usage.cacheWrite1h }
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: draft({
      cached_tokens: usage.cacheRead,
      audio_tokens: usage.inputAudio,
      image_tokens: usage.inputImage === 0 ? null : usage.inputImage,
      cache_write_tokens: writes === 0 ? null : writes,
      cache_creation_token_details: lasting
    }),
    completion_tokens_details: draft({
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio,
      image_tokens: usage.outputImage === 0 ? null : usage.outputImage
    })
  }
}
