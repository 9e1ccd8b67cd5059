/** Chunks as events (OpenAI API reference, "The chat completion chunk object"). */

import type { ChatEvent, Json, JsonObject, Part } from '#backends/llm/conversation.ts'
import { errorFrom, errorIn } from '#backends/llm/formats/completions/error.ts'
import { Fields, isObject, isString } from '#backends/llm/formats/fields.ts'
import { type Finish, FormatError, type StreamReader, type WireEvent } from '#backends/llm/formats/format.ts'
import { emptyPart } from '#backends/llm/formats/parts.ts'
import { newNotes } from '#backends/llm/formats/unknown-fields.ts'
import { parseJson } from '#engine/kit/json.ts'
import { readPart } from './parts.ts'
import { readStop } from './stop.ts'
import { StreamCalls } from './stream-tool-calls.ts'
import { REASONING, readBlock } from './thinking.ts'
import { readUsage, usageIn } from './usage.ts'

/** OpenAI allows 128. */
const CHOICES_MAX = 1024

interface OpenChoice {
  readonly index: number
  open: 'text' | 'thinking' | 'refusal' | null
  /** Thoughts of the open part so far, from reasoning_content. */
  thoughts: string
  readonly calls: StreamCalls
  hasRefused: boolean
  isStopped: boolean
  /** A delta has had content. */
  hasDelta: boolean
  /** For the next delta. */
  logprobs: Json[] | null
  audio: { [name: string]: Json } | null
  annotations: Json[]
}

export function streamReader(count = 1): StreamReader {
  return new Reader(count)
}

class Reader implements StreamReader {
  readonly #count: number
  readonly #choices = new Map<number, OpenChoice>()
  #hasStarted = false
  #isOver = false
  #tier: string | null = null

  constructor(count: number) {
    this.#count = count
  }

