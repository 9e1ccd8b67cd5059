/**
 * A field that mostly has the value of the line before: method, host, endpoint, status. Checking and escaping a value
 * takes as long as all else that a line does with it, so its text is kept until another value comes.
 */
import { field, type LogFormat } from './escape.ts'

export class RepeatedField {
  readonly name: string
  readonly #format: LogFormat
  readonly #charsMax: number
  #value: string | number = ''
  #text = ''

  constructor(format: LogFormat, name: string, charsMax: number) {
    this.name = name
    this.#format = format
    this.#charsMax = charsMax
  }

  /** As `field` gives it; '' for ''. */
  text(value: string | number): string {
    if (value !== this.#value) {
      this.#value = value
      this.#text = value === '' ? '' : field(this.#format, this.name, value, this.#charsMax)
    }
    return this.#text
  }
}
