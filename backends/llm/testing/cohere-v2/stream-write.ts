/** Events of Cohere's streams as text, whole server-sent events. */
import type { ChatEvent, JsonObject, Part, Usage } from '#backends/llm/conversation.ts'
import { compact } from '#backends/llm/formats/fields.ts'
import type { StreamWriter } from '#backends/llm/formats/format.ts'
import { blockOf, callOf, citationsOf, logprobsOf, wordOf, writeUsage } from './answer-write.ts'

export function streamWriter(): StreamWriter {
  return new CohereWriter()
}

class CohereWriter implements StreamWriter {
  #index = -1
  #open: Part | null = null
  #usage: Usage | null = null
  #stop = 'COMPLETE'

  write(event: ChatEvent): string {
    if ('choice' in event && event.choice !== 0) return ''
    switch (event.kind) {
      case 'start':
        this.#usage = event.usage
        return line('message-start', { id: event.id, delta: { message: { role: 'assistant', content: [] } } })
      case 'begin':
        return this.#close() + this.#begin(event.part)
      case 'delta':
        return this.#delta(event.text, event.logprobs as never)
      case 'signature':
        return ''
      case 'end':
        return this.#close()
      case 'stop':
        this.#stop = wordOf(event.stop)
        return this.#close()
      case 'usage':
        this.#usage = event.usage
        return ''
      case 'error':
        return this.#last({ finish_reason: 'ERROR', error: event.error.message })
      case 'done':
        return this.#last({ finish_reason: this.#stop })
    }
  }

  #begin(part: Part): string {
    const call = callOf(part)
    const block = blockOf(part)
    this.#index += 1
    const cited = citationsOf(part).map((citations) => this.#line('citation-start', { citations }))
    if (call === null && (block === null || part.kind === 'opaque')) return cited.join('')
    this.#open = part
    return call === null
      ? this.#line('content-start', { content: block! })
      : this.#line('tool-call-start', { tool_calls: call })
  }

  #delta(text: string, logprobs: null): string {
    const part = this.#open
    if (part === null || text === '') return ''
    if (part.kind === 'toolCall') {
      return this.#line('tool-call-delta', { tool_calls: { function: { arguments: text } } })
    }
    const content = part.kind === 'thinking' ? { thinking: text } : { text }
    const [first = null] = (logprobsOf(logprobs) ?? []) as unknown as readonly JsonObject[]
    return this.#line('content-delta', { content }, compact({ logprobs: first }))
  }

  #close(): string {
    const part = this.#open
    this.#open = null
    if (part === null) return ''
    return line(part.kind === 'toolCall' ? 'tool-call-end' : 'content-end', { index: this.#index })
  }

  #last(delta: JsonObject): string {
    const usage = this.#usage === null ? null : writeUsage(this.#usage)
    return this.#close() + line('message-end', { delta: compact({ ...delta, usage }) })
  }

  #line(type: string, message: JsonObject, more: JsonObject = {}): string {
    return line(type, { index: this.#index, delta: { message }, ...more })
  }
}

function line(type: string, value: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`
}
