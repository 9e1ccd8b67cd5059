/** Events of a streamed response (API reference, "Responses", streaming events) as what they say. */

import type { ChatEvent, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { errorFrom } from '#backends/llm/formats/completions/error.ts'
import { Fields, isObject, parsedObject } from '#backends/llm/formats/fields.ts'
import type { StreamReader, WireEvent } from '#backends/llm/formats/format.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { emptyPart, toolCallPart } from '#backends/llm/formats/parts.ts'
import { lossPath, newNotes } from '#backends/llm/formats/unknown-fields.ts'
import { readCreated, readOutputItem, readStop } from './answer.ts'
import { callIdOf, GAP } from './content-read.ts'
import { readUsage } from './usage.ts'

/** The item whose parts are becoming events. */
interface Open {
  readonly index: number
  /** Parts begun so far; the last one is open when `isPart`. */
  count: number
  isPart: boolean
  /** Of the text of the last part that became an event. */
  length: number
  /** Of thoughts: where they come from, and which piece was last. */
  source: 'summary' | 'content' | null
  piece: number
}

type Textual = Extract<Part, { readonly kind: 'text' | 'refusal' | 'thinking' | 'toolCall' }>

class Reader implements StreamReader {
  readonly #notes = newNotes()
  #out: ChatEvent[] = []
  #isStarted = false
  #isOver = false
  #open: Open | null = null
  /** A function call that is complete, but for a seal that may follow. */
  #isHeld = false
  /** Items that were done while another was open: parts do not overlap. */
  #waiting: Json[] = []
  readonly #done = new Set<number>()
  #hasCall = false
  #hasRefusal = false

  get lost(): Iterable<string> {
    return [...this.#notes.unknown.keys()].map(lossPath)
  }

  read(event: WireEvent): readonly ChatEvent[] {
    if (this.#isOver || event.data === '[DONE]' || event.data === '') return []
    const data = parsedObject(event.data)
    this.#out = []
    const type = data.type ?? (event.name.startsWith('response.') ? event.name : undefined)
    if (type === 'error' || (type === undefined && data.error !== undefined)) this.#fail(data)
    else if (typeof type === 'string') this.#take(type, data)
    else throw new FormatError('type', 'is required, and must be a string')
    return this.#out
  }

  #take(type: string, data: JsonObject): void {
    switch (type) {
      case 'response.output_text.delta':
        this.#text(data, 'text')
        break
      case 'response.refusal.delta':
        this.#text(data, 'refusal')
        break
      case 'response.function_call_arguments.delta':
        this.#arguments(data)
        break
      case 'response.reasoning_summary_text.delta':
        this.#thought(data, 'summary')
        break
      case 'response.reasoning_text.delta':
        this.#thought(data, 'content')
        break
      case 'response.created':
      case 'response.queued':
      case 'response.in_progress':
        this.#start(Fields.of(data.response, 'response'))
        break
      case 'response.output_item.added':
        this.#added(indexOf(data), Fields.of(data.item, 'item'))
        break
      case 'response.content_part.added':
        this.#partAdded(data)
        break
      case 'response.output_item.done':
        this.#itemDone(indexOf(data), data.item ?? null)
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
        this.#finish(Fields.of(data.response, 'response'))
        break
      default: // Ends and progress that other events cover; items of hosted tools come whole when they are done.
    }
  }

  #start(response: Fields): void {
    if (this.#isStarted) return
    this.#isStarted = true
    this.#out.push({
      kind: 'start',
      id: response.label('id') ?? '',
      model: response.label('model') ?? '',
      created: readCreated(response),
      usage: null
    })
  }

  #added(index: number, item: Fields): void {
    const type = item.text('type')
    if (this.#open !== null || (type !== 'message' && type !== 'function_call' && type !== 'reasoning')) return
    if (type !== 'reasoning') this.#release()
    this.#open = { index, count: 0, isPart: false, length: 0, source: null, piece: 0 }
    if (type !== 'function_call') return
    this.#begin(this.#open, toolCallPart(callIdOf(item), item.string('name'), ''))
  }

  #at(data: JsonObject): Open | null {
    return this.#open !== null && this.#open.index === data.output_index ? this.#open : null
  }

  #partAdded(data: JsonObject): void {
    const open = this.#at(data)
    const type = Fields.of(data.part, 'part').text('type')
    if (open === null || (type !== 'output_text' && type !== 'refusal')) return
    this.#endPart(open)
    this.#begin(open, emptyPart(type === 'refusal' ? 'refusal' : 'text'))
  }

  #text(data: JsonObject, kind: 'text' | 'refusal'): void {
    const open = this.#at(data)
    if (open === null) return
    if (!open.isPart) this.#begin(open, emptyPart(kind))
    const logprobs = data.logprobs
    this.#delta(open, deltaOf(data), Array.isArray(logprobs) && logprobs.length > 0 ? (logprobs as Json) : null)
  }

  #arguments(data: JsonObject): void {
    const open = this.#at(data)
    if (open?.isPart) this.#delta(open, deltaOf(data), null)
  }

  /** Thoughts come as a summary or as they are; of a model that gives both, what comes first. */
  #thought(data: JsonObject, source: 'summary' | 'content'): void {
    const open = this.#at(data)
    if (open === null || (open.source !== null && open.source !== source)) return
    const piece = source === 'summary' ? data.summary_index : data.content_index
    if (!open.isPart) this.#begin(open, emptyPart('thinking'))
    open.source = source
    if (typeof piece === 'number' && piece > open.piece) {
      open.piece = piece
      this.#delta(open, GAP, null)
    }
    this.#delta(open, deltaOf(data), null)
  }

  #begin(open: Open, part: Textual): void {
    this.#release()
    this.#note(part)
    open.count++
    open.isPart = true
    open.length = 0
    this.#out.push({ kind: 'begin', choice: 0, part })
  }

  #note(part: Part): void {
    if (part.kind === 'toolCall') this.#hasCall = true
    if (part.kind === 'refusal') this.#hasRefusal = true
  }

  #delta(open: Open, text: string, logprobs: Json | null): void {
    open.length += text.length
    if (text !== '' || logprobs !== null) this.#out.push({ kind: 'delta', choice: 0, text, logprobs })
  }

  #endPart(open: Open): void {
    if (open.isPart) this.#out.push({ kind: 'end', choice: 0 })
    open.isPart = false
  }

  /** Ends the function call that was waiting for a seal. */
  #release(): void {
    if (this.#isHeld) this.#out.push({ kind: 'end', choice: 0 })
    this.#isHeld = false
  }

  #itemDone(index: number, item: Json): void {
    if (this.#done.has(index)) return
    this.#done.add(index)
    const open = this.#open
    if (open === null) {
      this.#whole(item)
      return
    }
    if (open.index !== index) {
      this.#waiting.push(item)
      return
    }
    this.#open = null
    this.#rest(open, item)
    const waiting = this.#waiting
    this.#waiting = []
    for (const other of waiting) this.#whole(other)
  }

  /** The rest of an item that is done: normally nothing. */
  #rest(open: Open, value: Json): void {
    if (open.count === 0) {
      this.#whole(value)
      return
    }
    const item = readOutputItem(Fields.of(value, 'item'), this.#notes)
    const parts = item.kind === 'message' ? item.parts : [item.part]
    const last = parts[open.count - 1]
    if (open.isPart && last !== undefined && last.kind !== 'opaque') {
      const text = isOther(open, value) ? '' : textOf(last).slice(open.length)
      if (text !== '') this.#out.push({ kind: 'delta', choice: 0, text, logprobs: null })
      this.#sign(last)
    }
    // A call stays open: its seal is in the next item, if it has one.
    if (last?.kind === 'toolCall') this.#isHeld = true
    else this.#endPart(open)
    for (const [i, part] of parts.slice(open.count).entries()) this.#wholePart(part, logprobsOf(value, open.count + i))
  }

  #whole(value: Json): void {
    const item = readOutputItem(Fields.of(value, 'item'), this.#notes)
    if (item.kind === 'seal' && this.#isHeld) {
      this.#out.push({ kind: 'signature', choice: 0, signature: item.signature })
      this.#release()
    } else if (item.kind === 'message') {
      for (const [i, part] of item.parts.entries()) this.#wholePart(part, logprobsOf(value, i))
    } else {
      this.#wholePart(item.part, null)
    }
  }

  #wholePart(part: Part, logprobs: Json | null): void {
    this.#release()
    this.#note(part)
    this.#out.push({ kind: 'begin', choice: 0, part: withoutContent(part) })
    const text = textOf(part)
    if (text !== '' || logprobs !== null) this.#out.push({ kind: 'delta', choice: 0, text, logprobs })
    this.#sign(part)
    if (part.kind === 'toolCall') this.#isHeld = true
    else this.#out.push({ kind: 'end', choice: 0 })
  }

  #sign(part: Part): void {
    if (part.kind !== 'thinking' || part.signature === null) return
    this.#out.push({ kind: 'signature', choice: 0, signature: part.signature })
  }

  #finish(response: Fields): void {
    this.#start(response)
    // Servers that leave out events of items have them here.
    for (const [index, item] of (response.optionalList('output') ?? []).entries()) this.#itemDone(index, item)
    if (this.#open !== null) this.#endPart(this.#open)
    this.#release()
    this.#isOver = true
    const status = response.optionalString('status')
    if (status === 'failed') {
      const error = response.any('error')
      this.#out.push({ kind: 'error', error: errorFrom(isObject(error) ? error : {}, null) })
      return
    }
    const stop = readStop(response, newNotes(), this.#hasCall ? 'tools' : this.#hasRefusal ? 'refusal' : 'end')
    this.#out.push({ kind: 'stop', choice: 0, stop, stopSequence: null })
    const usage = readUsage(response.optionalObject('usage'), response.value.output, null)
    const serviceTier = response.optionalString('service_tier')
    if (usage !== null) this.#out.push({ kind: 'usage', usage, serviceTier })
    this.#out.push({ kind: 'done' })
  }

  /** The error stands in the event, or in an object of it. */
  #fail(data: JsonObject): void {
    this.#isOver = true
    const status = typeof data.status === 'number' ? data.status : null
    const { type: _, ...flat } = data
    this.#out.push({ kind: 'error', error: errorFrom(isObject(data.error) ? data.error : flat, status) })
  }
}

