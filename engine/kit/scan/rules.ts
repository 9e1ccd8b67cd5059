/** What is searched for in texts, and what stands in its place when it is masked. */
import { Lru } from '#engine/kit/lru.ts'
import { searchOf } from '#engine/kit/pattern.ts'
import { BUILTINS, type Builtin } from './builtins.ts'
import { Live, type Rule, Shape } from './live.ts'
import { SearchText } from './search-text.ts'

/** As plain data: it travels to other threads. */
export interface RuleSet {
  readonly builtins: readonly Builtin[]
  /** Expressions in RE2 syntax. */
  readonly patterns: readonly string[]
}

export interface Span {
  readonly start: number
  end: number
  readonly by: string
}

const known = new Lru<string, Rule>(512)

function ruleOf(source: string): Rule {
  const before = known.get(source)
  if (before !== undefined) return before
  const { find, machine } = searchOf(source)
  let shape: Shape | null = null
  const rule: Rule = {
    // A match of nothing masks nothing.
    find: ({ text }, from) => {
      for (let at = from; at <= text.length; ) {
        const found = find(text, at)
        if (found === null || found[1] > found[0]) return found
        at = found[0] + (text.codePointAt(found[0])! > 0xffff ? 2 : 1)
      }
      return null
    },
    live: () => {
      shape ??= new Shape(machine)
      return new Live(shape)
    },
    mask: '<masked>',
    isInteger: false
  }
  known.set(source, rule)
  return rule
}

/** Throws when a pattern is invalid. */
export function rulesOf({ builtins, patterns }: RuleSet): readonly Rule[] {
  return [...builtins.map((name) => BUILTINS[name]), ...patterns.map(ruleOf)]
}

/** All that `rules` find in a whole text, in order; what overlaps is one, and has the mask of what began first. */
export function spansOf(text: string, rules: readonly Rule[]): Span[] {
  const spans: Span[] = []
  const searched = new SearchText(text)
  for (const { find, mask } of rules) {
    for (let at = 0; at < text.length; ) {
      const found = find(searched, at)
      if (found === null) break
      spans.push({ start: found[0], end: found[1], by: mask })
      at = found[1]
    }
  }
  return join(spans)
}

/** In order of their beginnings (of those that begin together, in the order given), overlapping ones as one. */
export function join(spans: Span[]): Span[] {
  if (spans.length < 2) return spans
  const joined: Span[] = []
  for (const span of spans.sort((a, b) => a.start - b.start)) addSpan(joined, span)
  return joined
}

export function addSpan(spans: Span[], span: Span): void {
  const last = spans.at(-1)
  if (last === undefined || span.start >= last.end) spans.push(span)
  else if (span.end > last.end) last.end = span.end
}

/** The part of a text that begins at `at`, with what `spans` say about it. */
export function render(part: string, at: number, spans: readonly Span[]): string {
  const end = at + part.length
  let text = ''
  let done = at
  for (const span of spans) {
    if (span.start >= end) break
    if (span.start >= at) text += part.slice(done - at, span.start - at) + span.by
    if (span.end > done) done = Math.min(span.end, end)
  }
  return done === at && text === '' ? part : text + part.slice(done - at)
}

/** `text` with everything masked that `rules` find; the same text when they find nothing. */
export function maskText(text: string, rules: readonly Rule[]): string {
  const spans = spansOf(text, rules)
  return spans.length === 0 ? text : render(text, 0, spans)
}
