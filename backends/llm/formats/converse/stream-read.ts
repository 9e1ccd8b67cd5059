/**
 * Events of ConverseStream (API reference: ConverseStream, response syntax). Blocks come one after the other; texts
 * and thoughts begin with their first delta, without a contentBlockStart. The stream ends with `metadata`.
 */

import type { ChatEvent, Json, JsonObject, Part, Signature } from '#backends/llm/conversation.ts'
import { Fields, isObject } from '#backends/llm/formats/fields.ts'
import { type Finish, FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { emptyPart, toolCallPart } from '#backends/llm/formats/parts.ts'
import { parseJson } from '#engine/kit/json.ts'
import { stopOf, stopSequenceOf } from './answer.ts'
import { readContent, SERVER_TOOL, signatureOf } from './content-read.ts'
import { readStreamError } from './error.ts'
import { fromWireToolName } from './names.ts'
import { readUsage } from './usage.ts'

const NONE: readonly ChatEvent[] = []
const START: ChatEvent = { kind: 'start', id: '', model: '', created: 0, usage: null }
/** Blocks that come as a whole (images, results of the provider's tools) are held until they end. */
const HELD_CHARS_MAX = 32 * 1024 * 1024

/** The open block. `text`, `thinking` and `toolCall` become events as they come, `held` at its end. */
interface Open {
  readonly index: number
  readonly kind: 'text' | 'thinking' | 'redacted' | 'toolCall' | 'held'
  /** Of a tool call: whether any arguments came. */
  hasInput: boolean
  readonly citations: JsonObject[]
  /** What a held block began with. */
  readonly start: JsonObject
  /** Of a held block, a signature or redacted content. */
  readonly pieces: Json[]
  text: string
}

export function streamReader(): StreamReader {
  return new ConverseReader()
}

class ConverseReader implements StreamReader {
  #open: Open | null = null
  #heldChars = 0
  #hasStarted = false
  #hasStopped = false

  /** Some that stand in for Bedrock begin with a block. */
  read(event: WireEvent): readonly ChatEvent[] {
    const events = this.#read(event)
    if (this.#hasStarted || events.length === 0 || events[0]!.kind === 'error') return events
    this.#hasStarted = true
    return events[0]!.kind === 'start' ? events : [START, ...events]
  }

  #read(event: WireEvent): readonly ChatEvent[] {
    const { name, data } = event
    switch (name) {
      case 'contentBlockDelta':
        return this.#delta(fieldsOf(name, data), data.length)
      case 'messageStart':
        return [START]
      case 'contentBlockStart':
        return this.#start(fieldsOf(name, data))
      case 'contentBlockStop':
        return this.#close()
      case 'messageStop':
        this.#hasStopped = true
        return [...this.#close(), stopEvent(fieldsOf(name, data))]
      case 'metadata':
        return [...this.#close(), ...metadataEvents(fieldsOf(name, data))]
      default:
        if (name !== 'error' && !name.endsWith('Exception')) return NONE
        return [{ kind: 'error', error: readStreamError(name, data) }]
    }
  }

  /** Without its metadata nothing is known of its cost, and all of its answer. */
  finish(): Finish | null {
    return this.#hasStopped ? { events: [...this.#close(), { kind: 'done' }], mark: '' } : null
  }

  #start(event: Fields): readonly ChatEvent[] {
    const events = this.#close()
    const index = event.count('contentBlockIndex')
    const start = event.object('start')
    // Of a text, whose deltas say what it is.
    if (Object.keys(start.value).length === 0) return events
    const use = start.optionalObject('toolUse')
    if (use === null || use.value.type === SERVER_TOOL) {
      this.#open = opened(index, 'held', start.value)
      return events
    }
    this.#open = opened(index, 'toolCall')
    const part = toolCallPart(use.string('toolUseId'), fromWireToolName(use.string('name')), '')
    return [...events, { kind: 'begin', choice: 0, part }]
  }

  #delta(event: Fields, chars: number): readonly ChatEvent[] {
    const index = event.count('contentBlockIndex')
    const delta = event.object('delta')
    if (this.#open?.kind === 'held' && this.#open.index === index) {
      this.#count(chars)
      return hold(this.#open, delta)
    }
    const use = delta.optionalObject('toolUse')
    const text = use === null ? delta.optionalString('text') : null
    if (text !== null) return this.#say(index, 'text', text)
    if (use !== null) {
      const open = this.#open
      if (open?.kind !== 'toolCall' || open.index !== index) {
        throw new FormatError(use.path, 'belongs to a block that has not begun')
      }
      const input = use.string('input')
      if (input === '') return NONE
      open.hasInput = true
      return [{ kind: 'delta', choice: 0, text: input, logprobs: null }]
    }
    const reasoning = delta.optionalObject('reasoningContent')
    if (reasoning !== null) return this.#reason(index, reasoning)
    const citation = delta.optionalObject('citation')
    if (citation === null) return NONE
    const events = this.#say(index, 'text', '')
    this.#open!.citations.push(citation.value)
    return events
  }

  #reason(index: number, reasoning: Fields): readonly ChatEvent[] {
    const text = reasoning.optionalString('text')
    if (text !== null) return this.#say(index, 'thinking', text)
    const signature = reasoning.optionalString('signature')
    if (signature !== null) {
      const events = this.#say(index, 'thinking', '')
      this.#keep(signature)
      return events
    }
    const redacted = reasoning.optionalString('redactedContent')
    if (redacted === null) return NONE
    const events = this.#say(index, 'redacted', '')
    this.#keep(redacted)
    return events
  }

  #keep(seal: string): void {
    this.#count(seal.length)
    this.#open!.pieces.push(seal)
  }

  /** A piece of a block that may begin with it. */
  #say(index: number, kind: 'text' | 'thinking' | 'redacted', text: string): readonly ChatEvent[] {
    const delta: ChatEvent = { kind: 'delta', choice: 0, text, logprobs: null }
    if (this.#open?.index === index && this.#open.kind === kind) return text === '' ? NONE : [delta]
    const events = [...this.#close()]
    this.#open = opened(index, kind)
    const part: Part =
      kind === 'redacted' ? { kind: 'thinking', text: '', signature: null, isRedacted: true } : emptyPart(kind)
    events.push({ kind: 'begin', choice: 0, part })
    if (text !== '') events.push(delta)
    return events
  }

  #count(chars: number): void {
    this.#heldChars += chars
    if (this.#heldChars > HELD_CHARS_MAX) throw new FormatError('', 'a block of the stream is too long')
  }

  #close(): readonly ChatEvent[] {
    const open = this.#open
    if (open === null) return NONE
    this.#open = null
    this.#heldChars = 0
    const end: ChatEvent = { kind: 'end', choice: 0 }
    switch (open.kind) {
      case 'held':
        return [{ kind: 'begin', choice: 0, part: heldPart(open) }, end]
      case 'toolCall':
        return open.hasInput ? [end] : [{ kind: 'delta', choice: 0, text: '{}', logprobs: null }, end]
      case 'text': {
        if (open.citations.length === 0) return [end]
        // Texts become events before it is known that they are cited: the citations follow as a part of their own.
        const value = { citationsContent: { citations: open.citations } }
        return [end, { kind: 'begin', choice: 0, part: { kind: 'opaque', format: 'converse', value } }, end]
      }
      default: {
        const signature = sealOf(open)
        return signature === null ? [end] : [{ kind: 'signature', choice: 0, signature }, end]
      }
    }
  }
}

