/**
 * A text that arrives in pieces and in parts, such as the blocks of an answer: each part is searched by itself, and
 * what is found over the bounds of parts, which stand there without anything between them, is found too. A second
 * search runs only from a bound on at which a match may be alive, and until that is decided.
 */
import { join, type Rule, render, type Span, spansOf } from './rules.ts'
import { type Arriving, StreamText } from './stream-text.ts'

/** More than these are looked through for those that are behind. */
const BOUNDS_MAX = 64

export class JoinedText implements Arriving {
  readonly #rules: readonly Rule[]
  /** The part that is arriving, from #ownBase on. */
  #own: StreamText
  #ownBase = 0
  /** From the part on, at #acrossBase, at whose end a match may have been alive; null: there was none. */
  #across: StreamText | null = null
  #acrossBase = 0
  /** Where parts have begun since #acrossBase. */
  #bounds: number[] = []
  #length = 0
  #taken = 0
  /** Of parts that are over, and of searches over bounds that are. */
  #spans: Span[] = []
  /** All that reach over bounds and have been taken, in order. */
  readonly #bridges: Span[] = []

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#own = new StreamText(rules)
  }

  get decided(): number {
    const own = this.#ownBase + this.#own.decided
    return this.#across === null ? own : Math.min(own, this.#acrossBase + this.#across.decided)
  }

  push(piece: string): void {
    this.#length += piece.length
    this.#own.push(piece)
    if (this.#across === null) return
    this.#across.push(piece)
    if (this.#acrossBase + this.#across.decided >= this.#bounds.at(-1)!) this.#leave()
  }

  /** What comes next is another part. */
  bound(): void {
    if (this.#length === this.#ownBase) return
    const isAlive = this.#ownBase + this.#own.decided < this.#length
    if (this.#across === null && isAlive) {
      this.#across = this.#own
      this.#acrossBase = this.#ownBase
      this.#own = this.#own.fork()
    }
    this.#own.end()
    this.#keep(this.#own.spans, this.#ownBase)
    this.#own = new StreamText(this.#rules)
    this.#ownBase = this.#length
    if (this.#across !== null) this.#bounds.push(this.#length)
  }

  end(): void {
    this.#own.end()
    if (this.#across === null) return
    this.#across.end()
    this.#leave()
  }

  take(piece: string): string {
    const at = this.#taken
    this.#taken += piece.length
    const { spans } = this.#own
    if (spans.length === 0 && this.#across === null && this.#spans.length === 0) return piece
    const over = this.#crossing()
    const all = [...this.#spans, ...moved(spans, this.#ownBase), ...over].map((span) => ({ ...span }))
    for (const span of over) if (span.end <= this.#taken) this.#bridges.push(span)
    this.#forget()
    this.#own.drop(this.#taken - this.#ownBase)
    this.#spans = this.#spans.filter(({ end }) => end > this.#taken)
    return render(piece, at, join(all))
  }

  /** A part that has been taken from `at` on, as it is said again. */
  repeat(part: string, at: number): string {
    const end = at + part.length
    const spans = moved(spansOf(part, this.#rules), at)
    for (let i = this.#firstBridge(at); i < this.#bridges.length && this.#bridges[i]!.start < end; i++) {
      spans.push({ ...this.#bridges[i]! })
    }
    for (const span of [...this.#spans, ...this.#crossing()])
      if (span.end > at && span.start < end) spans.push({ ...span })
    return spans.length === 0 ? part : render(part, at, join(spans))
  }

  #keep(spans: readonly Span[], base: number): void {
    for (const span of moved(spans, base)) if (span.end > this.#taken) this.#spans.push(span)
  }

  /** No match that began before the last bound can be alive. */
  #leave(): void {
    for (const span of this.#crossing()) {
      if (span.end > this.#taken) this.#spans.push(span)
      this.#bridges.push(span)
    }
    this.#across = null
    this.#bounds = []
  }

  /** What has been found over bounds since #acrossBase. */
  #crossing(): Span[] {
    if (this.#across === null) return []
    return moved(this.#across.spans, this.#acrossBase).filter(({ start, end }) =>
      this.#bounds.some((bound) => start < bound && bound < end)
    )
  }

  #forget(): void {
    if (this.#across === null) return
    this.#across.drop(this.#taken - this.#acrossBase)
    if (this.#bounds.length <= BOUNDS_MAX) return
    const first = this.#acrossBase + Math.min(this.#across.spans[0]?.start ?? Infinity, this.#across.decided)
    this.#bounds = this.#bounds.filter((bound, i) => bound > first || i === this.#bounds.length - 1)
  }

  /** Index of the first that ends behind `at`. */
  #firstBridge(at: number): number {
    let low = 0
    let high = this.#bridges.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#bridges[middle]!.end <= at) low = middle + 1
      else high = middle
    }
    return low
  }
}

function moved(spans: readonly Span[], by: number): Span[] {
  return spans.map(({ start, end, by: mask }) => ({ start: start + by, end: end + by, by: mask }))
}
