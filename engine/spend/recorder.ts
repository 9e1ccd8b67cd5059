/**
 * The spend log in a worker: rows are gathered and leave in batches, behind the exchanges that they tell of. What waits
 * is bounded: while the thread that keeps them is behind, rows beyond the bound are counted and left out.
 */
import { contentChars, type Row, withoutContent } from './record.ts'

/** Rows of one batch: some 200 KB of JSON, which takes 1 ms to write. */
const BATCH_ROWS_MAX = 512
/** How long the first of them waits for others. */
const DELAY_MS = 250
/** Batches that have left and are not kept yet. */
const UNDERWAY_MAX = 4
/** Rows that wait behind those: with them some 3 MB. */
const WAITING_ROWS_MAX = 4096
/** Characters of prompts and answers in one batch, and of all that wait: what comes then is recorded without. */
const BATCH_CHARS_MAX = 1024 * 1024
const WAITING_CHARS_MAX = 8 * 1024 * 1024

export interface Batch {
  readonly count: number
  /** JSON: a list of rows. */
  readonly rows: string
}

export interface SpendRecorderOptions {
  /** Hands a batch over; `taken` is called for each, in order. */
  readonly post: (batch: Batch) => void
  /** Rows that were kept, or why they were not. */
  readonly count: (result: 'kept' | 'no_room' | 'not_written', rows: number) => void
}

export class SpendRecorder {
  readonly #options: SpendRecorderOptions
  #waiting: Row[] = []
  #waitingChars = 0
  #underway = 0
  #timer: NodeJS.Timeout | null = null

  constructor(options: SpendRecorderOptions) {
    this.#options = options
  }

  add(row: Row): void {
    if (this.#waiting.length >= WAITING_ROWS_MAX) {
      this.#options.count('no_room', 1)
      return
    }
    const hasRoom = this.#waitingChars + contentChars(row) <= WAITING_CHARS_MAX
    const kept = hasRoom ? row : withoutContent(row)
    this.#waiting.push(kept)
    this.#waitingChars += contentChars(kept)
    if (this.#waiting.length >= BATCH_ROWS_MAX || this.#waitingChars >= BATCH_CHARS_MAX) this.#send()
    else this.#timer ??= setTimeout(() => this.#send(), DELAY_MS).unref()
  }

  /** The oldest batch under way has been dealt with; `kept`: the rows of it that are in the file. */
  taken({ count, kept }: { readonly count: number; readonly kept: number }): void {
    // Those of a worker that has died are told to its successor.
    this.#underway = Math.max(this.#underway - 1, 0)
    if (kept > 0) this.#options.count('kept', kept)
    if (kept < count) this.#options.count('not_written', count - kept)
    if (this.#waiting.length > 0) this.#send()
  }

  /** The worker ends: everything leaves, whatever is under way. */
  close(): void {
    while (this.#waiting.length > 0) this.#post()
    if (this.#timer !== null) clearTimeout(this.#timer)
  }

  #send(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    while (this.#waiting.length > 0 && this.#underway < UNDERWAY_MAX) this.#post()
  }

  /** One at least. */
  #batchRows(): number {
    if (this.#waitingChars === 0) return BATCH_ROWS_MAX
    let rows = 0
    let chars = 0
    while (rows < BATCH_ROWS_MAX && rows < this.#waiting.length && chars < BATCH_CHARS_MAX) {
      chars += contentChars(this.#waiting[rows++]!)
    }
    this.#waitingChars = Math.max(this.#waitingChars - chars, 0)
    return rows
  }

  #post(): void {
    const rows = this.#waiting.splice(0, this.#batchRows())
    this.#underway++
    this.#options.post({ count: rows.length, rows: JSON.stringify(rows) })
  }
}
