/** What a streamed answer has said so far, as far as another provider could go on with it (docs/routing.md). */
import type { ChatEvent } from '#backends/llm/conversation.ts'

type StartEvent = Extract<ChatEvent, { readonly kind: 'start' }>

/** Of an answer that is kept for this; a longer one is not gone on with. */
const CHARS_MAX = 256 * 1024

export interface SpokenPart {
  readonly kind: 'text' | 'thinking'
  text: string
}

export class AnswerSoFar {
  start: StartEvent | null = null
  readonly parts: SpokenPart[] = []
  /** The last part has not ended. */
  isOpen = false
  /** The reason to stop has come: nothing is missing but the end. */
  hasStopped = false
  /** Pieces of text that have come: about as many tokens. */
  pieceCount = 0
  #chars = 0
  #isOver = false
  /** It has what no other provider can go on with. */
  #isBlocked = false

  note(event: ChatEvent): void {
    if ('choice' in event && event.choice !== 0) this.#isBlocked = true
    switch (event.kind) {
      case 'start':
        this.start ??= event
        break
      case 'begin': {
        const { kind } = event.part
        this.isOpen = true
        if (kind === 'text' || kind === 'thinking') this.parts.push({ kind, text: event.part.text })
        else this.#isBlocked = true
        break
      }
      case 'delta':
        this.#add(event.text)
        break
      case 'end':
        this.isOpen = false
        break
      case 'stop':
        this.hasStopped = true
        break
      case 'error':
      case 'done':
        this.#isOver = true
        break
    }
  }

  /** An event could not be read: what it has said is not known. */
  lose(): void {
    this.#isBlocked = true
  }

  #add(text: string): void {
    this.pieceCount++
    this.#chars += text.length
    const last = this.parts.at(-1)
    if (last === undefined || this.#chars > CHARS_MAX) this.#isBlocked = true
    else last.text += text
  }

  /** Whether somebody else may say the rest: thoughts are a provider's own, and nobody else ends them. */
  get isContinuable(): boolean {
    if (this.#isBlocked || this.#isOver || this.start === null) return false
    return !(this.isOpen && this.parts.at(-1)?.kind === 'thinking')
  }

  get text(): string {
    return this.parts.map(({ kind, text }) => (kind === 'text' ? text : '')).join('')
  }

  get hasThoughts(): boolean {
    return this.parts.some(({ kind }) => kind === 'thinking')
  }
}
