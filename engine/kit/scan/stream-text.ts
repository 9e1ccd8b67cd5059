/**
 * A text that arrives in pieces, searched as it comes. The outcome is that of a search of the whole text, as early as
 * possible: text waits only while a match that more text could begin, end or change may have begun in it (live.ts), and
 * for at most HOLD_UNITS_MAX, after which it is taken as it is.
 */
import { foldRune } from './fold.ts'
import type { Liveness, Rule } from './live.ts'
import { BEFORE_UNITS } from './numbers.ts'
import { addSpan, join, render, type Span } from './rules.ts'
import { SearchText } from './search-text.ts'

/** UTF-16 units. Longer matches of expressions without end are masked in parts, or not found, in streams. */
export const HOLD_UNITS_MAX = 4096
/** What \b and the checks of numbers look back at. */
const CONTEXT_UNITS = BEFORE_UNITS

/** What arrives in pieces: plain text, or JSON (stream-json.ts). Positions are UTF-16 units of all of it. */
export interface Arriving {
  /** Everything before is decided. */
  readonly decided: number
  push(piece: string): void
  /** No more comes: all is decided. */
  end(): void
  /** `piece` as it may go out. Pieces are asked for in order, each once it is decided. */
  take(piece: string): string
}

/** In positions of what is searched: StreamText has those of all that has arrived. */
class PendingText {
  readonly #rules: readonly Rule[]
  readonly #live: readonly Liveness[]
  /** From where each rule searches on: the end of its last match. */
  readonly #from: number[]
  /** Text from #base on. */
  #buffer = ''
  #base = 0
  #fed = 0
  decided = 0
  /** Something has been found. */
  isHit = false
  /** Matches that have not been taken yet, in order. */
  readonly spans: Span[] = []

  constructor(rules: readonly Rule[]) {
    this.#rules = rules
    this.#live = rules.map(({ live }) => live())
    this.#from = rules.map(() => 0)
  }

