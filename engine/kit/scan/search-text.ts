/** A text that several rules search: what they need of it besides is made once. */
import { type Numbers, numbersIn } from './numbers.ts'

export class SearchText {
  readonly text: string
  /** Undefined: not asked for yet. */
  #numbers: Numbers | null | undefined

  constructor(text: string) {
    this.text = text
  }

  /** Null: there is no digit in it. */
  get numbers(): Numbers | null {
    if (this.#numbers === undefined) this.#numbers = numbersIn(this.text)
    return this.#numbers
  }
}
