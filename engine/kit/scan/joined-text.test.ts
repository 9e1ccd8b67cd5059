/** Texts in parts: found alone or over the bounds, in pieces of any size. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { JoinedText } from './joined-text.ts'
import type { Rule } from './live.ts'
import { rulesOf } from './rules.ts'
import { maskSlots } from './search.ts'
import { HOLD_UNITS_MAX } from './stream-text.ts'
import { textsOf } from './texts.ts'

const SSN = rulesOf({ builtins: ['Ssn'], patterns: [] })

/** As a body that is there has them. */
function whole(parts: readonly string[], rules: readonly Rule[]): string[] {
  const body = { content: parts.map((text) => ({ text })) }
  maskSlots(textsOf(body, ['content'], 'user'), rules)
  return body.content.map(({ text }) => text)
}

/** As they come: each part in pieces of `size` units. Also that nothing is taken before it is decided. */
function streamed(parts: readonly string[], rules: readonly Rule[], size: number): [string[], string[]] {
  const text = new JoinedText(rules)
  const out = parts.map(() => '')
  const waiting: { part: number; piece: string; end: number }[] = []
  const starts: number[] = []
  let at = 0
  const drain = () => {
    while (waiting.length > 0 && waiting[0]!.end <= text.decided) {
      const { part, piece } = waiting.shift()!
      out[part] += text.take(piece)
    }
  }
  for (const [part, content] of parts.entries()) {
    if (part > 0) text.bound()
    starts.push(at)
    for (let from = 0; from < content.length; from += size) {
      const piece = content.slice(from, from + size)
      at += piece.length
      text.push(piece)
      waiting.push({ part, piece, end: at })
      drain()
    }
  }
  text.end()
  drain()
  equal(waiting.length, 0)
  return [out, parts.map((content, i) => text.repeat(content, starts[i]!))]
}

test('text in pieces is scanned as a whole body is, and written again unchanged', () => {
  const unit = fc.constantFrom('1', '2', '-', 'a', 'b', ' ', '🙂')
  const part = fc.string({ unit, maxLength: 8 })
  const sets = [['1{2}-2'], ['ab', '1-?2'], ['12a', 'a-b1']].map((patterns) => rulesOf({ builtins: [], patterns }))
  fc.assert(
    fc.property(
      fc.array(part, { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 1, max: 5 }),
      fc.constantFrom(...sets),
      (parts, size, rules) => {
        const [out, again] = streamed(parts, rules, size)
        const wanted = whole(parts, rules)
        deepEqual(out, wanted)
        deepEqual(again, wanted)
      }
    ),
    { numRuns: 5000 }
  )
})

test('every cut of a number into three parts', () => {
  const text = 'It is 123-45-6789, ok'
  for (let a = 0; a <= text.length; a++) {
    for (let b = a; b <= text.length; b++) {
      const parts = [text.slice(0, a), text.slice(a, b), text.slice(b)]
      equal(whole(parts, SSN).join(''), 'It is <SSN>, ok', `${a} ${b}`)
      deepEqual(streamed(parts, SSN, 2), [whole(parts, SSN), whole(parts, SSN)])
    }
  }
})

test('each part is also a text of its own', () => {
  for (const parts of [
    ['123-45-6789', '1'],
    ['9', '123-45-6789', '9'],
    ['a', '123-45-6789', '-']
  ]) {
    ok(whole(parts, SSN).includes('<SSN>'))
    deepEqual(streamed(parts, SSN, 3)[0], whole(parts, SSN))
  }
})

test('many parts take no more than their number, and hold back no more than one text does', () => {
  const count = 20_000
  const parts = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? '1' : 'x'))
  const rules = rulesOf({ builtins: [], patterns: ['1x1', '(?:1x)+y'] })
  const text = new JoinedText(rules)
  let pushed = 0
  let out = ''
  let taken = 0
  for (const part of parts) {
    text.bound()
    text.push(part)
    pushed += part.length
    ok(pushed - text.decided <= HOLD_UNITS_MAX)
    while (taken < text.decided) out += text.take(parts[taken++]!)
  }
  text.end()
  while (taken < count) out += text.take(parts[taken++]!)
  equal(out.replaceAll('<masked>', '').includes('1x1'), false)
  equal(whole(parts, rules).join('').includes('1x1'), false)
})
