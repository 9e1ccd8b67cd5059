/** Server-sent events of POST /v1/messages with `stream: true` ("Streaming messages") as chat events. */

import type { ChatEvent, Json, JsonObject, Usage } from '#backends/llm/conversation.ts'
import { readStreamError } from '#backends/llm/formats/converse/error.ts'
import { Fields, isObject, jsonText, parsedObject } from '#backends/llm/formats/fields.ts'
import { type Finish, FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import { openSignature } from '#backends/llm/translate/signature.ts'
import { CITATIONS, callSeal, opaque, redactedPart, textPart, thinkingPart } from './content-read.ts'
import { errorOf } from './error.ts'
import { readAnswerTier, readStop, readUsage } from './usage.ts'

/** The open block. */
interface Open {
  readonly index: number
  readonly kind: 'text' | 'thinking' | 'redacted' | 'toolCall' | 'callSeal' | 'opaque'
  /** Of opaque blocks all, of tool calls the input, as the block began. */
  readonly value: { [key: string]: Json }
  readonly citations: Json[]
  /** Input of an opaque block. */
  json: string
  isFed: boolean
}

const NOTHING: readonly ChatEvent[] = []
const END: ChatEvent = { kind: 'end', choice: 0 }

export class MessagesReader implements StreamReader {
  #usage: Usage | null = null
  #tier: string | null = null
  #open: Open | null = null
  /** The end of a tool call, which another provider's seal may follow (content-read.ts, CALL_SEAL). */
  #isEndHeld = false
  #hasStopped = false

  read({ name, data }: WireEvent): readonly ChatEvent[] {
    if (name === 'ping') return NOTHING
    // Of Bedrock, whose streams have these events in a framing of its own.
    if (name.endsWith('Exception')) return [{ kind: 'error', error: readStreamError(name, data) }]
    const event = parsedObject(data)
    if (event.type === 'content_block_delta') return this.#delta(event)
    switch (event.type) {
      case 'message_start':
        return this.#start(Fields.of(event.message, 'message'))
      case 'content_block_start':
        return this.#begin(event)
      case 'content_block_stop':
        return this.#end()
      case 'message_delta':
        return this.#messageDelta(new Fields(event, ''))
      case 'message_stop':
        return [...this.#close(), { kind: 'done' }]
      case 'error':
        return failed(event)
      default:
        // Proxies in front of the API leave out the type.
        if (event.type === undefined && isObject(event.error)) return failed(event)
        return NOTHING // "Versioning": events of new types may come, and are to be passed over.
    }
  }

  /** Some servers stop without saying that the message does. */
  finish(): Finish | null {
    if (!this.#hasStopped) return null
    const mark = 'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    return { events: [...this.#close(), { kind: 'done' }], mark }
  }

  #start(message: Fields): readonly ChatEvent[] {
    this.#readUsage(message.optionalObject('usage'))
    const [id, model] = [message.label('id') ?? '', message.label('model') ?? '']
    const events: ChatEvent[] = [{ kind: 'start', id, model, created: 0, usage: this.#usage }]
    // The API begins with nothing; servers that have made a whole answer first say what they have.
    for (const [i, block] of (message.optionalList('content') ?? []).entries()) {
      events.push(...this.#begin({ index: i, content_block: block }), ...this.#end())
    }
    return events
  }

  #readUsage(usage: Fields | null): void {
    if (usage === null) return
    this.#usage = readUsage(usage, this.#usage ?? undefined)
    this.#tier = readAnswerTier(usage.optionalString('service_tier')) ?? this.#tier
  }

  #begin(event: JsonObject): readonly ChatEvent[] {
    const block = Fields.of(event.content_block, 'content_block')
    const type = block.text('type')
    const seal = type === 'redacted_thinking' && this.#isEndHeld ? callSeal(block.string('data')) : null
    if (seal !== null) {
      this.#isEndHeld = false
      this.#opened(event, 'callSeal', {})
      return [{ kind: 'signature', choice: 0, signature: seal }, END]
    }
    const events = this.#close()
    if (type === 'text') {
      const open = this.#opened(event, 'text', {})
      for (const citation of block.optionalList('citations') ?? []) open.citations.push(citation)
      events.push({ kind: 'begin', choice: 0, part: textPart('', null) }, ...deltaOf(block.optionalString('text')))
    } else if (type === 'thinking') {
      this.#opened(event, 'thinking', {})
      events.push({ kind: 'begin', choice: 0, part: thinkingPart('', null) })
      events.push(...deltaOf(block.optionalString('thinking')), ...signatureOf(block.optionalString('signature') ?? ''))
    } else if (type === 'redacted_thinking') {
      this.#opened(event, 'redacted', {})
      events.push({ kind: 'begin', choice: 0, part: redactedPart(block.string('data')) })
    } else if (type === 'tool_use') {
      this.#opened(event, 'toolCall', { input: block.any('input') ?? {} })
      const [id, called] = [block.string('id'), block.string('name')]
      events.push({ kind: 'begin', choice: 0, part: toolCallPart(id, called, '') })
    } else {
      this.#opened(event, 'opaque', { ...block.value })
    }
    return events
  }

  #opened(event: JsonObject, kind: Open['kind'], value: Open['value']): Open {
    if (typeof event.index !== 'number') throw new FormatError('index', 'must be a number')
    this.#open = { index: event.index, kind, value, citations: [], json: '', isFed: false }
    return this.#open
  }

  #delta(event: JsonObject): readonly ChatEvent[] {
    const open = this.#open
    const delta = event.delta
    if (!isObject(delta)) throw new FormatError('delta', 'must be an object')
    if (open === null || event.index !== open.index) throw new FormatError('index', 'must be that of the open block')
    switch (delta.type) {
      case 'text_delta':
        return deltaOf(textOf(delta, 'text', open, 'text'))
      case 'thinking_delta':
        return deltaOf(textOf(delta, 'thinking', open, 'thinking'))
      case 'signature_delta':
        return signatureOf(textOf(delta, 'signature', open, 'thinking'))
      case 'citations_delta':
        open.citations.push(delta.citation ?? null)
        return NOTHING
      case 'input_json_delta':
        return inputDelta(delta, open)
      default:
        if (open.kind === 'opaque') merge(open.value, delta)
        return NOTHING
    }
  }

  #end(): readonly ChatEvent[] {
    const open = this.#open
    this.#open = null
    if (open === null || open.kind === 'callSeal') return NOTHING
    if (open.kind === 'toolCall') {
      this.#isEndHeld = true
      return open.isFed ? NOTHING : deltaOf(jsonText(open.value.input ?? {}, 'content_block.input'))
    }
    if (open.kind === 'opaque') {
      if (open.json !== '') open.value.input = parsedInput(open.json)
      return [{ kind: 'begin', choice: 0, part: opaque(open.value) }, END]
    }
    if (open.citations.length === 0) return [END]
    const citations = opaque({ type: CITATIONS, citations: open.citations })
    return [END, { kind: 'begin', choice: 0, part: citations }, END]
  }

  /** Ends what is open, and what was held. */
  #close(): ChatEvent[] {
    const events = [...this.#end()]
    if (this.#isEndHeld) events.push(END)
    this.#isEndHeld = false
    return events
  }

  #messageDelta(event: Fields): readonly ChatEvent[] {
    const events = this.#close()
    const delta = event.optionalObject('delta')
    const reason = delta?.optionalString('stop_reason') ?? null
    if (delta !== null && reason !== null && !this.#hasStopped) {
      this.#hasStopped = true
      const stopSequence = delta.optionalString('stop_sequence')
      events.push({ kind: 'stop', choice: 0, stop: readStop(reason), stopSequence })
    }
    const usage = event.optionalObject('usage')
    this.#readUsage(usage)
    if (usage !== null && this.#usage !== null) {
      events.push({ kind: 'usage', usage: this.#usage, serviceTier: this.#tier })
    }
    return events
  }
}

function failed(event: JsonObject): readonly ChatEvent[] {
  return [{ kind: 'error', error: errorOf(isObject(event.error) ? event.error : event, null) }]
}

function deltaOf(text: string | null): readonly ChatEvent[] {
  return text === null || text === '' ? NOTHING : [{ kind: 'delta', choice: 0, text, logprobs: null }]
}

function signatureOf(data: string): readonly ChatEvent[] {
  return data === '' ? NOTHING : [{ kind: 'signature', choice: 0, signature: openSignature(data, 'messages') }]
}

/** The text of a delta, which must be of the kind of block that is open. */
function textOf(delta: JsonObject, name: string, open: Open, kind: Open['kind']): string {
  const text = delta[name]
  if (open.kind !== kind) throw new FormatError('delta.type', `does not belong to a block of kind ${open.kind}`)
  if (typeof text !== 'string') throw new FormatError(`delta.${name}`, 'must be a string')
  return text
}

function inputDelta(delta: JsonObject, open: Open): readonly ChatEvent[] {
  const json = textOf(delta, 'partial_json', open, open.kind === 'opaque' ? 'opaque' : 'toolCall')
  if (open.kind === 'opaque') {
    open.json += json
    return NOTHING
  }
  open.isFed ||= json !== ''
  return deltaOf(json)
}

/** Deltas of blocks that are not known (compaction_delta): texts grow, all else is replaced. */
function merge(value: Open['value'], delta: JsonObject): void {
  for (const [name, next] of Object.entries(delta)) {
    if (name === 'type' || name === '__proto__') continue
    const before = value[name]
    value[name] = typeof before === 'string' && typeof next === 'string' ? before + next : next
  }
}

function parsedInput(json: string): Json {
  try {
    return JSON.parse(json) as Json
  } catch {
    throw new FormatError('delta.partial_json', 'is not JSON')
  }
}