  read(event: WireEvent): readonly ChatEvent[] {
    if (this.#isOver || event.data === '') return []
    if (isDone(event.data)) return this.#done()
    const value = parse(event.data)
    if (value === null) return []
    const error = errorIn(value) ?? (event.name === 'error' ? value : null)
    if (error !== null) {
      this.#isOver = true
      return [{ kind: 'error', error: errorFrom(error, null) }]
    }
    const events: ChatEvent[] = []
    const choices = value.choices ?? []
    if (!Array.isArray(choices)) throw new FormatError('choices', 'must be a list')
    const usage = usageIn(value)
    // Azure begins with a chunk that only tells what its filters think of the prompt.
    if (!this.#hasStarted && (choices.length > 0 || usage !== null)) events.push(this.#start(value))
    if (isString(value.service_tier)) this.#tier = value.service_tier
    for (const choice of choices as readonly Json[]) this.#readChoice(choice, events)
    if (usage !== null) events.push({ kind: 'usage', usage: readUsage(usage), serviceTier: this.#tier })
    return events
  }

  /** Some servers say no [DONE]: when all choices that were asked for have ended, so has the answer. */
  finish(): Finish | null {
    const choices = [...this.#choices.values()]
    const isWhole = !this.#isOver && choices.length >= this.#count && choices.every(({ isStopped }) => isStopped)
    return isWhole ? { events: this.#done(), mark: 'data: [DONE]\n\n' } : null
  }

  #start(value: JsonObject): ChatEvent {
    this.#hasStarted = true
    const { id, model, created } = value
    return {
      kind: 'start',
      id: isString(id) ? id : typeof id === 'number' ? String(id) : '',
      model: isString(model) ? model : '',
      created: typeof created === 'number' ? created : 0,
      usage: null
    }
  }

  #done(): ChatEvent[] {
    this.#isOver = true
    const events: ChatEvent[] = []
    for (const choice of this.#choices.values()) {
      if (!choice.isStopped) stop(choice, 'stop', null, events)
    }
    events.push({ kind: 'done' })
    return events
  }

  #readChoice(value: Json, events: ChatEvent[]): void {
    if (!isObject(value)) throw new FormatError('choices[0]', 'must be an object')
    const choice = this.#choice(value.index ?? 0)
    const isDelta = (value.delta ?? null) !== null
    const delta = isDelta ? value.delta! : (value.message ?? null)
    const word = isString(value.finish_reason) ? value.finish_reason : ''
    if (isDelta || !choice.hasDelta) addLogprobs(value.logprobs ?? null, choice)
    if (delta !== null) {
      if (!isObject(delta)) throw new FormatError(`choices[${choice.index}].delta`, 'must be an object')
      const before = events.length
      readDelta(isDelta || !choice.hasDelta ? delta : untold(delta, choice), choice, events)
      if (isDelta && (events.length > before || choice.calls.hasAny)) choice.hasDelta = true
    }
    if (word === '' || choice.isStopped) return
    const sequence = value.stop_reason ?? null
    stop(choice, word, isString(sequence) ? sequence : null, events)
  }

  #choice(index: Json): OpenChoice {
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= CHOICES_MAX) {
      throw new FormatError('choices[0].index', `must be a whole number below ${CHOICES_MAX}`)
    }
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    const choice: OpenChoice = {
      index,
      open: null,
      thoughts: '',
      calls: new StreamCalls(index),
      hasRefused: false,
      isStopped: false,
      hasDelta: false,
      logprobs: null,
      audio: null,
      annotations: []
    }
    this.#choices.set(index, choice)
    return choice
  }
}

const isDone = (data: string): boolean => data.length < 16 && data.trim() === '[DONE]'

/** Null: JSON that says nothing ("", null). */
function parse(data: string): JsonObject | null {
  // Reported below, with everything else that is no object.
  const value = parseJson(data) as Json | undefined
  if (isObject(value)) return value
  if (value === null || value === '') return null
  throw new FormatError('', 'must be a JSON object')
}

function textOf(value: JsonObject, name: string, choice: OpenChoice): string {
  const text = value[name] ?? ''
  if (isString(text)) return text
  throw new FormatError(`choices[${choice.index}].delta.${name}`, 'must be a string')
}

function listOf(value: JsonObject, name: string, choice: OpenChoice): readonly Json[] {
  const list = value[name] ?? null
  if (list === null) return NONE
  if (Array.isArray(list)) return list as readonly Json[]
  throw new FormatError(`choices[${choice.index}].delta.${name}`, 'must be a list')
}

const NONE: readonly Json[] = []

function addLogprobs(value: Json, choice: OpenChoice): void {
  if (!isObject(value)) return
  for (const list of [value.content, value.refusal]) {
    if (!Array.isArray(list) || list.length === 0) continue
    choice.logprobs ??= []
    for (const entry of list as readonly Json[]) choice.logprobs.push(entry)
  }
}

function readDelta(delta: JsonObject, choice: OpenChoice, events: ChatEvent[]): void {
  const before = events.length
  const reasoning = reasoningOf(delta)
  if (reasoning !== '') {
    say('thinking', reasoning, choice, events)
    choice.thoughts += reasoning
  }
  for (const [i, block] of listOf(delta, 'thinking_blocks', choice).entries()) {
    const fields = Fields.of(block, `choices[${choice.index}].delta.thinking_blocks[${i}]`)
    readThoughts(fields, reasoning !== '', choice, events)
  }
  if (Array.isArray(delta.content)) readContentList(delta.content as readonly Json[], choice, events)
  else {
    const content = textOf(delta, 'content', choice)
    if (content !== '') say('text', content, choice, events)
  }
  const refusal = textOf(delta, 'refusal', choice)
  if (refusal !== '') {
    choice.hasRefused = true
    say('refusal', refusal, choice, events)
  }
  for (const [i, image] of listOf(delta, 'images', choice).entries()) {
    const notes = newNotes()
    whole(readPart(Fields.of(image, `choices[${choice.index}].delta.images[${i}]`), notes), choice, events)
  }
  for (const call of listOf(delta, 'tool_calls', choice)) {
    endPart(choice, events)
    choice.calls.read(call, events)
  }
  if (isObject(delta.function_call)) {
    endPart(choice, events)
    choice.calls.readLegacy(delta.function_call, events)
  }
  for (const annotation of listOf(delta, 'annotations', choice)) choice.annotations.push(annotation)
  if (isObject(delta.audio)) choice.audio = grownAudio(choice.audio ?? {}, delta.audio)
  if (choice.logprobs !== null) giveLogprobs(choice, events, before)
  if (choice.isStopped && events.length > before) {
    throw new FormatError(`choices[${choice.index}].delta`, 'goes on after finish_reason')
  }
}

/** Some servers (MiniMax) end a stream with the whole message: what no delta had of it are calls, if anything. */
function untold(message: JsonObject, { calls }: OpenChoice): JsonObject {
  return calls.hasAny ? {} : { tool_calls: message.tool_calls ?? null, function_call: message.function_call ?? null }
}

function reasoningOf(delta: JsonObject): string {
  for (const name of REASONING) {
    const text = delta[name]
    if (isString(text) && text !== '') return text
  }
  return ''
}

/** Pieces of text and thoughts (Mistral's Magistral), and what comes whole. */
function readContentList(list: readonly Json[], choice: OpenChoice, events: ChatEvent[]): void {
  for (const [i, value] of list.entries()) {
    const notes = newNotes()
    const part = readPart(Fields.of(value, `choices[${choice.index}].delta.content[${i}]`), notes)
    if (part.kind !== 'text' && part.kind !== 'thinking') whole(part, choice, events)
    else if (part.text !== '') say(part.kind, part.text, choice, events)
  }
}

/**
 * A block is one of three: the whole of the reasoning_content before it (LiteLLM since 2026), the same piece
 * as the reasoning_content beside it (before), or a piece of its own.
 */
function readThoughts(block: Fields, isBeside: boolean, choice: OpenChoice, events: ChatEvent[]): void {
  const part = readBlock(block, newNotes())
  if (part === null) return
  if (part.isRedacted) {
    whole(part, choice, events)
    return
  }
  const isRepeated = choice.open === 'thinking' && part.text === choice.thoughts && part.text !== ''
  if (!isBeside && !isRepeated) {
    if (part.text !== '') say('thinking', part.text, choice, events)
    else if (choice.open !== 'thinking') open('thinking', choice, events)
  }
  if (part.signature !== null) events.push({ kind: 'signature', choice: choice.index, signature: part.signature })
  if (part.signature !== null || (isRepeated && !isBeside)) endPart(choice, events)
}

function open(kind: 'text' | 'thinking' | 'refusal', choice: OpenChoice, events: ChatEvent[]): void {
  endPart(choice, events)
  choice.calls.end(events)
  choice.open = kind
  choice.thoughts = ''
  events.push({ kind: 'begin', choice: choice.index, part: emptyPart(kind) })
}

function say(kind: 'text' | 'thinking' | 'refusal', text: string, choice: OpenChoice, events: ChatEvent[]): void {
  if (choice.open !== kind) open(kind, choice, events)
  events.push({ kind: 'delta', choice: choice.index, text, logprobs: null })
}

/** A part that comes complete. */
function whole(part: Part, choice: OpenChoice, events: ChatEvent[]): void {
  endPart(choice, events)
  choice.calls.end(events)
  events.push({ kind: 'begin', choice: choice.index, part }, { kind: 'end', choice: choice.index })
}

function endPart(choice: OpenChoice, events: ChatEvent[]): void {
  if (choice.open === null) return
  choice.open = null
  events.push({ kind: 'end', choice: choice.index })
}

/** To the first delta of this chunk; they wait when there is none. */
function giveLogprobs(choice: OpenChoice, events: ChatEvent[], from: number): void {
  for (let i = from; i < events.length; i++) {
    const event = events[i]!
    if (event.kind !== 'delta') continue
    events[i] = { ...event, logprobs: choice.logprobs }
    choice.logprobs = null
    return
  }
}

/** Data and transcript come in pieces. */
function grownAudio(audio: { [name: string]: Json }, more: JsonObject): { [name: string]: Json } {
  for (const name of ['id', 'data', 'transcript', 'expires_at']) {
    const value = more[name] ?? null
    const old = audio[name]
    const grows = (name === 'data' || name === 'transcript') && isString(old) && isString(value)
    if (value !== null) audio[name] = grows ? old + value : value
  }
  return audio
}

function stop(choice: OpenChoice, word: string, sequence: string | null, events: ChatEvent[]): void {
  const { index, logprobs } = choice
  choice.isStopped = true
  // Of tokens that have no text, at the very end.
  if (logprobs !== null && (choice.open !== null || choice.calls.isOpen)) {
    events.push({ kind: 'delta', choice: index, text: '', logprobs })
  }
  endPart(choice, events)
  choice.calls.end(events)
  if (choice.audio !== null) whole(fragment('audio', choice.audio), choice, events)
  if (choice.annotations.length > 0) whole(fragment('annotations', choice.annotations), choice, events)
  const reason = readStop(word, { hasRefused: choice.hasRefused, hasCalls: choice.calls.hasAny, sequence })
  events.push({ kind: 'stop', choice: index, stop: reason, stopSequence: reason === 'stopSequence' ? sequence : null })
}

function fragment(name: string, value: Json): Part {
  return { kind: 'opaque', format: 'completions', value: { [name]: value } }
}