  push(piece: string): void {
    this.#buffer += piece
    const end = this.#base + this.#buffer.length
    while (this.#fed < end) {
      const rune = this.#buffer.codePointAt(this.#fed - this.#base)!
      const isHalf = rune >= 0xd800 && rune <= 0xdbff
      if (isHalf && this.#fed + 1 === end) break
      for (const live of this.#live) live.read(rune, this.#fed)
      this.#fed += rune > 0xffff ? 2 : 1
      if (this.#fed - this.decided > HOLD_UNITS_MAX) this.#limit()
    }
    this.#decide(this.#earliest())
    this.#trim()
  }

  end(): void {
    const end = this.#base + this.#buffer.length
    // Half a character, which has been waiting for the other half.
    if (this.#fed < end)
      for (const live of this.#live) live.read(this.#buffer.charCodeAt(this.#fed - this.#base), this.#fed)
    this.#fed = end
    for (const live of this.#live) live.reset()
    this.#decide(this.#fed)
    this.#trim()
  }

  /** Waits for no more of what it has: it is taken as it is. */
  giveUp(): void {
    for (const live of this.#live) live.reset()
    this.#decide(this.#fed)
    this.#trim()
  }

  /** The same text, to go on or to end by itself. */
  fork(): PendingText {
    const twin = new PendingText(this.#rules)
    twin.#buffer = this.#buffer
    twin.#base = this.#base
    // What is undecided is read again: only there a match may be alive.
    twin.#fed = this.decided
    twin.decided = this.decided
    for (const [i, from] of this.#from.entries()) twin.#from[i] = from
    twin.isHit = this.isHit
    for (const span of this.spans) twin.spans.push({ ...span })
    twin.push('')
    return twin
  }

  /** Forgets spans that end at `position` or before. */
  drop(position: number): void {
    let count = 0
    while (count < this.spans.length && this.spans[count]!.end <= position) count++
    if (count > 0) this.spans.splice(0, count)
  }

  #earliest(): number {
    let earliest = this.#fed
    for (const live of this.#live) earliest = Math.min(earliest, live.earliest(this.#fed))
    return earliest
  }

  /** It waits for too long. By position and not by piece: however the text is cut, the same comes out. */
  #limit(): void {
    const earliest = this.#earliest()
    if (this.#fed - earliest <= HOLD_UNITS_MAX) {
      this.#decide(earliest)
      return
    }
    for (const live of this.#live) live.reset()
    this.#decide(this.#fed, this.#buffer.slice(0, this.#fed - this.#base))
  }

  #decide(until: number, text: string = this.#buffer): void {
    if (until <= this.decided) return
    const found: Span[] = []
    const searched = new SearchText(text)
    for (let i = 0; i < this.#rules.length; i++) {
      const live = this.#live[i]!
      if (live.accepted < 0 || live.accepted >= until) continue
      live.take(until, this.#search(i, until, searched, found))
    }
    for (const span of join(found)) addSpan(this.spans, span)
    if (found.length > 0) this.isHit = true
    this.decided = until
  }

  /** Where the next match begins that is there already, at `until` or later; -1: none is known. */
  #search(i: number, until: number, text: SearchText, found: Span[]): number {
    const { find, mask } = this.#rules[i]!
    let from = Math.max(this.#from[i]!, this.decided)
    let next = -1
    for (;;) {
      const match = find(text, from - this.#base)
      if (match === null) break
      const start = this.#base + match[0]
      if (start >= until) {
        next = start
        break
      }
      from = this.#base + match[1]
      found.push({ start, end: from, by: mask })
    }
    this.#from[i] = from
    return next
  }

  #trim(): void {
    const from = this.decided - CONTEXT_UNITS
    // Not for every piece: cutting costs what is left.
    if (from - this.#base < this.#buffer.length / 2) return
    this.#buffer = this.#buffer.slice(from - this.#base)
    this.#base = from
  }
}

/** Characters that are not seen, in a row: more are not looked at, and do not count for what waits. */
const UNSEEN_MAX = 64
/** More than any number has: what waits is then taken as it is. */
const LEFT_OUT_MAX = 8 * HOLD_UNITS_MAX

const CUTS_KEPT = 64

const NON_ASCII = /[^\0-\x7f]/

/** What has been left out ahead of the unit `at` of what is searched: `total` units in all. */
interface Cut {
  readonly at: number
  total: number
}

export class StreamText implements Arriving {
  #pending: PendingText
  /** Unseen characters in a row that have come last. */
  #unseen = 0
  /** Units that have arrived, and those of them that are searched. */
  #length = 0
  #searched = 0
  /** In order; empty as a rule. */
  #cuts: Cut[] = []
  #taken = 0

  constructor(rules: readonly Rule[], pending = new PendingText(rules)) {
    this.#pending = pending
  }

  get decided(): number {
    const { decided } = this.#pending
    return decided === this.#searched ? this.#length : this.#behind(decided)
  }

  /** Something has been found. */
  get isHit(): boolean {
    return this.#pending.isHit
  }

  /** Matches that have not been taken yet, in order. */
  get spans(): readonly Span[] {
    const { spans } = this.#pending
    if (this.#cuts.length === 0) return spans
    return spans.map(({ start, end, by }) => ({ start: start + this.#leftOut(start), end: this.#behind(end), by }))
  }

  push(piece: string): void {
    this.#length += piece.length
    const seen = NON_ASCII.test(piece) ? this.#seenOf(piece) : piece
    if (seen === piece) {
      if (seen !== '' && !NON_ASCII.test(piece)) this.#unseen = 0
      this.#searched += piece.length
    }
    this.#pending.push(seen)
    if (this.#cuts.length > CUTS_KEPT) this.#forget()
    const waits = this.#pending.decided < this.#searched
    if (waits && this.#length - this.decided > LEFT_OUT_MAX) this.#pending.giveUp()
  }

  end(): void {
    this.#pending.end()
  }

  take(piece: string): string {
    const text = render(piece, this.#taken, this.spans)
    this.#taken += piece.length
    this.drop(this.#taken)
    return text
  }

  /** The same text, to go on or to end by itself. */
  fork(): StreamText {
    const twin = new StreamText([], this.#pending.fork())
    twin.#unseen = this.#unseen
    twin.#length = this.#length
    twin.#searched = this.#searched
    twin.#cuts = this.#cuts.map((cut) => ({ ...cut }))
    twin.#taken = this.#taken
    return twin
  }

  /** Forgets spans that end at `position` or before. */
  drop(position: number): void {
    if (this.#cuts.length === 0) {
      this.#pending.drop(position)
      return
    }
    const { spans } = this
    let count = 0
    while (count < spans.length && spans[count]!.end <= position) count++
    if (count > 0) this.#pending.drop(this.#pending.spans[count - 1]!.end)
  }

  /** `piece` without the unseen characters of a row that is too long; it notes where they were. */
  #seenOf(piece: string): string {
    let seen = ''
    let from = 0
    let searched = this.#searched
    const keep = (to: number): void => {
      seen += piece.slice(from, to)
      searched += to - from
    }
    for (let at = 0; at < piece.length; ) {
      const rune = piece.codePointAt(at)!
      const size = rune > 0xffff ? 2 : 1
      const isUnseen = foldRune(rune) === -1
      // Half a character says nothing yet.
      if (rune < 0xd800 || rune > 0xdfff) this.#unseen = isUnseen ? this.#unseen + 1 : 0
      if (isUnseen && this.#unseen > UNSEEN_MAX) {
        keep(at)
        from = at + size
        const last = this.#cuts.at(-1)
        if (last?.at === searched) last.total += size
        else this.#cuts.push({ at: searched, total: (last?.total ?? 0) + size })
      }
      at += size
    }
    keep(piece.length)
    if (seen.length < piece.length) this.#searched = searched
    return seen
  }

  /** Cuts ahead of all that may still be asked for, but the last of them. */
  #forget(): void {
    const { decided, spans } = this.#pending
    const first = Math.min(decided - 1, spans[0]?.start ?? decided)
    let count = 0
    while (count + 1 < this.#cuts.length && this.#cuts[count + 1]!.at <= first) count++
    this.#cuts.splice(0, count)
  }

  /** Units that have been left out ahead of unit `at`. */
  #leftOut(at: number): number {
    let i = this.#cuts.length - 1
    while (i >= 0 && this.#cuts[i]!.at > at) i--
    return i < 0 ? 0 : this.#cuts[i]!.total
  }

  /** Behind the unit ahead of `end`. */
  #behind(end: number): number {
    return end === 0 ? 0 : end + this.#leftOut(end - 1)
  }
}
