/**
 * Events of a streamed chat (API reference of Cohere, "Chat with Streaming", version 2): `type` says what one is.
 * Content and calls have a beginning and an end, the plan has deltas alone; what is cited comes among the pieces of the
 * text that cites it, and is cost at the end. The last event has the reason and the usage.
 */
import type { ChatEvent, Json, JsonObject } from '#backends/llm/conversation.ts'
import { argumentsOf, Fields, isObject, parsedObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { emptyPart, toolCallPart } from '#backends/llm/formats/parts.ts'
import { readLogprobs, stopOf } from './answer.ts'
import { citedPart } from './content-read.ts'
import { failed } from './error.ts'
import { readUsage } from './usage.ts'

const NONE: readonly ChatEvent[] = []
const END: ChatEvent = { kind: 'end', choice: 0 }
/** Citations repeat the documents that they cite. */
const CITED_CHARS_MAX = 32 * 1024 * 1024

type Open = 'text' | 'thinking' | 'plan' | 'toolCall'

export function streamReader(): StreamReader {
  return new CohereReader()
}

class CohereReader implements StreamReader {
  #open: Open | null = null
  /** Of the open call: what came of its arguments. */
  #arguments = ''
  #hasStarted = false
  readonly #citations: Json[] = []
  #citedChars = 0

  read({ data }: WireEvent): readonly ChatEvent[] {
    const event = new Fields(parsedObject(data), '')
    const type = event.text('type') ?? ''
    if (type === 'message-start') return this.#start(event.label('id') ?? '')
    const message = messageOf(event)
    switch (type) {
      case 'content-delta':
      case 'content-start':
        return this.#begun(this.#content(message, event))
      case 'tool-plan-delta':
        return this.#begun(this.#say('plan', text(message, 'tool_plan'), null))
      case 'tool-call-start':
        return this.#begun(this.#call(message))
      case 'tool-call-delta':
        return this.#more(argumentsIn(message))
      case 'content-end':
      case 'tool-call-end':
        return this.#close()
      case 'citation-start':
        this.#cite(message?.any('citations') ?? null, data.length)
        return NONE
      case 'message-end':
        return this.#begun(this.#end(event))
      default:
        return NONE
    }
  }

  /** Some that stand in for Cohere begin with content. */
  #begun(events: readonly ChatEvent[]): readonly ChatEvent[] {
    return this.#hasStarted ? events : [...this.#start(''), ...events]
  }

  #start(id: string): readonly ChatEvent[] {
    if (this.#hasStarted) return NONE
    this.#hasStarted = true
    return [{ kind: 'start', id, model: '', created: 0, usage: null }]
  }

  /** Of both kinds of content, what there is. A beginning may have the first piece. */
  #content(message: Fields | null, event: Fields): readonly ChatEvent[] {
    const value = message?.any('content') ?? null
    const content = isObject(value) ? value : {}
    const isThought = typeof content.thinking === 'string'
    const piece = isThought ? content.thinking : content.text
    if (typeof piece !== 'string') return NONE
    const isNew = event.text('type') === 'content-start'
    const closed = isNew ? this.#close() : NONE
    return [...closed, ...this.#say(isThought ? 'thinking' : 'text', piece, event.any('logprobs'), isNew)]
  }

  #say(kind: 'text' | 'thinking' | 'plan', piece: string, logprobs: Json, isNew = false): readonly ChatEvent[] {
    const delta: ChatEvent[] =
      piece === '' ? [] : [{ kind: 'delta', choice: 0, text: piece, logprobs: readLogprobs(logprobs) }]
    if (this.#open === kind && !isNew) return delta
    // Plans that say nothing are none.
    if (kind === 'plan' && piece === '') return NONE
    const closed = this.#close()
    this.#open = kind
    return [...closed, { kind: 'begin', choice: 0, part: emptyPart(kind === 'plan' ? 'text' : kind) }, ...delta]
  }

  #call(message: Fields | null): readonly ChatEvent[] {
    const call = callIn(message)
    if (call === null) throw new FormatError('delta.message.tool_calls', 'is required, and must be an object')
    const definition = call.object('function')
    const closed = this.#close()
    this.#open = 'toolCall'
    this.#arguments = ''
    const part = toolCallPart(call.string('id'), definition.string('name'), '')
    return [...closed, { kind: 'begin', choice: 0, part }, ...this.#more(argumentsIn(message))]
  }

  /** Until it is more than the beginning of "null", which stands for no arguments, nothing is cost of it. */
  #more(piece: string): readonly ChatEvent[] {
    if (piece === '') return NONE
    if (this.#open !== 'toolCall') throw new FormatError('delta.message.tool_calls', 'is of a call that has not begun')
    const wasHeld = 'null'.startsWith(this.#arguments)
    this.#arguments += piece
    if ('null'.startsWith(this.#arguments)) return NONE
    return [{ kind: 'delta', choice: 0, text: wasHeld ? this.#arguments : piece, logprobs: null }]
  }

  #close(): readonly ChatEvent[] {
    const open = this.#open
    this.#open = null
    if (open === null) return NONE
    const isEmpty = open === 'toolCall' && 'null'.startsWith(this.#arguments)
    return isEmpty ? [{ kind: 'delta', choice: 0, text: '{}', logprobs: null }, END] : [END]
  }

  #cite(citations: Json, chars: number): void {
    this.#citedChars += chars
    if (this.#citedChars > CITED_CHARS_MAX) throw new FormatError('', 'the citations of the stream are too long')
    if (Array.isArray(citations)) for (const one of citations as readonly Json[]) this.#citations.push(one)
    else if (isObject(citations)) this.#citations.push(citations)
  }

  #end(event: Fields): readonly ChatEvent[] {
    const delta = event.any('delta')
    const fields = new Fields(isObject(delta) ? delta : {}, 'delta')
    const word = fields.text('finish_reason') ?? ''
    const error = fields.text('error')
    const usage = isObject(fields.any('usage')) ? readUsage(fields.object('usage')) : null
    const cost: ChatEvent[] = usage === null ? [] : [{ kind: 'usage', usage, serviceTier: null }]
    const hasFailed = error !== null || stopOf(word) === 'error'
    if (hasFailed) return [...this.#close(), ...cost, { kind: 'error', error: failed(word, error) }]
    const cited = this.#citations.length === 0 ? [] : [begun(this.#citations), END]
    return [
      ...this.#close(),
      ...cited,
      { kind: 'stop', choice: 0, stop: stopOf(word), stopSequence: null },
      ...cost,
      { kind: 'done' }
    ]
  }
}

const begun = (citations: readonly Json[]): ChatEvent => ({ kind: 'begin', choice: 0, part: citedPart(citations) })

/** `delta.message`; null: there is none. */
function messageOf(event: Fields): Fields | null {
  const delta = event.any('delta')
  const message = isObject(delta) ? delta.message : null
  return isObject(message) ? new Fields(message as JsonObject, 'delta.message') : null
}

/** An object, where whole answers have a list. */
function callIn(message: Fields | null): Fields | null {
  const value = message?.any('tool_calls') ?? null
  const one = Array.isArray(value) ? (value as readonly Json[])[0] : value
  return isObject(one) ? new Fields(one, 'delta.message.tool_calls') : null
}

function argumentsIn(message: Fields | null): string {
  const definition = callIn(message)?.any('function') ?? null
  return isObject(definition) ? (argumentsOf(definition.arguments) ?? '') : ''
}

const text = (message: Fields | null, name: string): string => message?.text(name) ?? ''
