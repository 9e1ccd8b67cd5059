/**
 * Tool calls of one choice of a stream. Servers tell them apart by index, and some mix the pieces of several: the
 * first call goes on as it comes, later ones wait until it is complete.
 */

import type { ChatEvent, Json, JsonObject, Signature, ToolCallPart } from '#backends/llm/conversation.ts'
import { argumentsOf, isObject } from '#backends/llm/formats/fields.ts'
import { FormatError } from '#backends/llm/formats/format.ts'
import { toolCallPart } from '#backends/llm/formats/parts.ts'
import { parseJson } from '#engine/kit/json.ts'
import { legacyId, signatureOf } from './tool-calls.ts'

interface Call {
  id: string
  name: string
  /** All arguments so far. */
  text: string
  signature: Signature | null
  readonly isCustom: boolean
  state: 'waiting' | 'open' | 'ended'
}

/** What a delta says of the call that it belongs to. */
interface Seen {
  readonly index: number | null
  /** "" when it has none. */
  readonly id: string
  /** It has a name and arguments. */
  readonly isWhole: boolean
}

/** The key of function_call among the indices of tool_calls. */
const FUNCTION_CALL = -1

export class StreamCalls {
  readonly #choice: number
  readonly #byIndex = new Map<number, Call>()
  /** The open one, then those that wait. */
  #queue: Call[] = []
  #last: Call | null = null
  #count = 0

  constructor(choice: number) {
    this.#choice = choice
  }

  get isOpen(): boolean {
    return this.#queue.length > 0
  }

  /** There has been one. */
  get hasAny(): boolean {
    return this.#count > 0
  }

  /** One of `tool_calls` of a delta. */
  read(value: Json, events: ChatEvent[]): void {
    if (!isObject(value)) throw this.#error('', 'must be an object')
    const index = indexOf(value.index)
    const isCustom = value.type === 'custom' || isObject(value.custom)
    const id = typeof value.id === 'number' ? String(value.id) : this.#text(value, 'id')
    const tool = value[isCustom ? 'custom' : 'function'] ?? value.function ?? value.custom ?? null
    if (tool !== null && !isObject(tool)) throw this.#error('.function', 'must be an object')
    const name = tool === null ? '' : this.#text(tool, 'name')
    const more = tool === null ? '' : isObject(value.custom) ? this.#text(tool, 'input') : this.#arguments(tool)
    const call = this.#find({ index, id, isWhole: name !== '' && more !== '' }, isCustom, events)
    this.#grow(call, name, more, signatureOf(value.extra_content), events)
  }

  /** `function_call` of a delta. */
  readLegacy(value: Json, events: ChatEvent[]): void {
    const known = this.#byIndex.get(FUNCTION_CALL)
    // Some servers have an empty one in every delta.
    if (!isObject(value) || (known === undefined && (value.name ?? '') === '')) return
    const call = known ?? this.#add(FUNCTION_CALL, legacyId(this.#choice), false, events)
    this.#grow(call, this.#text(value, 'name'), this.#arguments(value), null, events)
  }

  /** All calls are complete. */
  end(events: ChatEvent[]): void {
    for (const call of this.#queue) this.#end(call, events)
    this.#queue = []
  }

  /**
   * A new id at a known index is a new call: some servers count none. Others (Google's compatible endpoint) give no ids
   * either, and each call whole: one with a name and arguments does not go on with a call that is complete.
   */
  #find({ index, id, isWhole: isAll }: Seen, isCustom: boolean, events: ChatEvent[]): Call {
    const known = index === null ? this.#last : (this.#byIndex.get(index) ?? null)
    const isNew = known === null || (id !== '' ? id !== known.id : isAll && known.name !== '' && isWhole(known))
    if (!isNew) return known
    return this.#add(index, id === '' ? `call_${this.#choice}_${this.#count}` : id, isCustom, events)
  }

  #add(index: number | null, id: string, isCustom: boolean, events: ChatEvent[]): Call {
    const call: Call = { id, name: '', text: '', signature: null, isCustom, state: 'waiting' }
    this.#count++
    this.#last = call
    if (index !== null) this.#byIndex.set(index, call)
    // Asked of the first in a queue of one only: each call is parsed once at most.
    const [open] = this.#queue
    if (this.#queue.length === 1 && open !== undefined && isWhole(open)) this.end(events)
    this.#queue.push(call)
    return call
  }

  #grow(call: Call, name: string, text: string, signature: Signature | null, events: ChatEvent[]): void {
    if (call.state === 'ended') {
      if (text.trim() === '' && signature === null) return
      throw this.#error('', 'goes on after it was complete')
    }
    if (call.name === '') call.name = name
    call.text += text
    call.signature = signature ?? call.signature
    if (call.state === 'open') {
      if (text !== '') events.push(this.#delta(text))
      if (signature !== null) events.push({ kind: 'signature', choice: this.#choice, signature })
    } else if (call === this.#queue[0] && call.name !== '' && !call.isCustom) this.#open(call, events)
  }

  #open(call: Call, events: ChatEvent[]): void {
    call.state = 'open'
    const part: ToolCallPart = { ...toolCallPart(call.id, call.name, ''), signature: call.signature }
    events.push({ kind: 'begin', choice: this.#choice, part })
    if (call.text !== '') events.push(this.#delta(call.text))
  }

  #end(call: Call, events: ChatEvent[]): void {
    const choice = this.#choice
    if (call.isCustom) {
      const value: JsonObject = { id: call.id, type: 'custom', custom: { name: call.name, input: call.text } }
      events.push({ kind: 'begin', choice, part: { kind: 'opaque', format: 'completions', value } })
    } else {
      if (call.name === '') throw this.#error('.function.name', 'is required, and must be a string')
      if (call.state === 'waiting') this.#open(call, events)
      if (call.text === '') events.push(this.#delta('{}'))
    }
    call.state = 'ended'
    events.push({ kind: 'end', choice })
  }

  #delta(text: string): ChatEvent {
    return { kind: 'delta', choice: this.#choice, text, logprobs: null }
  }

  #text(value: JsonObject, name: string): string {
    const text = value[name] ?? ''
    if (typeof text === 'string') return text
    throw this.#error(`.${name}`, 'must be a string')
  }

  #arguments(value: JsonObject): string {
    const text = argumentsOf(value.arguments)
    if (text === null) throw this.#error('.arguments', 'must be a string')
    return text
  }

  #error(field: string, message: string): FormatError {
    return new FormatError(`choices[${this.#choice}].delta.tool_calls${field}`, message)
  }
}

/** Null: the server counts none. */
function indexOf(value: Json | undefined): number | null {
  if (typeof value === 'number') return value
  return typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : null
}

/** Whether nothing can follow: arguments are objects. */
function isWhole(call: Call): boolean {
  if (call.isCustom || !call.text.endsWith('}')) return false
  return isObject(parseJson(call.text) as Json | undefined)
}
