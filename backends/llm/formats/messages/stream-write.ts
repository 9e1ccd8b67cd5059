/** Chat events as the server-sent events of POST /v1/messages ("Streaming messages"). */
import type { ChatError, Json, JsonObject, Part, Signature, Usage } from '#backends/llm/conversation.ts'
import { type EventOf, EventWriter } from '#backends/llm/formats/event-writer.ts'
import type { AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { lostPart } from '#backends/llm/translate/dropped-fields.ts'
import { callSealBlock } from './answer.ts'
import { CITATIONS } from './content-read.ts'
import { thinkingBlock } from './content-write.ts'
import { writeError } from './error.ts'
import { loseMedia, writeStop, writeUsage } from './usage.ts'

/** Deltas are written by the tail of what `head` begins: only the text itself is printed for each. */
const TAIL = '}}\n\n'

export class MessagesWriter extends EventWriter {
  #index = -1
  /** The open part; null for one that this format lacks. */
  #part: Part | null = null
  #head = ''
  #signature: Signature | null = null
  /** The end of a text, which its citations may follow. */
  #isStopHeld = false
  #hasRefusal = false
  #stop: EventOf<'stop'> | null = null

  constructor(context: AnswerContext, losses?: Losses) {
    super(context, losses, 1)
  }

  protected override used(usage: Usage): string {
    loseMedia(usage, null, this.losses)
    return ''
  }

  protected delta({ text, logprobs }: EventOf<'delta'>): string {
    if (logprobs !== null) this.losses.add('choices[0].logprobs')
    return this.#head === '' ? '' : this.#delta(text)
  }

  protected sign(signature: Signature): string {
    this.#signature = signature
    return ''
  }

  protected stop(event: EventOf<'stop'>): string {
    this.#stop = event
    return ''
  }

  protected error(error: ChatError): string {
    return eventText('error', writeError(error))
  }

  protected start({ id, usage }: EventOf<'start'>): string {
    const message = {
      id: id === '' ? `msg_${this.context.id}` : id,
      type: 'message',
      role: 'assistant',
      model: this.context.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: writeUsage(usage, null)
    }
    return eventText('message_start', { message })
  }

  protected begin(part: Part): string {
    if (part.kind === 'opaque' && part.format === 'messages' && part.value.type === CITATIONS) {
      this.#part = null
      return this.#isStopHeld ? this.#citations(part.value.citations ?? []) + this.#release() : ''
    }
    if (!isSupported(part)) {
      this.#part = null
      this.losses.add(lostPart(0, part))
      return ''
    }
    const before = this.#release()
    this.#part = part
    this.#head = ''
    this.#signature = part.kind === 'thinking' || part.kind === 'toolCall' ? part.signature : null
    switch (part.kind) {
      case 'text':
      case 'refusal':
        this.#hasRefusal ||= part.kind === 'refusal'
        return before + this.#open({ type: 'text', text: '' }, 'text_delta', 'text') + this.#delta(part.text)
      case 'thinking':
        // Redacted thoughts are all signature, which may come only at their end.
        if (part.isRedacted) return before
        return (
          before +
          this.#open({ type: 'thinking', thinking: '', signature: '' }, 'thinking_delta', 'thinking') +
          this.#delta(part.text)
        )
      case 'toolCall': {
        const block = { type: 'tool_use', id: part.id, name: part.name, input: {} }
        return before + this.#open(block, 'input_json_delta', 'partial_json') + this.#delta(part.arguments)
      }
      default:
        return before + (part.kind === 'opaque' ? this.#opaque(part.value) : '')
    }
  }

  #open(block: JsonObject, delta: string, field: string): string {
    const text = this.#openBlock(block)
    this.#head = `${deltaHead(this.#index)}{"type":"${delta}","${field}":`
    return text
  }

  #openBlock(block: JsonObject): string {
    this.#index++
    return eventText('content_block_start', { index: this.#index, content_block: block })
  }

  #delta(text: string): string {
    return text === '' ? '' : this.#head + JSON.stringify(text) + TAIL
  }

  /** Inputs of tools that the provider runs come as a delta, as the API sends them. */
  #opaque(value: JsonObject): string {
    if (value.type !== 'server_tool_use' && value.type !== 'mcp_tool_use') return this.#openBlock(value)
    const text = this.#openBlock({ ...value, input: {} })
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(value.input ?? {}) }
    return `${text}${deltaHead(this.#index)}${JSON.stringify(delta)}}\n\n`
  }

  #citations(citations: Json): string {
    let text = ''
    if (!Array.isArray(citations)) return text
    for (const citation of citations as readonly Json[]) {
      text += `${deltaHead(this.#index)}${JSON.stringify({ type: 'citations_delta', citation })}}\n\n`
    }
    return text
  }

  protected end(): string {
    const part = this.#part
    this.#part = null
    this.#head = ''
    if (part === null) return ''
    if (part.kind === 'text' || part.kind === 'refusal') {
      this.#isStopHeld = true
      return ''
    }
    if (part.kind === 'thinking') return this.#endThinking(part)
    const sealed = part.kind === 'toolCall' ? this.#signature : null
    return this.#blockStop() + (sealed === null ? '' : this.#openBlock(callSealBlock(sealed)) + this.#blockStop())
  }

  #endThinking(part: Extract<Part, { kind: 'thinking' }>): string {
    const block = thinkingBlock(part, this.#signature)
    if (part.isRedacted) return this.#openBlock(block) + this.#blockStop()
    if (this.#signature === null) return this.#blockStop()
    const delta = { type: 'signature_delta', signature: block.signature }
    return `${deltaHead(this.#index)}${JSON.stringify(delta)}}\n\n${this.#blockStop()}`
  }

  #blockStop(): string {
    return eventText('content_block_stop', { index: this.#index })
  }

  #release(): string {
    if (!this.#isStopHeld) return ''
    this.#isStopHeld = false
    return this.#blockStop()
  }

  /** The totals are written once, when all of them are known: other providers send them after the stop. */
  protected done(): string {
    const delta = {
      stop_reason: writeStop(this.#stop?.stop ?? 'end', this.#hasRefusal),
      stop_sequence: this.#stop?.stopSequence ?? null
    }
    const usage = writeUsage(this.usage, this.serviceTier)
    return this.#release() + eventText('message_delta', { delta, usage }) + eventText('message_stop', {})
  }
}

/** Answers have no media and no results of tools, and no blocks of other formats. */
function isSupported(part: Part): boolean {
  if (part.kind === 'opaque') return part.format === 'messages'
  return part.kind === 'text' || part.kind === 'refusal' || part.kind === 'thinking' || part.kind === 'toolCall'
}

function deltaHead(index: number): string {
  return `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":`
}

function eventText(type: string, value: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`
}
