/** Rules over the texts of a whole body: each by itself, and what is read as one text as that one text too. */
import type { Rule } from './live.ts'
import { join, maskText, render, type Span, spansOf } from './rules.ts'
import { maskJsonText, StreamJson } from './stream-json.ts'
import type { Run, Slot } from './texts.ts'

/** Masks what `rules` find. False: they find nothing. */
export function maskSlots(slots: readonly Slot[], rules: readonly Rule[]): boolean {
  let isHit = false
  for (const slot of slots) {
    if (slot.run !== null) continue
    const text = slot.isJson ? maskJsonText(slot.text, rules) : maskText(slot.text, rules)
    if (text === slot.text) continue
    isHit = true
    slot.set(text)
  }
  for (const run of runsOf(slots)) isHit = maskRun(run, rules) || isHit
  return isHit
}

/** Whether `rules` find anything. */
export function findsIn(slots: readonly Slot[], rules: readonly Rule[]): boolean {
  const isIn = ({ text, isJson, run }: Slot) => run === null && (isJson ? findsInJson(text, rules) : finds(text, rules))
  return slots.some(isIn) || runsOf(slots).some((run) => spansOfRun(run, rules).length > 0)
}

function finds(text: string, rules: readonly Rule[]): boolean {
  return rules.some((rule) => spansOf(text, [rule]).length > 0)
}

function findsInJson(text: string, rules: readonly Rule[]): boolean {
  const json = new StreamJson(rules)
  json.push(text)
  json.end()
  return json.isHit
}

/** In the order in which they stand. */
function runsOf(slots: readonly Slot[]): (readonly Slot[])[] {
  const known = new Map<object, Map<Run['kind'], Slot[]>>()
  const runs: Slot[][] = []
  for (const slot of slots) {
    if (slot.run === null) continue
    const { list, kind } = slot.run
    let kinds = known.get(list)
    if (kinds === undefined) {
      kinds = new Map()
      known.set(list, kinds)
    }
    const run = kinds.get(kind)
    if (run !== undefined) run.push(slot)
    else {
      const begun = [slot]
      kinds.set(kind, begun)
      runs.push(begun)
    }
  }
  return runs
}

/** By their places in all texts of the run, which stand there without anything between them. */
function spansOfRun(run: readonly Slot[], rules: readonly Rule[]): Span[] {
  const spans: Span[] = []
  const bounds: number[] = []
  let at = 0
  for (const { text } of run) {
    for (const { start, end, by } of spansOf(text, rules)) spans.push({ start: at + start, end: at + end, by })
    at += text.length
    bounds.push(at)
  }
  if (run.length === 1) return spans
  let next = 0
  for (const span of spansOf(run.map(({ text }) => text).join(''), rules)) {
    while (next < bounds.length && bounds[next]! <= span.start) next++
    // What is found within one text, and not when that is looked at alone, is an accident of what stands around it.
    if (bounds[next]! < span.end) spans.push(span)
  }
  return join(spans)
}

function maskRun(run: readonly Slot[], rules: readonly Rule[]): boolean {
  const spans = spansOfRun(run, rules)
  let at = 0
  let first = 0
  for (const slot of run) {
    const end = at + slot.text.length
    while (first < spans.length && spans[first]!.end <= at) first++
    let last = first
    while (last < spans.length && spans[last]!.start < end) last++
    if (last > first) slot.set(render(slot.text, at, spans.slice(first, last)))
    at = end
  }
  return spans.length > 0
}
