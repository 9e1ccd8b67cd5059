/** What writers of streams share: a method for each kind of event, and the fields that are written at the end. */
import type { ChatError, ChatEvent, Part, Signature, Usage } from '#backends/llm/conversation.ts'
import { type AnswerContext, Losses, type StreamWriter } from './format.ts'

export type EventOf<K extends ChatEvent['kind']> = Extract<ChatEvent, { readonly kind: K }>

export abstract class EventWriter implements StreamWriter {
  protected readonly context: AnswerContext
  protected readonly losses: Losses
  protected usage: Usage | null = null
  protected serviceTier: string | null = null
  /** How many choices a stream of the format can have: of more, the first is written. */
  readonly #choicesMax: number
  #isOver = false

  constructor(context: AnswerContext, losses: Losses = new Losses(), choicesMax: number = Number.POSITIVE_INFINITY) {
    this.context = context
    this.losses = losses
    this.#choicesMax = choicesMax
  }

  write(event: ChatEvent): string {
    if (this.#isOver) return ''
    const { choice = 0 } = event as { readonly choice?: number }
    if (choice >= this.#choicesMax) {
      this.losses.add(`choices[${choice}]`)
      return ''
    }
    switch (event.kind) {
      case 'delta':
        return this.delta(event, choice)
      case 'start':
        this.usage = event.usage
        return this.start(event)
      case 'begin':
        return this.begin(event.part, choice)
      case 'signature':
        return this.sign(event.signature, choice)
      case 'end':
        return this.end(choice)
      case 'stop':
        return this.stop(event, choice)
      case 'usage':
        this.usage = event.usage
        this.serviceTier = event.serviceTier ?? this.serviceTier
        return this.used(event.usage)
      case 'error':
        this.#isOver = true
        return this.error(event.error)
      case 'done':
        this.#isOver = true
        return this.done()
    }
  }

  /** The usage so far; it is written with the end. */
  protected used(_usage: Usage): string {
    return ''
  }

  protected abstract start(event: EventOf<'start'>): string
  protected abstract begin(part: Part, choice: number): string
  protected abstract delta(event: EventOf<'delta'>, choice: number): string
  protected abstract sign(signature: Signature, choice: number): string
  protected abstract end(choice: number): string
  protected abstract stop(event: EventOf<'stop'>, choice: number): string
  protected abstract error(error: ChatError): string
  protected abstract done(): string
}
