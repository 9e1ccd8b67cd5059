/**
 * Rules over the events of a provider's stream. An event goes on when all text in it is decided
 * (engine/kit/scan/stream-text.ts), in order, with nothing changed but its text: no event is added, split or left out,
 * and what nobody knows of it stays. One that has no match in it has the very bytes that the provider sent.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { WireEvent } from '#backends/llm/format.ts'
import type { AiRegexGuard, AiRejection } from '#engine/ir/snapshot.ts'
import { maskText, type Rule, rulesOf } from '#engine/kit/scan/rules.ts'
import { maskJsonText, StreamJson } from '#engine/kit/scan/stream-json.ts'
import { type Arriving, StreamText } from '#engine/kit/scan/stream-text.ts'
import { isObject, type Slot, stripLogprobs } from '#engine/kit/scan/texts.ts'
import { eventTexts, type Piece } from './event-texts.ts'

/** UTF-16 units of events that wait for a text of another choice, before that one is taken as ended. */
const WAITING_UNITS_MAX = 1024 * 1024
/** Choices and parts of an answer that may be open at once. */
const TEXTS_MAX = 4096

interface Text {
  readonly arriving: Arriving
  /** Units pushed. */
  length: number
}

interface Waiting {
  readonly event: WireEvent
  readonly value: unknown
  readonly pieces: readonly { readonly slot: Slot; readonly text: Text; readonly end: number }[]
  isChanged: boolean
}

/** A rejection has been decided: the answer must end. */
export class Rejected extends Error {
  readonly reply: AiRejection

  constructor(reply: AiRejection) {
    super(reply.message)
    this.reply = reply
  }
}

export class StreamGuard {
  readonly #format: FormatName
  readonly #rules: readonly Rule[]
  readonly #rejects: boolean
  readonly #reply: AiRejection
  readonly #texts = new Map<string, Text>()
  #waiting: Waiting[] = []
  #waitingUnits = 0
  /** Something of the answer has been masked: log probabilities would spell it out. */
  #isMasked = false

  constructor(format: FormatName, { rules, action, reply }: AiRegexGuard) {
    this.#format = format
    this.#rules = rulesOf(rules)
    this.#rejects = action === 'reject'
    this.#reply = reply
  }

  /** What can go on now. Throws Rejected, and what is wrong with the event's JSON (RangeError). */
  push(event: WireEvent): WireEvent[] {
    const value = parsed(event.data)
    const { pieces, ends } = eventTexts(this.#format, event, value)
    this.#switch(pieces)
    let isChanged = false
    const going: Waiting['pieces'][number][] = []
    for (const { slot, key } of pieces) {
      if (key === null) isChanged = this.#whole(slot) || isChanged
      else going.push(this.#add(slot, key))
    }
    for (const prefix of ends) this.#end(prefix)
    this.#waiting.push({ event, value, pieces: going, isChanged })
    this.#waitingUnits += event.data.length
    if (this.#waitingUnits > WAITING_UNITS_MAX || this.#texts.size > TEXTS_MAX) this.#end('')
    return this.#drain()
  }

  /** No event follows. */
  end(): WireEvent[] {
    this.#end('')
    return this.#drain()
  }

  /** A text is over when another one of the same choice goes on without it. */
  #switch(pieces: readonly Piece[]): void {
    const groups = new Set<string>()
    const keys = new Set<string>()
    for (const { key } of pieces) {
      if (key === null) continue
      keys.add(key)
      groups.add(key.slice(0, key.indexOf('|') + 1))
    }
    if (groups.size === 0) return
    for (const key of [...this.#texts.keys()]) {
      if (!keys.has(key) && groups.has(key.slice(0, key.indexOf('|') + 1))) this.#endText(key)
    }
  }

  #whole(slot: Slot): boolean {
    const text = slot.isJson ? maskJsonText(slot.text, this.#rules) : maskText(slot.text, this.#rules)
    if (text === slot.text) return false
    if (this.#rejects) throw new Rejected(this.#reply)
    slot.set(text)
    return true
  }

  #add(slot: Slot, key: string): Waiting['pieces'][number] {
    let text = this.#texts.get(key)
    if (text === undefined) {
      text = { arriving: slot.isJson ? new StreamJson(this.#rules) : new StreamText(this.#rules), length: 0 }
      this.#texts.set(key, text)
    }
    text.length += slot.text.length
    text.arriving.push(slot.text)
    this.#judge(text)
    return { slot, text, end: text.length }
  }

  #judge({ arriving }: Text): void {
    if (this.#rejects && arriving.isHit) throw new Rejected(this.#reply)
  }

  #end(prefix: string): void {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.#endText(key)
  }

  #endText(key: string): void {
    const text = this.#texts.get(key)!
    this.#texts.delete(key)
    text.arriving.end()
    this.#judge(text)
  }

  #drain(): WireEvent[] {
    let count = 0
    while (count < this.#waiting.length && isDecided(this.#waiting[count]!)) count++
    const ready = this.#waiting.slice(0, count)
    if (count > 0) this.#waiting = this.#waiting.slice(count)
    return ready.map((one) => this.#release(one))
  }

  #release(one: Waiting): WireEvent {
    const { event, value, pieces } = one
    this.#waitingUnits -= event.data.length
    for (const { slot, text } of pieces) {
      const masked = text.arriving.take(slot.text)
      if (masked === slot.text) continue
      slot.set(masked)
      one.isChanged = true
    }
    this.#isMasked ||= one.isChanged
    if (!this.#isMasked || !isObject(value)) return event
    const isStripped = stripLogprobs(value)
    return one.isChanged || isStripped ? { name: event.name, data: JSON.stringify(value) } : event
  }
}

function isDecided({ pieces }: Waiting): boolean {
  return pieces.every(({ text, end }) => text.arriving.decided >= end)
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (error) {
    // "[DONE]"; what else is no JSON the format's own reader will tell.
    if (error instanceof SyntaxError) return null
    throw error
  }
}

/** Several guards, each over what the one before has let go. */
export class StreamGuards {
  readonly #guards: readonly StreamGuard[]

  constructor(guards: readonly StreamGuard[]) {
    this.#guards = guards
  }

  /** Throws as StreamGuard.push. */
  push(event: WireEvent): readonly WireEvent[] {
    return this.#through([event], 0)
  }

  end(): readonly WireEvent[] {
    const last: WireEvent[] = []
    for (const [i, guard] of this.#guards.entries()) last.push(...this.#through(guard.end(), i + 1))
    return last
  }

  #through(events: readonly WireEvent[], from: number): readonly WireEvent[] {
    let some = events
    for (const guard of this.#guards.slice(from)) some = some.flatMap((event) => guard.push(event))
    return some
  }
}
