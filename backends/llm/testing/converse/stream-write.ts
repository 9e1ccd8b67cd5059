/**
 * Events of ConverseStream as text: one line per event, an object of one member that is named like the event, as the
 * API reference writes the union. frameEvents of testing/aws-event-stream.ts makes the binary messages of it.
 */
import type { ChatEvent, JsonObject, Part, Signature, Usage } from '#backends/llm/conversation.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import type { StreamWriter } from '#backends/llm/formats/format.ts'
import { sealSignature } from '#backends/llm/translate/signature.ts'
import { blockOf, redacted, writeCost, writeStop } from './answer-write.ts'

export function streamWriter(): StreamWriter {
  return new ConverseWriter()
}

class ConverseWriter implements StreamWriter {
  #index = -1
  #open: Part | null = null
  /** Of the open part: something was written, so that the reader knows of it. */
  #isReported = false
  #usage: Usage | null = null
  #serviceTier: string | null = null

  write(event: ChatEvent): string {
    if ('choice' in event && event.choice !== 0) return ''
    switch (event.kind) {
      case 'delta':
        return this.#delta(event.text)
      case 'start':
        this.#usage = event.usage
        return line('messageStart', { role: 'assistant' })
      case 'begin':
        return this.#begin(event.part)
      case 'signature':
        return this.#signature(event.signature)
      case 'end':
        return this.#end()
      case 'stop':
        return this.#end() + line('messageStop', writeStop(event.stop, event.stopSequence))
      case 'usage':
        this.#usage = event.usage
        this.#serviceTier = event.serviceTier ?? this.#serviceTier
        return ''
      case 'error':
        return line(`${event.error.type === 'rateLimit' ? 'throttling' : 'validation'}Exception`, {
          message: event.error.message
        })
      case 'done':
        return line('metadata', writeCost(this.#usage, this.#serviceTier))
    }
  }

  #begin(part: Part): string {
    const closed = this.#end()
    if (part.kind === 'toolResult') return closed
    if (part.kind === 'opaque' || 'mediaType' in part) return closed + this.#whole(part)
    this.#openPart(part)
    if (part.kind === 'toolCall') {
      this.#isReported = true
      const start = { toolUse: { toolUseId: part.id, name: part.name } }
      return `${closed}${line('contentBlockStart', this.#at({ start }))}${this.#delta(part.arguments)}`
    }
    const seal = part.kind === 'thinking' && part.signature !== null ? this.#signature(part.signature) : ''
    return closed + this.#delta(part.text) + seal
  }

  #whole(part: Part): string {
    const whole = wholeBlock(part)
    if (whole === null) return ''
    this.#openPart(part)
    const start = whole.start === null ? '' : line('contentBlockStart', this.#at({ start: whole.start }))
    return start + whole.deltas.map((delta) => this.#say(delta)).join('')
  }

  #openPart(part: Part): void {
    this.#index += 1
    this.#open = part
    this.#isReported = false
  }

  #delta(text: string): string {
    const part = this.#open
    if (part === null || text === '') return ''
    if (part.kind === 'toolCall') return this.#say({ toolUse: { input: text } })
    if (part.kind !== 'thinking') return this.#say({ text })
    return part.isRedacted ? '' : this.#say({ reasoningContent: { text } })
  }

  #signature(signature: Signature): string {
    const part = this.#open
    if (part?.kind !== 'thinking') return ''
    if (part.isRedacted) return this.#say({ reasoningContent: { redactedContent: redacted(signature) } })
    return this.#say({ reasoningContent: { signature: sealSignature(signature, 'converse') } })
  }

  #end(): string {
    const part = this.#open
    if (part === null) return ''
    let empty = ''
    if (!this.#isReported) {
      const content = part.kind === 'thinking' && part.isRedacted ? { redactedContent: '' } : { text: '' }
      empty = this.#say(part.kind === 'thinking' ? { reasoningContent: content } : { text: '' })
    }
    this.#open = null
    return empty + line('contentBlockStop', { contentBlockIndex: this.#index })
  }

  #say(delta: JsonObject): string {
    this.#isReported = true
    return line('contentBlockDelta', this.#at({ delta }))
  }

  #at(value: JsonObject): JsonObject {
    return { ...value, contentBlockIndex: this.#index }
  }
}

function line(name: string, value: JsonObject): string {
  return `{"${name}":${JSON.stringify(value)}}\n`
}

interface Whole {
  readonly start: JsonObject | null
  readonly deltas: readonly JsonObject[]
}

/** A part that comes complete, as the events of a block; null when the stream has none for it. */
function wholeBlock(part: Part): Whole | null {
  const block = blockOf(part)
  if (block === null) return null
  const { toolUse, toolResult, image, citationsContent: cited } = block
  if (isObject(toolUse)) {
    const { input, ...start } = toolUse
    return { start: { toolUse: start }, deltas: [{ toolUse: { input: JSON.stringify(input ?? {}) } }] }
  }
  if (isObject(toolResult)) {
    const { content, ...start } = toolResult
    return { start: { toolResult: start }, deltas: [{ toolResult: content ?? [] }] }
  }
  if (isObject(image)) {
    const { source, ...start } = image
    return { start: { image: start }, deltas: [{ image: { source: source ?? {} } }] }
  }
  if (!isObject(cited)) return null
  const texts = Array.isArray(cited.content) ? (cited.content as JsonObject[]) : []
  const citations = Array.isArray(cited.citations) ? (cited.citations as JsonObject[]) : []
  return { start: null, deltas: [...texts, ...citations.map((citation) => ({ citation }))] }
}