function indexOf(data: JsonObject): number {
  if (typeof data.output_index === 'number') return data.output_index
  throw new FormatError('output_index', 'is required, and must be a number')
}

function deltaOf(data: JsonObject): string {
  if (typeof data.delta === 'string') return data.delta
  throw new FormatError('delta', 'is required, and must be a string')
}

function textOf(part: Part): string {
  if (part.kind === 'toolCall') return part.arguments
  return part.kind === 'text' || part.kind === 'refusal' || part.kind === 'thinking' ? part.text : ''
}

function withoutContent(part: Part): Part {
  if (part.kind === 'toolCall') return { ...part, arguments: '' }
  if (part.kind === 'thinking') return { ...part, text: '', signature: null }
  return part.kind === 'text' || part.kind === 'refusal' ? { ...part, text: '' } : part
}

/** The item's thoughts are not those of earlier events, but its other ones. */
function isOther(open: Open, item: Json): boolean {
  if (open.source !== 'summary' || !isObject(item)) return false
  return Array.isArray(item.content) && item.content.length > 0
}

function logprobsOf(item: Json, index: number): Json | null {
  const content = isObject(item) ? item.content : null
  const part = Array.isArray(content) ? (content as readonly Json[])[index] : null
  const logprobs = isObject(part ?? null) ? (part as JsonObject).logprobs : null
  return Array.isArray(logprobs) && logprobs.length > 0 ? (logprobs as Json) : null
}

export function streamReader(): StreamReader {
  return new Reader()
}
