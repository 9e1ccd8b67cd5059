/**
 * Google's streamed answers: each SSE event is a GenerateContentResponse with some more parts; the last one of a
 * candidate has its finishReason. There is no mark of the end but that.
 * Source: ai.google.dev, "Generating content" reference, streamGenerateContent.
 */

import type { ChatEvent, Json, JsonObject, Part, Signature, Usage } from '#backends/llm/conversation.ts'
import { type Fields, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { emptyPart } from '#backends/llm/formats/parts.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isBlocked, isSealable, readTime, stopOf } from './answer.ts'
import { Calls, isNothing, readPart } from './content-read.ts'
import { errorOf } from './error.ts'
import { readLogprobs } from './logprobs.ts'
import { PartialCall } from './partial-call.ts'
import { readUsage, searchesIn, withSearches } from './usage.ts'
import { count, idTag, message, messages, optionalMessage } from './wire.ts'

/** A provider that makes up names is not remembered for all of them. */
const LOST_MAX = 64

interface Reading {
  /** A call whose arguments come bit by bit. */
  partial: PartialCall | null
  /** Text and thoughts go on from event to event. */
  open: 'text' | 'thinking' | null
  /** The part before takes a seal that comes by itself. */
  isSealable: boolean
  hasCalls: boolean
  isStopped: boolean
}

/** Fields of a candidate that events carry, and counts that Weir takes from elsewhere. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...['index', 'content', 'finishReason', 'finishMessage', 'logprobsResult', 'avgLogprobs', 'tokenCount']
])

export class GeminiReader implements StreamReader {
  readonly lost = new Set<string>()
  #calls: Calls | null = null
  readonly #choices = new Map<number, Reading>()
  #usage: Usage | null = null
  /** Events repeat what they are told of. */
  #searches = 0
  #serviceTier: string | null = null
  #isDone = false
  #events: ChatEvent[] = []

  read(event: WireEvent): readonly ChatEvent[] {
    if (event.data === '' || event.data === '[DONE]') return []
    const value = parse(event.data)
    if (isObject(value) && (value.error ?? null) !== null) {
      return [{ kind: 'error', error: errorOf(500, value, '') }]
    }
    this.#events = []
    this.#chunk(message(value, ''))
    return this.#events
  }

  #chunk(fields: Fields): void {
    const usage = optionalMessage(fields, 'usageMetadata')
    this.#searches = Math.max(this.#searches, searchesIn(fields.value))
    if (usage !== null) {
      this.#usage = withSearches(readUsage(usage), this.#searches)
      this.#serviceTier = usage.optionalString('serviceTier') ?? this.#serviceTier
    }
    if (this.#calls === null) this.#start(fields)
    for (const [i, candidate] of messages(fields, 'candidates').entries()) {
      this.#candidate(candidate, (candidate.value.index ?? null) === null ? i : count(candidate, 'index'))
    }
    if (this.#choices.size === 0 && isBlocked(fields)) {
      this.#choices.set(0, { partial: null, open: null, isSealable: false, hasCalls: false, isStopped: true })
      this.#events.push({ kind: 'stop', choice: 0, stop: 'filter', stopSequence: null })
    }
    this.#finish(usage !== null)
  }

  #start(fields: Fields): void {
    const id = fields.optionalString('responseId') ?? ''
    this.#calls = new Calls(idTag(id))
    const model = fields.optionalString('modelVersion') ?? ''
    this.#events.push({ kind: 'start', id, model, created: readTime(fields), usage: this.#usage })
  }

  /** Every event of Google's has usage: it becomes one event, with the end, and another if it comes later still. */
  #finish(hasUsage: boolean): void {
    let isEnd = this.#choices.size > 0
    for (const choice of this.#choices.values()) if (!choice.isStopped) isEnd = false
    if (!isEnd) return
    if (this.#usage !== null && (hasUsage || !this.#isDone)) {
      this.#events.push({ kind: 'usage', usage: this.#usage, serviceTier: this.#serviceTier })
    }
    if (!this.#isDone) this.#events.push({ kind: 'done' })
    this.#isDone = true
  }

  #candidate(candidate: Fields, index: number): void {
    if (!Number.isInteger(index) || index < 0 || index >= 128) {
      throw new FormatError(candidate.at('index'), 'must be a whole number from 0 to 127')
    }
    let choice = this.#choices.get(index)
    if (choice === undefined) {
      choice = { partial: null, open: null, isSealable: false, hasCalls: false, isStopped: false }
      this.#choices.set(index, choice)
    }
    for (const name of Object.keys(candidate.value)) {
      if (!KNOWN_FIELDS.has(name) && this.lost.size < LOST_MAX) this.lost.add(`candidates[${index}].${name}`)
    }
    const from = this.#events.length
    const content = optionalMessage(candidate, 'content')
    if (content !== null) for (const part of messages(content, 'parts')) this.#part(part, choice, index)
    const logprobs = readLogprobs(candidate, new Map())
    if (logprobs !== null && logprobs.length > 0) this.#addLogprobs(logprobs, choice, index, from)
    const reason = candidate.optionalString('finishReason')
    if (reason === null || reason === 'FINISH_REASON_UNSPECIFIED' || choice.isStopped) return
    this.#close(choice, index)
    choice.isStopped = true
    this.#events.push({ kind: 'stop', choice: index, stop: stopOf(reason, choice.hasCalls), stopSequence: null })
  }

  /** To the first delta since `from`; with none, to what is still open. */
  #addLogprobs(logprobs: Json, choice: Reading, index: number, from: number): void {
    const at = this.#events.findIndex((event, i) => i >= from && event.kind === 'delta')
    const delta = this.#events[at]
    if (delta?.kind === 'delta') this.#events[at] = { ...delta, logprobs }
    else if (choice.open !== null) this.#events.push({ kind: 'delta', choice: index, text: '', logprobs })
  }

  #part(fields: Fields, choice: Reading, index: number): void {
    const { value } = fields
    const text = value.text
    // The common case, without the lists that readPart makes.
    if (typeof text === 'string' && (value.thoughtSignature ?? null) === null) {
      if (text !== '') this.#grow(value.thought === true ? 'thinking' : 'text', text, choice, index)
      return
    }
    const whole = isNothing(fields) ? null : this.#whole(fields, choice)
    if (whole !== null) for (const part of readPart(whole, this.#calls!, new Map())) this.#add(part, choice, index)
  }

  /** Null while a call is not complete. */
  #whole(fields: Fields, choice: Reading): Fields | null {
    const call = optionalMessage(fields, 'functionCall')
    if (call === null) return fields
    const goesOn = call.optionalBoolean('willContinue') === true
    if (!goesOn && choice.partial === null && call.any('partialArgs') === null) return fields
    choice.partial ??= new PartialCall(call)
    choice.partial.add(fields, call)
    if (goesOn) return null
    const whole = message(choice.partial.whole(), fields.path)
    choice.partial = null
    return whole
  }

  #grow(kind: 'text' | 'thinking', text: string, choice: Reading, index: number): void {
    if (choice.open !== kind) {
      this.#close(choice, index)
      this.#events.push({ kind: 'begin', choice: index, part: emptyPart(kind) })
      choice.open = kind
    }
    choice.isSealable = kind === 'text'
    this.#events.push({ kind: 'delta', choice: index, text, logprobs: null })
  }

  #add(part: Part, choice: Reading, index: number): void {
    if (part.kind === 'text') {
      if (part.text !== '') this.#grow('text', part.text, choice, index)
    } else if (part.kind === 'thinking') {
      this.#seal(part.text, part.signature, choice, index)
    } else {
      this.#close(choice, index)
      const begun = part.kind === 'toolCall' ? { ...part, arguments: '', signature: null } : part
      this.#events.push({ kind: 'begin', choice: index, part: begun })
      if (part.kind === 'toolCall') {
        choice.hasCalls = true
        this.#events.push({ kind: 'delta', choice: index, text: part.arguments, logprobs: null })
        if (part.signature !== null) this.#sign(part.signature, index)
      }
      this.#events.push({ kind: 'end', choice: index })
      choice.isSealable = isSealable(part)
    }
  }

  #seal(text: string, signature: Signature | null, choice: Reading, index: number): void {
    if (text !== '') this.#grow('thinking', text, choice, index)
    if (signature === null) return
    if (choice.open !== 'thinking') {
      this.#close(choice, index)
      const part: Part = { kind: 'thinking', text: '', signature: null, isRedacted: choice.isSealable }
      this.#events.push({ kind: 'begin', choice: index, part })
      choice.open = 'thinking'
    }
    this.#sign(signature, index)
    this.#close(choice, index)
    choice.isSealable = false
  }

  #sign(signature: Signature, index: number): void {
    this.#events.push({ kind: 'signature', choice: index, signature })
  }

  #close(choice: Reading, index: number): void {
    if (choice.open !== null) this.#events.push({ kind: 'end', choice: index })
    choice.open = null
  }
}

function parse(data: string): JsonObject | undefined {
  const value = parseJson(data) as Json | undefined
  if (value === undefined) throw new FormatError('', 'is not JSON')
  // Without alt=sse, errors are lists of one.
  const first = Array.isArray(value) ? (value[0] as Json | undefined) : value
  return isObject(first) ? first : undefined
}
