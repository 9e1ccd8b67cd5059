/**
 * What pictures and sound have cost, as OpenAI's answers say it. Sources: OpenAI, API reference: "Create transcription"
 * (usage of type tokens, or duration), "Create image" and "Create speech" (events `speech.audio.done`).
 */
import { type JsonObject, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { objectIn } from '#backends/llm/formats/completions/usage.ts'
import { isObject, isString } from '#backends/llm/formats/fields.ts'
import { inputKinds } from '#backends/llm/usage/input-kinds.ts'
import type { Units } from '#engine/prices/cost.ts'
import type { OperationCost } from './operation.ts'
import type { ReadCost } from './passing-answer.ts'

type Output = 'text' | 'audio' | 'image'

/** Null: the answer has no tokens. */
function tokensIn(body: JsonObject, output: Output): Usage | null {
  const { usage } = body
  if (!isObject(usage) || typeof usage.input_tokens !== 'number') return null
  // Transcriptions have another spelling than pictures.
  const input = { ...objectIn(usage, 'input_tokens_details'), ...objectIn(usage, 'input_token_details') }
  const details = objectIn(usage, 'output_tokens_details')
  const written = count(usage.output_tokens)
  const cached = isObject(input.cached_tokens_details) ? input.cached_tokens_details : null
  const cacheRead = count(input.cached_tokens)
  return {
    ...NO_USAGE,
    input: usage.input_tokens,
    cacheRead,
    ...inputKinds({
      ...{ input: usage.input_tokens, cacheRead, written: 0 },
      audio: count(input.audio_tokens),
      image: count(input.image_tokens),
      cachedAudio: cached === null ? null : count(cached.audio_tokens),
      cachedImage: cached === null ? null : count(cached.image_tokens)
    }),
    output: written,
    outputAudio: output === 'audio' ? written : 0,
    outputImage:
      output !== 'image' ? 0 : (details.image_tokens ?? null) === null ? written : count(details.image_tokens)
  }
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0)

const modelIn = ({ model }: JsonObject): string | null => (isString(model) ? model : null)

/** Pictures: tokens, where the model has them; else each picture has a price, by what was asked. */
export const imagesCost: ReadCost = (body) => {
  const usage = tokensIn(body, 'image')
  return usage === null ? null : { usage, model: modelIn(body) }
}

export const speechCost: ReadCost = (body) => {
  const usage = tokensIn(body, 'audio')
  return usage === null ? null : { usage, model: null }
}

/** Tokens, or the time that was heard; `duration` is that of verbose_json. */
export const transcriptionCost: ReadCost = (body): OperationCost | null => {
  const usage = tokensIn(body, 'text')
  if (usage !== null) return { usage, model: null }
  const seconds = count(objectIn(body, 'usage').seconds) || count(body.duration)
  return seconds > 0 ? { usage: null, model: null, units: secondsOf(seconds) } : null
}

export const secondsOf = (seconds: number): Units => ({ counts: { second: Math.ceil(seconds) } })
