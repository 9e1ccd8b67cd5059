/**
 * A text that arrives in pieces and in parts, such as the blocks of an answer: each part is searched by itself, and so
 * are matches across the bounds of parts. That second search runs only from a bound at which a match may be alive,
 * until it is decided.
 */
import type { Rule } from './live.ts'
import { join, render, type Span, spansOf } from './rules.ts'
import { type Arriving, StreamText } from './stream-text.ts'

/** So many that are behind may stay in their lists. */
const BOUNDS_KEPT = 64
const SPANS_KEPT = 64

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
  #boundsMax = BOUNDS_KEPT
  #length = 0
  #taken = 0
  /** Of parts that are over, and of searches over bounds that are. */
  #spans: Span[] = []
  /** Index of the first of them that has not been taken whole. */
  #first = 0
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
    const end = at + piece.length
    this.#taken = end
    const spans: Span[] = []
    gather(this.#own.spans, this.#ownBase, end, spans)
    gather(this.#spans, 0, end, spans, this.#first)
    this.#gatherCrossing(end, spans, this.#bridges)
    while (this.#first < this.#spans.length && this.#spans[this.#first]!.end <= end) this.#first++
    if (this.#first > SPANS_KEPT && this.#first * 2 > this.#spans.length) {
      this.#spans = this.#spans.slice(this.#first)
      this.#first = 0
    }
    this.#own.drop(end - this.#ownBase)
    this.#forget()
    return spans.length === 0 ? piece : render(piece, at, join(spans))
  }

  /** A part that has been taken from `at` on, as it is written again. */
  repeat(part: string, at: number): string {
    const end = at + part.length
    const spans = moved(spansOf(part, this.#rules), at)
    for (let i = this.#firstBridge(at); i < this.#bridges.length && this.#bridges[i]!.start < end; i++) {
      spans.push({ ...this.#bridges[i]! })
    }
    gather(this.#spans, 0, end, spans, this.#first)
    this.#gatherCrossing(end, spans)
    return spans.length === 0 ? part : render(part, at, join(spans))
  }

  #keep(spans: readonly Span[], base: number): void {
    for (const span of moved(spans, base)) if (span.end > this.#taken) this.#spans.push(span)
  }

  /** No match that began before the last bound can be alive. */
  #leave(): void {
    const over: Span[] = []
    this.#gatherCrossing(Number.POSITIVE_INFINITY, over)
    this.#across = null
    this.#bounds = []
    if (over.length === 0) return
    for (const span of over) this.#bridges.push(span)
    // As one where they overlap: a long one would keep all that are in it.
    this.#spans = join([...this.#spans.slice(this.#first), ...over.map((span) => ({ ...span }))])
    this.#first = 0
  }

  /** What has been found over bounds and begins before `end`; to `taken` goes what is taken whole by then. */
  #gatherCrossing(end: number, into: Span[], taken: Span[] | null = null): void {
    if (this.#across === null) return
    const found: Span[] = []
    gather(this.#across.spans, this.#acrossBase, end, found)
    for (const span of found) {
      const bound = this.#bounds[this.#boundBehind(span.start)]
      if (bound === undefined || bound >= span.end) continue
      into.push(span)
      if (span.end <= end) taken?.push({ ...span })
    }
  }

  /** Index of the first bound behind `at`. */
  #boundBehind(at: number): number {
    return firstIndex(this.#bounds, (bound) => bound > at)
  }

  #forget(): void {
    if (this.#across === null) return
    this.#across.drop(this.#taken - this.#acrossBase)
    if (this.#bounds.length <= this.#boundsMax) return
    const first = this.#acrossBase + Math.min(this.#across.spans[0]?.start ?? Infinity, this.#across.decided)
    this.#bounds = this.#bounds.slice(Math.min(this.#boundBehind(first), this.#bounds.length - 1))
    // Not for every piece: cutting costs what is left.
    this.#boundsMax = Math.max(BOUNDS_KEPT, 2 * this.#bounds.length)
  }

  #firstBridge(at: number): number {
    return firstIndex(this.#bridges, ({ end }) => end > at)
  }
}

/** The index from which on `holds`, by halves. */
function firstIndex<T>(list: readonly T[], holds: (one: T) => boolean): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(list[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

/** Copies those that begin before `end`, moved by `base`. */
function gather(spans: readonly Span[], base: number, end: number, into: Span[], from = 0): void {
  for (let i = from; i < spans.length && base + spans[i]!.start < end; i++) {
    const { start, end: last, by } = spans[i]!
    into.push({ start: base + start, end: base + last, by })
  }
}

function moved(spans: readonly Span[], by: number): Span[] {
  return spans.map(({ start, end, by: mask }) => ({ start: start + by, end: end + by, by: mask }))
}
