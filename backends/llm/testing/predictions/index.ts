/** Predictions with both of their sides: tests that stand for Replicate read requests, and write answers. */
import type { Answer, ChatEvent, JsonObject, Part, StopReason, Usage } from '#backends/llm/conversation.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { ChatFormat, StreamWriter } from '#backends/llm/formats/format.ts'
import { requestReach } from '#backends/llm/formats/guarded-texts.ts'
import { predictions as towardsProviders } from '#backends/llm/formats/predictions/index.ts'
import { readRequest } from './request-read.ts'

export const predictions: ChatFormat = {
  ...towardsProviders,
  readRequest,
  requestTexts: requestReach([], []),
  writeAnswer,
  streamWriter: () => new PredictionWriter()
}

/** Of the first choice, what a prediction can say. */
function writeAnswer({ id, model, created, choices, usage }: Answer): JsonObject {
  const parts = choices[0]?.parts ?? []
  const texts = parts.flatMap((part) => (isText(part) ? [part.text] : []))
  return { ...endOf({ id, model, created }, choices[0]?.stop ?? 'end', usage), output: texts }
}

type Names = Pick<Answer, 'id' | 'model' | 'created'>

function endOf({ id, model, created }: Names, stop: StopReason, usage: Usage | null): JsonObject {
  return compact({
    id,
    model,
    status: 'succeeded',
    created_at: new Date(created * 1000).toISOString(),
    input: usage !== null && stop === 'length' ? { max_tokens: usage.output } : {},
    metrics: usage === null ? null : { input_token_count: usage.input, output_token_count: usage.output }
  })
}

const isText = (part: Part) => part.kind === 'text' || part.kind === 'refusal'

class PredictionWriter implements StreamWriter {
  #names: Names = { id: '', model: '', created: 0 }
  #hasText = false
  #stop: StopReason = 'end'
  #usage: Usage | null = null

  write(event: ChatEvent): string {
    if ('choice' in event && event.choice !== 0) return ''
    switch (event.kind) {
      case 'start':
        this.#names = event
        this.#usage = event.usage
        return line('prediction', { id: event.id, model: event.model, status: 'processing' })
      case 'begin':
        this.#hasText = isText(event.part)
        return ''
      case 'delta':
        return this.#hasText && event.text !== '' ? line('output', { output: event.text }) : ''
      case 'stop':
        this.#stop = event.stop
        return ''
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return line('error', towardsProviders.writeError(event.error))
      case 'done':
        return line('prediction', endOf(this.#names, this.#stop, this.#usage))
      default:
        return ''
    }
  }
}

const line = (name: string, value: JsonObject) => `event: ${name}\ndata: ${JSON.stringify(value)}\n\n`
