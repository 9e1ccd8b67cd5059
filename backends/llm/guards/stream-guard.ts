/**
 * Rules over the events of a provider's stream. An event goes on when all text in it is decided
 * (engine/kit/scan/stream-text.ts), in order, with nothing changed but its text: no event is added, split or left out,
 * and its unknown members stay. One that has no match in it has the very bytes that the provider sent.
 */

import type { AiRegexGuard } from '#backends/llm/config/snapshot.ts'
import type { FormatName } from '#backends/llm/conversation.ts'
import type { WireEvent } from '#backends/llm/formats/format.ts'
import type { Kind, Piece } from '#backends/llm/formats/guarded-texts.ts'
import { parseJson } from '#engine/kit/json.ts'
import { JoinedText } from '#engine/kit/scan/joined-text.ts'
import type { Rule } from '#engine/kit/scan/live.ts'
import { rulesOf } from '#engine/kit/scan/rules.ts'
import { maskSlots } from '#engine/kit/scan/search.ts'
import { StreamJson } from '#engine/kit/scan/stream-json.ts'
import { type Arriving, HOLD_UNITS_MAX, StreamText } from '#engine/kit/scan/stream-text.ts'
import { isObject, type Slot, stripLogprobs } from '#engine/kit/scan/texts.ts'
import { eventTexts } from './event-texts.ts'

/** UTF-16 units of events that wait for a text of another choice, before that one is taken as ended. */
const WAITING_UNITS_MAX = 1024 * 1024
/** Units that are looked through in one turn: 2 ms, with all builtins. */
const STEP_UNITS = 4096
/** Choices and parts of an answer that may be open at once. */
const TEXTS_MAX = 4096

interface Text {
  readonly arriving: Arriving
  /** Units pushed. */
  length: number
}

/** A text of several parts. */
interface Joined extends Text {
  readonly arriving: JoinedText
  readonly kind: Kind
  readonly choice: string
  /** Key of the part that is arriving, or has arrived last. */
  part: string
  /** Units of other texts of the same choice since. */
  idle: number
}

/** Where a part is in its text, so that a repetition is recognized. */
interface Part {
  readonly text: Joined
  readonly start: number
  end: number
}

interface WaitingPiece {
  readonly slot: Slot
  readonly text: Text
  readonly end: number
  /** The part that is repeated; null: it is new. */
  readonly repeated: Part | null
}

/** An event of which the texts are being looked through. */
interface Reading {
  readonly event: WireEvent
  readonly value: unknown
  readonly pieces: readonly Piece[]
  readonly ends: readonly string[]
  readonly whole: Slot[]
  readonly going: WaitingPiece[]
}

interface Waiting {
  readonly event: WireEvent
  readonly value: unknown
  readonly pieces: readonly WaitingPiece[]
  isChanged: boolean
}

export class StreamGuard {
  readonly #format: FormatName
  readonly #rules: readonly Rule[]
  /** Texts that stand alone. */
  readonly #texts = new Map<string, Text>()
  readonly #runs = new Map<string, Joined>()
  readonly #parts = new Map<string, Part>()
  #waiting: Waiting[] = []
  #waitingUnits = 0
  /** Something of the answer has been masked: log probabilities would spell it out. */
  hasMasked = false

  constructor(format: FormatName, { rules }: AiRegexGuard) {
    this.#format = format
    this.#rules = rulesOf(rules)
  }

  /** What can go on now. Throws what is wrong with the event's JSON (FormatError, RangeError). */
  push(event: WireEvent): WireEvent[] {
    const reading = this.#read(event)
    for (const piece of reading.pieces) this.#add(piece, reading)?.push(piece.slot.text)
    return this.#take(reading)
  }

  /** As push, of a long event: yields wherever others may have a turn. */
  *steps(event: WireEvent): Generator<undefined, WireEvent[]> {
    const reading = this.#read(event)
    yield
    for (const piece of reading.pieces) {
      const arriving = this.#add(piece, reading)
      if (arriving === null) continue
      const { text } = piece.slot
      for (let at = 0; at < text.length; at += STEP_UNITS) {
        arriving.push(text.slice(at, at + STEP_UNITS))
        yield
      }
    }
    return this.#take(reading)
  }

  #read(event: WireEvent): Reading {
    const value = parseJson(event.data)
    const { pieces, ends } = eventTexts(this.#format, event, value)
    this.#switch(pieces)
    return { event, value, pieces, ends, whole: [], going: [] }
  }

