/**
 * Events of a streamed response (API reference, "Responses", streaming events), as the accumulator of the official SDK
 * needs them: every item and content part is added and done, all events are numbered, and the last has the whole.
 */

import type { ChatError, Json, JsonObject, Part, Signature, StopReason } from '#backends/llm/conversation.ts'
import { failure, streamError } from '#backends/llm/formats/completions/error.ts'
import { type EventOf, EventWriter } from '#backends/llm/formats/event-writer.ts'
import type { AnswerContext, Losses } from '#backends/llm/formats/format.ts'
import { lostPart } from '#backends/llm/translate/dropped-fields.ts'
import type { TextualPart } from './answer-items-write.ts'
import { answerItem, itemId, outputContent, outputMessage, sealAnswer } from './answer-items-write.ts'
import { head, outcome } from './response.ts'
import { writeUsage } from './usage.ts'
import { Wording } from './wording.ts'

const NONE = new Wording({ format: 'responses', unknownFields: new Map() })

type OpenPart = TextualPart | Extract<Part, { readonly kind: 'thinking' | 'toolCall' }>

interface Open {
  readonly part: OpenPart
  readonly id: string
  /** What all deltas begin with, up to the text. */
  readonly deltas: string
  text: string
  signature: Extract<OpenPart, { readonly kind: 'thinking' }>['signature']
  logprobs: Json[] | null
  /** The summary of thoughts begins with their first text. */
  isSummaryAdded: boolean
}

export class ResponsesWriter extends EventWriter {
  readonly #items: JsonObject[] = []
  #head: JsonObject | null = null
  #number = 0
  #open: Open | null = null
  #stop: StopReason = 'end'
  #hasRefusal = false

  /** A client of this API has asked for one answer, and gets one. */
  constructor(context: AnswerContext, losses?: Losses) {
    super(context, losses, 1)
  }

  protected delta({ text, logprobs }: EventOf<'delta'>): string {
    return this.#delta(text, logprobs)
  }

  protected sign(signature: Signature): string {
    if (this.#open !== null) this.#open.signature = signature
    return ''
  }

  /** What comes next tells whether it was cut short: the events of its end wait for that. */
  protected end(): string {
    return ''
  }

  protected stop({ stop }: EventOf<'stop'>): string {
    this.#stop = stop
    return this.#close(outcome(stop, this.#hasRefusal).status === 'incomplete' ? 'incomplete' : 'completed')
  }

  #event(type: string, fields: JsonObject): string {
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields, sequence_number: this.#number++ })}\n\n`
  }

  protected start(event: EventOf<'start'>): string {
    this.#head = head(event, this.context)
    const response = this.#head
    return this.#event('response.created', { response }) + this.#event('response.in_progress', { response })
  }