function sealOf({ kind, pieces }: Open): Signature | null {
  // One piece stays as it was written.
  const isBytes = kind === 'redacted' && pieces.length > 1
  return signatureOf((isBytes ? joinedBase64(pieces) : pieces.join('')) || null)
}

/** Each piece of bytes is base64 of its own. */
function joinedBase64(pieces: readonly Json[]): string {
  return Buffer.concat(pieces.map((piece) => Buffer.from(String(piece), 'base64'))).toString('base64')
}

/** Keeps a piece of a block that becomes one event. */
function hold(open: Open, delta: Fields): readonly ChatEvent[] {
  open.text += delta.optionalObject('toolUse')?.optionalString('input') ?? ''
  const bytes = delta.optionalObject('image')?.optionalObject('source')?.optionalString('bytes') ?? null
  if (bytes !== null) open.pieces.push(bytes)
  for (const piece of delta.optionalList('toolResult') ?? []) open.pieces.push(piece)
  return NONE
}

function opened(index: number, kind: Open['kind'], start: JsonObject = {}): Open {
  return { index, kind, hasInput: false, citations: [], start, pieces: [], text: '' }
}

function fieldsOf(name: string, data: string): Fields {
  const value = parseJson(data) as Json | undefined
  if (value === undefined) throw new FormatError(name, 'must be JSON')
  return Fields.of(value, name)
}

/** The block as it would have come unstreamed. */
function heldPart(open: Open): Part {
  const { image, toolResult, toolUse } = open.start
  let block: JsonObject = open.start
  if (isObject(image)) block = { image: { ...image, source: { bytes: joinedBase64(open.pieces) } } }
  else if (isObject(toolResult)) block = { toolResult: { ...toolResult, content: open.pieces } }
  else if (isObject(toolUse)) block = { toolUse: { ...toolUse, input: inputOf(open.text) } }
  const [part] = readContent([block], 'content', new Map())
  return part!
}

/** Arguments of a tool that the provider ran: text when they are not JSON. */
function inputOf(text: string): Json {
  try {
    return text === '' ? {} : (JSON.parse(text) as Json)
  } catch {
    return text
  }
}

function stopEvent(event: Fields): ChatEvent {
  const stop = stopOf(event.text('stopReason') ?? '')
  return { kind: 'stop', choice: 0, stop, stopSequence: stopSequenceOf(event.any('additionalModelResponseFields')) }
}

function metadataEvents(event: Fields): ChatEvent[] {
  const usage = event.optionalObject('usage')
  if (usage === null) return [{ kind: 'done' }]
  const serviceTier = event.optionalObject('serviceTier')?.optionalString('type') ?? null
  return [{ kind: 'usage', usage: readUsage(usage), serviceTier }, { kind: 'done' }]
}
