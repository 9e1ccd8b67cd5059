/**
 * Guards over a stream that has been kept whole, where one of them is a service: it judges an answer and not pieces of
 * it. The events go on as they came; a text that the service has rewritten stands in the first of its events.
 */
import type { FormatName } from '#backends/llm/conversation.ts'
import type { WireEvent } from '#backends/llm/format.ts'
import { LINE_ENDS } from '#backends/llm/stream.ts'
import type { AiGuard, AiRejection } from '#engine/ir/snapshot.ts'
import { isObject, stripLogprobs } from '#engine/kit/scan/texts.ts'
import { eventTexts, type Piece } from './event-texts.ts'
import { type Call, GuardDown } from './remote.ts'
import { StreamGuard } from './stream-guard.ts'
import type { Framing } from './tap.ts'
import { judge } from './whole.ts'

export type HeldOutcome = { readonly events: readonly WireEvent[] } | { readonly reply: AiRejection } | 'down'

export function eventsOf(bytes: Buffer, framing: Framing): WireEvent[] {
  const events: WireEvent[] = []
  framing.push(bytes, 0, bytes.length, events)
  // The last may lack its empty line.
  framing.push(LINE_ENDS, 0, LINE_ENDS.length, events)
  return events
}

/** Rejects with RangeError when an event is nested too deeply. */
export async function guardHeld(
  guards: readonly AiGuard[],
  format: FormatName,
  given: readonly WireEvent[],
  call: Call
): Promise<HeldOutcome> {
  let events = given
  for (const guard of guards) {
    if (guard.kind === 'regex') {
      const stream = new StreamGuard(format, guard)
      events = [...events.flatMap((event) => stream.push(event)), ...stream.end()]
    } else {
      // The client may have gone while another service was asked.
      if (call.signal.aborted) return { events: [] }
      const told = new Told(format, events)
      if (told.texts.length === 0) continue
      try {
        const messages = told.texts.map((content) => ({ role: 'assistant', content }))
        const said = await judge(guard, 'response', messages, call)
        if (said.kind === 'reject') return { reply: said.reply }
        if (said.kind === 'replace') events = told.replaced(said.texts)
      } catch (error) {
        if (!(error instanceof GuardDown)) throw error
        if (!guard.failOpen) return 'down'
      }
    }
  }
  return { events }
}

/** The texts of a stream, each once: some formats say them again when they are complete. */
class Told {
  readonly #events: readonly { readonly event: WireEvent; readonly value: unknown; readonly pieces: readonly Piece[] }[]
  readonly #joined = new Map<string, string[]>()
  readonly #json = new Set<string>()
  readonly texts: readonly string[]

  constructor(format: FormatName, events: readonly WireEvent[]) {
    this.#events = events.map((event) => {
      const value = parsed(event.data)
      return { event, value, pieces: eventTexts(format, event, value).pieces }
    })
    const whole = new Set<string>()
    for (const { pieces } of this.#events) for (const piece of pieces) this.#tell(piece, whole)
    for (const pieces of this.#joined.values()) whole.add(pieces.join(''))
    this.texts = [...whole].filter((text) => text !== '' && text !== '{}')
  }

  #tell(piece: Piece, whole: Set<string>): void {
    const { slot } = piece
    const key = keyOf(piece)
    if (key === null) {
      whole.add(slot.text)
      if (slot.isJson) this.#json.add(slot.text)
      return
    }
    const known = this.#joined.get(key)
    if (known === undefined) this.#joined.set(key, [slot.text])
    else known.push(slot.text)
    if (slot.isJson) this.#json.add(key)
  }

  /** Throws GuardDown when `texts` are not one for each that was told. */
  replaced(texts: readonly string[]): WireEvent[] {
    if (texts.length !== this.texts.length) throw new GuardDown('the guard answers with more or fewer texts')
    const by = new Map(this.texts.map((text, i) => [text, texts[i]!]))
    const said = new Set<string>()
    let isMasked = false
    return this.#events.map(({ event, value, pieces }) => {
      let isChanged = false
      for (const piece of pieces) {
        const { slot } = piece
        const key = keyOf(piece)
        const old = key === null ? slot.text : this.#joined.get(key)!.join('')
        const text = by.get(old) ?? old
        if (text === old) continue
        if (slot.isJson && parsed(text) === null)
          throw new GuardDown('the guard answers with arguments that are no JSON')
        slot.set(key === null || !said.has(key) ? text : '')
        if (key !== null) said.add(key)
        isChanged = true
      }
      isMasked ||= isChanged
      if (isMasked && isObject(value) && stripLogprobs(value)) isChanged = true
      return isChanged ? { name: event.name, data: JSON.stringify(value) } : event
    })
  }
}

/** What is said again is a text of its own here: it is the same, and told once. */
function keyOf({ key, isRepeated }: Piece): string | null {
  return isRepeated ? null : key
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (error) {
    if (error instanceof SyntaxError) return null
    throw error
  }
}
