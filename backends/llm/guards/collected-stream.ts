/**
 * Guards over a stream that has been kept whole, where one of them is a service: it judges an answer and not pieces of
 * it. The events go on as they came; a text that the service has rewritten stands in the first of its events.
 */

import type { AiRegexGuard } from '#backends/llm/config/snapshot.ts'
import type { FormatName } from '#backends/llm/conversation.ts'
import type { WireEvent } from '#backends/llm/formats/format.ts'
import type { Piece } from '#backends/llm/formats/guarded-texts.ts'
import { LINE_ENDS } from '#backends/llm/stream/framing.ts'
import { parseJson } from '#engine/kit/json.ts'
import { isObject, stripLogprobs } from '#engine/kit/scan/texts.ts'
import { eventTexts } from './event-texts.ts'
import type { Framing } from './guard-tap.ts'
import { GuardUnavailable } from './service-call.ts'
import { StreamGuard } from './stream-guard.ts'

/** Throws FormatError or SseTooLong. */
export function eventsOf(bytes: Buffer, framing: Framing): WireEvent[] {
  const events: WireEvent[] = []
  framing.push(bytes, 0, bytes.length, events)
  // The last may lack its empty line.
  framing.push(LINE_ENDS, 0, LINE_ENDS.length, events)
  return events
}

/** Gemini without alt=sse: the events of a stream are the items of a list. Throws SyntaxError. */
export function itemsOf(bytes: Buffer): WireEvent[] {
  const items = JSON.parse(bytes.toString()) as readonly unknown[]
  return items.map((item) => ({ name: '', data: JSON.stringify(item) }))
}

/** What `guards` leave, one after the other. Throws as StreamGuard.push. */
export function searched(
  format: FormatName,
  incoming: readonly WireEvent[],
  guards: readonly AiRegexGuard[]
): { readonly events: readonly WireEvent[]; readonly by: readonly number[] } {
  let events = incoming
  const by: number[] = []
  for (const [i, guard] of guards.entries()) {
    const stream = new StreamGuard(format, guard)
    events = [...events.flatMap((event) => stream.push(event)), ...stream.end()]
    if (stream.hasMasked) by.push(i)
  }
  return { events, by }
}

/** The texts of a stream, each once: some formats say them again when they are complete. */
export class CollectedTexts {
  readonly #events: readonly { readonly event: WireEvent; readonly value: unknown; readonly pieces: readonly Piece[] }[]
  /** Of the parts that come in pieces, by their keys. */
  readonly #joined = new Map<string, string>()
  readonly texts: readonly string[]

  constructor(format: FormatName, events: readonly WireEvent[]) {
    this.#events = events.map((event) => {
      const value = parseJson(event.data)
      return { event, value, pieces: eventTexts(format, event, value).pieces }
    })
    const whole = new Set<string>()
    for (const { pieces } of this.#events) for (const piece of pieces) this.#add(piece, whole)
    for (const text of this.#joined.values()) whole.add(text)
    this.texts = [...whole].filter((text) => text !== '' && text !== '{}')
  }

  #add(piece: Piece, whole: Set<string>): void {
    const { slot } = piece
    const key = keyOf(piece)
    if (key === null) whole.add(slot.text)
    else this.#joined.set(key, (this.#joined.get(key) ?? '') + slot.text)
  }

  /** `texts`: one for each of `this.texts`. Throws GuardUnavailable when arguments are no JSON any more. */
  replaced(texts: readonly string[]): WireEvent[] {
    const by = new Map(this.texts.map((text, i) => [text, texts[i]!]))
    // Once for each part, and not for each of its pieces: they are as many as the answer is long.
    const parts = new Map<string, Replaced>()
    for (const [key, old] of this.#joined) parts.set(key, replacedBy(by, old))
    const written = new Set<string>()
    let isMasked = false
    return this.#events.map(({ event, value, pieces }) => {
      let isChanged = false
      for (const piece of pieces) {
        const { slot } = piece
        const key = keyOf(piece)
        const { text, isSame } = key === null ? replacedBy(by, slot.text) : parts.get(key)!
        if (isSame) continue
        const isFirst = key === null || !written.has(key)
        if (isFirst && slot.isJson && (parseJson(text) ?? null) === null)
          throw new GuardUnavailable('the guard answers with arguments that are no JSON')
        slot.set(isFirst ? text : '')
        if (key !== null) written.add(key)
        isChanged = true
      }
      isMasked ||= isChanged
      if (isMasked && isObject(value) && stripLogprobs(value)) isChanged = true
      return isChanged ? { name: event.name, data: JSON.stringify(value) } : event
    })
  }
}

interface Replaced {
  readonly text: string
  readonly isSame: boolean
}

function replacedBy(texts: ReadonlyMap<string, string>, old: string): Replaced {
  const text = texts.get(old) ?? old
  return { text, isSame: text === old }
}

/** A repeated text is one of its own here: it equals the first, and services get it once. */
function keyOf({ key, isRepeated }: Piece): string | null {
  return isRepeated ? null : key
}
