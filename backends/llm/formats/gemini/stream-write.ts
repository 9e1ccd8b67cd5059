/**
 * Streamed answers as Google writes them. Calls are written when they are complete; the reasons to stop, and usage,
 * with the end, so that a broken stream does not look like a finished one.
 */

import type { ChatError, Json, Part, Signature, StopReason } from '#backends/llm/conversation.ts'
import { type EventOf, EventWriter } from '#backends/llm/formats/event-writer.ts'
import type { Writable } from '#backends/llm/formats/fields.ts'
import { type AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { lostPart } from '#backends/llm/translate/dropped-fields.ts'
import { reasonOf, writeTime } from './answer.ts'
import { type PartsWriter, writePart } from './content-write.ts'
import { writeError } from './error.ts'
import { writeLogprobs } from './logprobs.ts'
import { writeUsage } from './usage.ts'
import { writeSignature } from './wire.ts'

interface Writing {
  part: Part | null
  /** Of a call. */
  arguments: string[]
  signature: Signature | null
  logprobs: Json | null
  hasText: boolean
  isBroken: boolean
}

export class GeminiWriter extends EventWriter {
  readonly #choices = new Map<number, Writing>()
  readonly #stops: { readonly choice: number; readonly stop: StopReason }[] = []
  #tail = ''

  constructor(context: AnswerContext, losses?: Losses) {
    super(context, losses)
    this.#setTail('', 0)
  }

  protected start({ id, created }: EventOf<'start'>): string {
    this.#setTail(id, created)
    return ''
  }

  protected sign(signature: Signature, index: number): string {
    this.#of(index).signature = signature
    return ''
  }

  protected stop({ stop, stopSequence }: EventOf<'stop'>, choice: number): string {
    this.#stops.push({ choice, stop })
    if (stopSequence !== null) this.losses.add(`choices[${choice}].stopSequence`)
    return ''
  }

  protected error(error: ChatError): string {
    return `data: ${JSON.stringify(writeError(error))}\n\n`
  }

  #setTail(id: string, created: number): void {
    const time = writeTime(created)
    const head = {
      modelVersion: this.context.model,
      ...(time === null ? {} : { createTime: time }),
      responseId: id === '' ? this.context.id : id
    }
    this.#tail = `,${JSON.stringify(head).slice(1)}\n\n`
  }

  #of(index: number): Writing {
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { part: null, arguments: [], signature: null, logprobs: null, hasText: false, isBroken: false }
      this.#choices.set(index, choice)
    }
    return choice
  }

  protected begin(part: Part, index: number): string {
    const choice = this.#of(index)
    choice.part = part
    choice.hasText = false
    choice.logprobs = null
    choice.signature = part.kind === 'toolCall' || part.kind === 'thinking' ? part.signature : null
    choice.arguments = part.kind === 'toolCall' && part.arguments !== '' ? [part.arguments] : []
    if (part.kind === 'toolCall' || part.kind === 'thinking' || part.kind === 'text' || part.kind === 'refusal')
      return ''
    const whole = this.#whole(part)
    if (whole === '') this.losses.add(lostPart(index, part))
    return this.#chunk(whole, null, index)
  }

  protected delta({ text, logprobs }: EventOf<'delta'>, index: number): string {
    const choice = this.#of(index)
    const kind = choice.part?.kind
    if (kind === 'toolCall') {
      choice.arguments.push(text)
      if (Array.isArray(logprobs)) choice.logprobs = [...((choice.logprobs ?? []) as readonly Json[]), ...logprobs]
      return ''
    }
    if (text === '' && logprobs === null) return ''
    choice.hasText ||= text !== ''
    const json = JSON.stringify(text)
    return this.#chunk(kind === 'thinking' ? `{"text":${json},"thought":true}` : `{"text":${json}}`, logprobs, index)
  }

  protected end(index: number): string {
    const choice = this.#of(index)
    const { part, signature } = choice
    choice.part = null
    if (part?.kind === 'toolCall') {
      const call = this.#whole({ ...part, arguments: choice.arguments.join(''), signature })
      if (call === '') choice.isBroken = true
      return this.#chunk(call, choice.logprobs, index)
    }
    if (part?.kind !== 'thinking' || signature === null) return ''
    const seal = JSON.stringify(writeSignature(signature))
    return this.#chunk(`{"text":""${choice.hasText ? ',"thought":true' : ''},"thoughtSignature":${seal}}`, null, index)
  }

  /** JSON of a part that is complete; "" for one that Gemini cannot say. */
  #whole(part: Part): string {
    const writer: PartsWriter = { isForProvider: false, isGemini: false, losses: new Losses(), names: new Map() }
    const written: Writable[] = []
    writePart(part, '', written, writer)
    return written.length === 0 ? '' : JSON.stringify(written[0])
  }

  #chunk(part: string, logprobs: Json | null, index: number): string {
    const result = logprobs === null ? null : writeLogprobs(logprobs)
    if (part === '' && result === null) return ''
    const more = result === null ? '' : `,"logprobsResult":${JSON.stringify(result)}`
    return `data: {"candidates":[{"content":{"parts":[${part}],"role":"model"},"index":${index}${more}}]${this.#tail}`
  }

  /** Each candidate's last event has an empty text, as Google's have: its SDK's chats drop answers without parts. */
  protected done(): string {
    const candidates = this.#stops.map(({ choice, stop }) => ({
      content: { parts: [{ text: '' }], role: 'model' },
      finishReason: reasonOf(stop, this.#choices.get(choice)?.isBroken === true),
      index: choice
    }))
    const usage = this.usage === null ? null : writeUsage(this.usage, this.serviceTier, 0)
    const more = usage === null ? '' : `,"usageMetadata":${JSON.stringify(usage)}`
    return `data: {"candidates":${JSON.stringify(candidates)}${more}${this.#tail}`
  }
}
