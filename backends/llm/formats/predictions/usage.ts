/** Tokens as models tell them, in `metrics`; many tell none. */
import { type Json, NO_USAGE, type Usage } from '#backends/llm/conversation.ts'
import { type Fields, isObject } from '#backends/llm/formats/fields.ts'

export function readUsage(prediction: Fields): Usage | null {
  const metrics = prediction.any('metrics')
  if (!isObject(metrics)) return null
  const [input, output] = [whole(metrics.input_token_count), whole(metrics.output_token_count)]
  return input === null && output === null ? null : { ...NO_USAGE, input: input ?? 0, output: output ?? 0 }
}

const whole = (value: Json | undefined): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? Math.round(value) : null
