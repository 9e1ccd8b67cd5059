/**
 * The order that ChatEvent promises (conversation.ts), held to where events come in: writers rely on it, and a provider
 * may send anything.
 */
import type { Answer, ChatEvent, Part } from '#backends/llm/conversation.ts'
import { FormatError } from '#backends/llm/formats/format.ts'

type Kind = Part['kind'] | 'none' | 'stopped'

const GROWS: ReadonlySet<Kind> = new Set<Kind>(['text', 'thinking', 'refusal', 'toolCall'])
const IS_SIGNED: ReadonlySet<Kind> = new Set<Kind>(['thinking', 'toolCall'])

type Stop = Extract<ChatEvent, { readonly kind: 'stop' }>

export class EventOrder {
  #hasStarted = false
  /** By choice: the kind of its open part. */
  readonly #open: Kind[] = []
  /** Choices with calls. */
  readonly #called: number[] = []

  /** Choices that still need a stop before `done`; all formats expect one at least. */
  get unstopped(): number[] {
    if (this.#open.length === 0) return [0]
    return [...this.#open.keys()].filter((choice) => (this.#open[choice] ?? 'stopped') !== 'stopped')
  }

  /** False: it repeats an earlier event, and has no content. Throws FormatError where it belongs nowhere. */
  admits(event: ChatEvent): boolean {
    if (event.kind === 'error') return true
    if (event.kind === 'start') {
      const isFirst = !this.#hasStarted
      this.#hasStarted = true
      return isFirst
    }
    if (!this.#hasStarted) throw new FormatError('', 'the stream goes on before it has begun')
    switch (event.kind) {
      case 'usage':
        return true
      case 'done':
        if (this.#open.some((kind) => kind !== undefined && kind !== 'none' && kind !== 'stopped'))
          throw new FormatError('', 'the stream ends within a part')
        return true
      default:
        return this.#ofChoice(event, this.#open[event.choice] ?? 'none')
    }
  }

  /** Why a choice ended, in view of its content. */
  stopped(event: Stop): Stop {
    return event.stop === 'end' && this.#called.includes(event.choice) ? { ...event, stop: 'tools' } : event
  }

  #ofChoice(event: Extract<ChatEvent, { readonly choice: number }>, open: Kind): boolean {
    const isOpen = open !== 'none' && open !== 'stopped'
    switch (event.kind) {
      case 'begin':
        if (isOpen) throw new FormatError('', 'a part begins within another')
        if (open === 'stopped') throw new FormatError('', 'a part begins after the end of its choice')
        if (event.part.kind === 'toolCall' && event.part.name === '') throw new FormatError('', 'a call has no name')
        this.#open[event.choice] = event.part.kind
        if (event.part.kind === 'toolCall') this.#called.push(event.choice)
        return true
      case 'delta':
        if (!GROWS.has(open)) throw new FormatError('', 'a piece belongs to no part')
        return true
      case 'signature':
        if (!IS_SIGNED.has(open)) throw new FormatError('', 'a signature belongs to no part')
        return true
      case 'end':
        if (!isOpen) throw new FormatError('', 'the end of a part comes without the part')
        this.#open[event.choice] = 'none'
        return true
      case 'stop':
        if (isOpen) throw new FormatError('', 'a choice ends within a part')
        this.#open[event.choice] = 'stopped'
        return open !== 'stopped'
    }
  }
}

/**
 * `answer` with the rule of EventOrder.stopped: calls are for the caller to run, whatever a provider says of why it
 * ended, or does not say. Clients that go by the reason never run them.
 */
export function withToolStops(answer: Answer): Answer {
  const isCalling = ({ stop, parts }: Answer['choices'][number]) =>
    stop === 'end' && parts.some(({ kind }) => kind === 'toolCall')
  if (!answer.choices.some(isCalling)) return answer
  return { ...answer, choices: answer.choices.map((one) => (isCalling(one) ? { ...one, stop: 'tools' } : one)) }
}
