/** How many of the data of a corpus a detector finds (recall), and how much of what it finds is one (precision). */

export type Span = readonly [start: number, end: number]
/** In code points, with the name of a detector. */
export type Labelled = readonly [start: number, end: number, label: string]

export interface Case {
  readonly corpus: string
  readonly kind: string
  readonly text: string
  /** What is in it. */
  readonly spans: readonly Labelled[]
  /** What Presidio's recognisers find. */
  readonly presidio: readonly Labelled[]
}

export interface Score {
  /** How many there are. */
  wanted: number
  found: number
  /** False positives. */
  wrong: number
}

/** One detector over some texts. */
export interface Result {
  readonly detector: string
  readonly corpus: string
  readonly texts: number
  readonly weir: Score
  readonly presidio: Score
}

/** What a detector finds in a text, in UTF-16 units. */
export type Find = (text: string) => readonly Span[]

export function resultOf(detector: string, corpus: string, cases: readonly Case[], find: Find): Result {
  const result = { detector, corpus, texts: cases.length, weir: none(), presidio: none() }
  for (const one of cases) {
    const units = unitsOf(one.text)
    const own = (spans: readonly Labelled[]): Span[] =>
      spans.filter(([, , label]) => label === detector).map(([start, end]) => [units(start), units(end)])
    const wanted = own(one.spans)
    add(result.weir, wanted, find(one.text))
    add(result.presidio, wanted, own(one.presidio))
  }
  return result
}

const none = (): Score => ({ wanted: 0, found: 0, wrong: 0 })

/** A datum is found when a part of it is; what lies beside all of them is wrong. */
function add(score: Score, wanted: readonly Span[], found: readonly Span[]): void {
  const meets = (one: Span, all: readonly Span[]): boolean =>
    all.some((other) => other[0] < one[1] && one[0] < other[1])
  score.wanted += wanted.length
  score.found += wanted.filter((one) => meets(one, found)).length
  score.wrong += found.filter((one) => !meets(one, wanted)).length
}

/** Where a code point of `text` begins, in units. */
function unitsOf(text: string): (point: number) => number {
  const starts = [0]
  for (const character of text) starts.push(starts.at(-1)! + character.length)
  return (point) => starts[point]!
}

const ratio = (part: number, all: number): string => (all === 0 ? '' : (part / all).toFixed(3))

export const recall = ({ wanted, found }: Score): string => ratio(found, wanted)
export const precision = ({ found, wrong }: Score): string => ratio(found, found + wrong)