  protected begin(part: Part): string {
    const before = this.#close('completed')
    if (part.kind === 'text' || part.kind === 'refusal') return before + this.#beginText(part)
    if (part.kind === 'thinking') return before + this.#beginItem(part, 'reasoning', 'reasoning_summary_text')
    if (part.kind === 'toolCall') return before + this.#beginItem(part, 'function_call', 'function_call_arguments')
    const item = answerItem(part, 'completed', this.context, this.#items.length, NONE)
    if (item !== null) return before + this.#added(item) + this.#done(item)
    this.losses.add(lostPart(0, part))
    return before
  }

  #beginText(part: TextualPart): string {
    const id = itemId(this.context, 'message', this.#items.length)
    const type = part.kind === 'refusal' ? 'refusal' : 'output_text'
    if (part.kind === 'refusal') this.#hasRefusal = true
    const added = this.#added(outputMessage(id, [], 'in_progress'))
    const empty = outputContent({ ...part, text: '' }, null)
    const place = { item_id: id, output_index: this.#items.length, content_index: 0 }
    const partAdded = this.#event('response.content_part.added', { ...place, part: empty })
    this.#opened(part, id, deltasOf(`response.${type}.delta`, place))
    return added + partAdded + (part.text === '' ? '' : this.#delta(part.text, null))
  }

  #beginItem(
    part: Extract<Part, { readonly kind: 'thinking' | 'toolCall' }>,
    type: 'reasoning' | 'function_call',
    what: string
  ): string {
    const id = itemId(this.context, type, this.#items.length)
    const index = this.#items.length
    const text = part.kind === 'thinking' ? part.text : part.arguments
    const bare: Part =
      part.kind === 'thinking' ? { ...part, text: '', signature: null } : { ...part, arguments: '', signature: null }
    const added = this.#added(answerItem(bare, 'in_progress', this.context, index, NONE)!)
    const place = { item_id: id, output_index: index, ...(type === 'reasoning' ? { summary_index: 0 } : {}) }
    this.#opened(part, id, deltasOf(`response.${what}.delta`, place))
    this.#open!.signature = part.signature
    return added + (text === '' ? '' : this.#delta(text, null))
  }

  #opened(part: OpenPart, id: string, deltas: string): void {
    this.#open = {
      part,
      id,
      deltas,
      text: '',
      signature: null,
      logprobs: null,
      isSummaryAdded: false
    }
  }

  #delta(text: string, logprobs: Json | null): string {
    const open = this.#open
    if (open === null) return ''
    open.text += text
    let before = ''
    if (open.part.kind === 'thinking' && !open.isSummaryAdded) {
      open.isSummaryAdded = true
      before = this.#event('response.reasoning_summary_part.added', summaryPlace(open, this.#items.length, ''))
    }
    let tail = ''
    if (open.part.kind === 'text') {
      tail = ',"logprobs":[]'
      if (Array.isArray(logprobs)) {
        open.logprobs ??= []
        for (const entry of logprobs as readonly Json[]) open.logprobs.push(entry)
        tail = `,"logprobs":${JSON.stringify(logprobs)}`
      }
    }
    return `${before}${open.deltas}${JSON.stringify(text)}${tail},"sequence_number":${this.#number++}}\n\n`
  }

  /** The events that end the open part, if there is one. */
  #close(status: string): string {
    const open = this.#open
    if (open === null) return ''
    // Clients parse the arguments: no text is no JSON.
    const isBare = open.part.kind === 'toolCall' && open.text === '' && status === 'completed'
    const bare = isBare ? this.#delta('{}', null) : ''
    this.#open = null
    const place = { item_id: open.id, output_index: this.#items.length }
    if (open.part.kind === 'thinking') return this.#closeThinking(open)
    if (open.part.kind === 'toolCall') return bare + this.#closeCall(open, open.part, place, status)
    const { text } = open
    const part = outputContent({ ...open.part, text }, open.logprobs)
    const within = { ...place, content_index: 0 }
    const textDone =
      open.part.kind === 'refusal'
        ? this.#event('response.refusal.done', { ...within, refusal: text })
        : this.#event('response.output_text.done', { ...within, text, logprobs: open.logprobs ?? [] })
    const partDone = this.#event('response.content_part.done', { ...within, part })
    return textDone + partDone + this.#done(outputMessage(open.id, [part], status))
  }

  #closeCall(
    open: Open,
    part: Extract<Part, { readonly kind: 'toolCall' }>,
    place: JsonObject,
    status: string
  ): string {
    const call = { ...part, arguments: open.text, signature: open.signature }
    const done = this.#event('response.function_call_arguments.done', {
      ...place,
      name: call.name,
      arguments: open.text
    })
    const item = answerItem(call, status, this.context, this.#items.length, NONE)!
    const itemDone = this.#done(item)
    const seal = sealAnswer(call, this.context, this.#items.length)
    return done + itemDone + (seal === null ? '' : this.#added(seal) + this.#done(seal))
  }

  #closeThinking(open: Open): string {
    let summary = ''
    const index = this.#items.length
    if (open.isSummaryAdded) {
      const { part, ...place } = summaryPlace(open, index, open.text)
      summary =
        this.#event('response.reasoning_summary_text.done', { ...place, text: open.text }) +
        this.#event('response.reasoning_summary_part.done', { ...place, part: part! })
    }
    const part = { ...open.part, text: open.text, signature: open.signature } as Part
    return summary + this.#done(answerItem(part, '', this.context, index, NONE)!)
  }

  #added(item: JsonObject): string {
    return this.#event('response.output_item.added', { output_index: this.#items.length, item })
  }

  #done(item: JsonObject): string {
    const text = this.#event('response.output_item.done', { output_index: this.#items.length, item })
    this.#items.push(item)
    return text
  }

  #response(fields: JsonObject): JsonObject {
    const first = this.#head ?? head({ id: '', model: '', created: 0 }, this.context)
    const usage = writeUsage(this.usage)
    return { ...first, output: this.#items, service_tier: this.serviceTier, usage, ...fields }
  }

  protected done(): string {
    const before = this.#close('completed')
    const { status, incomplete, error } = outcome(this.#stop, this.#hasRefusal)
    const details = incomplete === null ? null : { reason: incomplete }
    const response = this.#response({ status, incomplete_details: details, error })
    return before + this.#event(`response.${status}`, { response })
  }

  /** Clients look for the one or the other. */
  protected error(error: ChatError): string {
    const event = this.#event('error', streamError(error))
    if (this.#head === null) return event
    const response = this.#response({ status: 'failed', error: failure(error) })
    return event + this.#event('response.failed', { response })
  }
}

function deltasOf(type: string, place: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...place }).slice(0, -1)},"delta":`
}

function summaryPlace(open: Open, index: number, text: string): JsonObject {
  return { item_id: open.id, output_index: index, summary_index: 0, part: { type: 'summary_text', text } }
}