  #take({ event, value, ends, whole, going }: Reading): WireEvent[] {
    const isChanged = whole.length > 0 && maskSlots(whole, this.#rules)
    for (const prefix of ends) this.#end(prefix)
    this.#waiting.push({ event, value, pieces: going, isChanged })
    this.#waitingUnits += event.data.length
    const open = this.#texts.size + this.#runs.size + this.#parts.size
    if (this.#waitingUnits > WAITING_UNITS_MAX || open > TEXTS_MAX) this.#end('')
    return this.#drain()
  }

  /** No event follows. */
  end(): WireEvent[] {
    this.#end('')
    return this.#drain()
  }

  /** What a text that does not go on, while another one of the same choice does, waits for. */
  #switch(pieces: readonly Piece[]): void {
    const groups = new Set<string>()
    const keys = new Set<string>()
    const runs = new Set<string>()
    const choices = new Set<string>()
    let units = 0
    for (const { key, kind, choice, slot, isRepeated } of pieces) {
      if (isRepeated) continue
      choices.add(choice)
      units += slot.text.length
      if (key === null) continue
      keys.add(key)
      groups.add(groupOf(key))
      if (kind !== null) runs.add(choice + kind)
    }
    if (groups.size > 0) {
      for (const key of [...this.#texts.keys()]) {
        if (!keys.has(key) && groups.has(groupOf(key))) this.#endText(key)
      }
    }
    for (const [name, { choice }] of [...this.#runs]) {
      if (!runs.has(name) && choices.has(choice)) this.#pause(name, runs.has(`${choice}text`), units)
    }
  }

  /** A thought is over when it is spoken about; a text is joined with what comes behind a thought or a call. */
  #pause(name: string, isSpoken: boolean, units: number): void {
    const text = this.#runs.get(name)!
    text.arriving.bound()
    text.idle += units
    if ((text.kind === 'thought' && isSpoken) || text.idle > HOLD_UNITS_MAX) this.#endRun(name)
  }

  /** What its text has to be pushed to; null: it is whole, or a repetition. */
  #add({ slot, key, kind, choice, isRepeated }: Piece, { whole, going }: Reading): Arriving | null {
    const part = isRepeated && key !== null ? this.#parts.get(key) : undefined
    if (part !== undefined && slot.text.length === part.end - part.start) {
      going.push({ slot, text: part.text, end: part.end, repeated: part })
      return null
    }
    // Also a repetition of an unknown part.
    if (key === null || isRepeated) {
      whole.push(slot)
      return null
    }
    const text = kind === null ? this.#textOf(slot, key) : this.#joinedOf(kind, choice, key)
    text.length += slot.text.length
    const own = this.#parts.get(key)
    if (own !== undefined) own.end = text.length
    going.push({ slot, text, end: text.length, repeated: null })
    return text.arriving
  }

  #textOf({ isJson }: Slot, key: string): Text {
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = { arriving: isJson ? new StreamJson(this.#rules) : new StreamText(this.#rules), length: 0 }
    this.#texts.set(key, text)
    return text
  }

  #joinedOf(kind: Kind, choice: string, key: string): Joined {
    const name = choice + kind
    let text = this.#runs.get(name)
    if (text === undefined) {
      text = { arriving: new JoinedText(this.#rules), length: 0, kind, choice, part: '', idle: 0 }
      this.#runs.set(name, text)
    }
    if (text.part !== key) {
      text.arriving.bound()
      text.part = key
      if (this.#format === 'responses') this.#parts.set(key, { text, start: text.length, end: text.length })
    }
    text.idle = 0
    return text
  }

  #end(prefix: string): void {
    for (const key of [...this.#texts.keys()]) if (key.startsWith(prefix)) this.#endText(key)
    for (const [name, { choice }] of [...this.#runs]) {
      if (prefix === '' || choice === prefix) this.#endRun(name)
    }
    if (prefix === '') this.#parts.clear()
  }

  #endText(key: string): void {
    const text = this.#texts.get(key)!
    this.#texts.delete(key)
    text.arriving.end()
  }

  #endRun(name: string): void {
    const text = this.#runs.get(name)!
    this.#runs.delete(name)
    text.arriving.end()
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
    for (const { slot, text, repeated } of pieces) {
      const masked =
        repeated === null ? text.arriving.take(slot.text) : repeated.text.arriving.repeat(slot.text, repeated.start)
      if (masked === slot.text) continue
      slot.set(masked)
      one.isChanged = true
    }
    this.hasMasked ||= one.isChanged
    if (!this.hasMasked || !isObject(value)) return event
    const isStripped = stripLogprobs(value)
    return one.isChanged || isStripped ? { name: event.name, data: JSON.stringify(value) } : event
  }
}

function groupOf(key: string): string {
  return key.slice(0, key.indexOf('|') + 1)
}

function isDecided({ pieces }: Waiting): boolean {
  return pieces.every(({ text, end }) => text.arriving.decided >= end)
}

/** To look through it takes more than one turn. */
export const isLong = ({ data }: WireEvent): boolean => data.length > 2 * STEP_UNITS

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

  /** As push, of a long event: yields wherever others may have a turn. */
  *steps(event: WireEvent): Generator<undefined, readonly WireEvent[]> {
    let some: readonly WireEvent[] = [event]
    for (const guard of this.#guards) {
      const next: WireEvent[] = []
      for (const one of some) {
        yield
        next.push(...(isLong(one) ? yield* guard.steps(one) : guard.push(one)))
      }
      some = next
    }
    return some
  }

  /** Indices of those that have masked something. */
  get maskedBy(): readonly number[] {
    return this.#guards.flatMap((guard, i) => (guard.hasMasked ? [i] : []))
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
