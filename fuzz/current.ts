/** What the attacked thread and the watching one tell each other. */
import { INPUT_BYTES_MAX } from './mutate.ts'

export interface Job {
  /** File of the target. */
  readonly file: string
  readonly corpus: string
  readonly seed: number
  readonly seconds: number
  /** Int32 number of runs begun, Int32 length, then the input. */
  readonly shared: SharedArrayBuffer
}

export type Report =
  | { readonly kind: 'done' | 'slow'; readonly runs: number }
  | { readonly kind: 'crash'; readonly runs: number; readonly error: string }

const HEADER_BYTES = 8
export const SHARED_BYTES = HEADER_BYTES + INPUT_BYTES_MAX

/** The input of the run that is under way. `counter`: compare two to see whether a run ended between. */
export class CurrentInput {
  readonly #numbers: Int32Array
  readonly #bytes: Buffer

  // Plain reads and writes are enough: the watcher reads only after a second without any write.
  constructor(shared: SharedArrayBuffer) {
    this.#numbers = new Int32Array(shared, 0, 2)
    this.#bytes = Buffer.from(shared, HEADER_BYTES)
  }

  get counter(): number {
    return this.#numbers[0]!
  }

  write(data: Buffer): void {
    data.copy(this.#bytes)
    this.#numbers[1] = data.length
    this.#numbers[0]!++
  }

  read(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#numbers[1]))
  }
}
