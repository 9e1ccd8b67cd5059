/** Personal data found by its form, masked in whole texts and in texts that arrive in pieces: the same either way. */
import { deepEqual, equal, ok, throws } from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { BUILTIN_NAMES, type Builtin } from './builtins.ts'
import { luhn } from './cards.ts'
import type { Rule } from './live.ts'
import { maskText, rulesOf } from './rules.ts'
import { maskJsonText, StreamJson } from './stream-json.ts'
import { HOLD_UNITS_MAX, StreamText } from './stream-text.ts'

const of = (...builtins: Builtin[]) => rulesOf({ builtins, patterns: [] })
const by = (...patterns: string[]) => rulesOf({ builtins: [], patterns })
const ALL = of(...BUILTIN_NAMES)

/** Through a stream, in the given pieces; also that nothing is taken before it is decided. */
function streamed(pieces: readonly string[], rules: readonly Rule[], json = false): string {
  const text = json ? new StreamJson(rules) : new StreamText(rules)
  const waiting: { piece: string; end: number }[] = []
  let at = 0
  let out = ''
  const drain = () => {
    while (waiting.length > 0 && waiting[0]!.end <= text.decided) out += text.take(waiting.shift()!.piece)
  }
  for (const piece of pieces) {
    at += piece.length
    text.push(piece)
    waiting.push({ piece, end: at })
    drain()
  }
  text.end()
  drain()
  equal(waiting.length, 0)
  return out
}

const cutAt = (text: string, size: number) => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []

const VECTORS: { readonly [name in Builtin]: { readonly yes: readonly string[]; readonly no: readonly string[] } } = {
  Ssn: {
    yes: ['123-45-6789', '123 45 6789', '123456789', '123\u201145\u20116789', '899-99-9999'],
    no: [
      '000-12-3456',
      '666-12-3456',
      '900-12-3456',
      '123-00-4567',
      '123-45-0000',
      '123-456789',
      '1234-56-7890',
      '0.123456789',
      '12345678',
      'a123456789'
    ]
  },
  CreditCard: {
    yes: [
      '4111111111111111',
      '4111 1111 1111 1111',
      '5500-0000-0000-0004',
      '340000000000009',
      '3782 822463 10005',
      '6011000990139424',
      '30569309025904',
      '2223003122003222',
      '4222222222222'
    ],
    no: [
      '4111111111111112',
      '1234567890123456',
      '411111111111',
      '0.4111111111111111',
      '41111111111111111111',
      'x4111111111111111',
      '9111111111111111'
    ]
  },
  PhoneNumber: {
    yes: [
      '+12125551234',
      '+1 212-555-1234',
      '(212) 555-1234',
      '212-555-1234',
      '212.555.1234',
      '2125551234',
      '1-212-555-1234',
      '+44 20 7946 0958',
      '+49 (0)30 123456',
      '020 7946 0958',
      '01 23 45 67 89',
      '0171 1234567',
      '+91 98765 43210'
    ],
    no: [
      '123-555-1234',
      '212-155-1234',
      '555-1234',
      '05.06.2024 10:30',
      '2024-01-02',
      '192.168.0.1',
      '1700000000',
      '+1234',
      '10:30-11:30',
      '3.2125551234'
    ]
  },
  Email: {
    yes: ['ann@example.com', 'a.b+c@mail.example.co.uk', "o'neil@x.org", 'jürgen@müller.de', 'A_1%x@a-b.io'],
    no: ['ann@localhost', '@example.com', 'ann@', 'ann@.com', 'a@b.c', 'a b@ c.de']
  },
  CaSin: {
    yes: ['046 454 286', '046-454-286', '046454286', '130692544'],
    no: ['046 454 287', '046-454286', '000 000 000', '0464542860', '123 456 789']
  }
}

describe('builtins', () => {
  for (const name of BUILTIN_NAMES) {
    test(name, () => {
      const mask = BUILTINS_MASK[name]
      for (const text of VECTORS[name].yes) {
        equal(maskText(text, of(name)), mask, text)
        equal(maskText(`It is ${text}, ok`, of(name)), `It is ${mask}, ok`, text)
      }
      for (const text of VECTORS[name].no) ok(!maskText(`(${text})`, of(name)).includes(mask), text)
    })
  }

  test('check digits', () => {
    deepEqual(['046454286', '046454285', '79927398713'].map(luhn), [true, false, true])
    // Every wrong last digit.
    for (let digit = 0; digit < 10; digit++) {
      const text = `411111111111111${digit}`
      equal(maskText(text, of('CreditCard')) === '<CREDIT_CARD>', digit === 1, text)
    }
  })

  test('text after a card stays, as does a lookalike before it', () => {
    equal(maskText('4111 1111 1111 1111 123', of('CreditCard')), '<CREDIT_CARD> 123')
    equal(maskText('1234 4111 1111 1111 1111', of('CreditCard')), '1234 <CREDIT_CARD>')
  })

  test('overlapping matches are one, named by the first', () => {
    equal(maskText('130692544', of('CaSin', 'Ssn')), '<CA_SIN>')
    equal(maskText('abcdef', by('abc', 'bcde')), '<masked>f')
    equal(maskText('abcd', by('ab', 'cd')), '<masked><masked>')
    equal(maskText('aaa', by('b*')), 'aaa')
  })
})

const BUILTINS_MASK: { readonly [name in Builtin]: string } = {
  Ssn: '<SSN>',
  CreditCard: '<CREDIT_CARD>',
  PhoneNumber: '<PHONE_NUMBER>',
  Email: '<EMAIL_ADDRESS>',
  CaSin: '<CA_SIN>'
}

describe('streams', () => {
  const words = Object.values(VECTORS).flatMap(({ yes, no }) => [...yes, ...no])
  const text = `Zoë 🙂 ${words.join('; ')} 🙂🙂 end 4111`

  test('the same as of the whole text, at every split and every size', () => {
    const whole = maskText(text, ALL)
    ok(whole.includes('<SSN>') && whole.includes('<PHONE_NUMBER>'))
    for (let at = 0; at <= text.length; at++)
      equal(streamed([text.slice(0, at), text.slice(at)], ALL), whole, String(at))
    for (let size = 1; size < 30; size++) equal(streamed(cutAt(text, size), ALL), whole, String(size))
  })

  test('with expressions of all kinds', () => {
    const sources = [
      'a.c',
      '(?i)secret\\s+\\w+',
      '^Zoë',
      '\\bend\\b',
      '4111$',
      '[🙂]+',
      '(?:ab|abc)d?',
      '\\d{3}-\\d{2}',
      'x*',
      '(?s)\\(.*?\\)',
      '\\p{Lu}\\w{2,5}'
    ]
    const sample = 'Zoë abc abd SeCret word (a\nb) end 12-123-45 🙂🙂 a🙂c Xyz ended 4111 abcd 4111'
    for (const source of sources) {
      const rules = by(source)
      const whole = maskText(sample, rules)
      for (let size = 1; size < 12; size++) equal(streamed(cutAt(sample, size), rules), whole, `${source} ${size}`)
    }
    const all = by(...sources)
    for (let size = 1; size < 12; size++) equal(streamed(cutAt(sample, size), all), maskText(sample, all))
  })

  test('a match whose run gave way to one that began earlier, which was none', () => {
    const rules = by('a[^a]*?a', '\\Baa*?b', 'a')
    equal(maskText('aaba', rules), '<masked><masked>')
    for (let size = 1; size < 4; size++) equal(streamed(cutAt('aaba', size), rules), '<masked><masked>')
    for (let size = 1; size < 8; size++) equal(streamed(cutAt('aaaaaa🙂', size), by('.{1,3}a| ')), '<masked><masked>🙂')
  })

  test('any text, any expression, any cut', () => {
    const atom = fc.constantFrom('a', 'b', '1', '.', '\\d', '\\w', '[ab1]', '\\b', '^', '$', ' ', '[^a]', '\\B')
    const sign = fc.constantFrom('', '', '', '?', '*', '+', '{2}', '{1,3}', '*?')
    const item = fc.tuple(atom, sign).map(([a, s]) => (/^(\\[bB]|\^|\$)$/.test(a) ? a : a + s))
    const side = fc.array(item, { minLength: 1, maxLength: 5 }).map((items) => items.join(''))
    const source = fc.array(side, { minLength: 1, maxLength: 3 }).map((sides) => sides.join('|'))
    const sample = fc.string({ unit: fc.constantFrom('a', 'b', '1', ' ', '\n', '🙂'), maxLength: 40 })
    fc.assert(
      fc.property(
        fc.array(source, { minLength: 1, maxLength: 3 }),
        sample,
        fc.integer({ min: 1, max: 7 }),
        (from, s, n) => {
          const rules = by(...from)
          equal(streamed(cutAt(s, n), rules), maskText(s, rules))
        }
      ),
      { numRuns: 3000 }
    )
  })

  test('text waits only while a match may have begun in it', () => {
    const stream = new StreamText(of('Ssn', 'CreditCard'))
    stream.push('Hello, nothing to see here')
    equal(stream.decided, 26)
    stream.push(' 123')
    equal(stream.decided, 27)
    stream.push('4x')
    equal(stream.decided, 32)
    const words = new StreamText(by('secret'))
    words.push('a sec')
    equal(words.decided, 2)
    words.push('ond')
    equal(words.decided, 8)
  })

  test('and never for long: an expression without end lets go, at the same place however the text is cut', () => {
    const stream = new StreamText(by('x.*z'))
    let pushed = 0
    for (const piece of cutAt('x'.repeat(3 * HOLD_UNITS_MAX), 100)) {
      stream.push(piece)
      pushed += piece.length
      ok(pushed - stream.decided <= HOLD_UNITS_MAX)
    }
    const digits = `a ${'1'.repeat(2 * HOLD_UNITS_MAX + 100)} b`
    const masks = streamed([digits], by('\\d+'))
    equal(masks.replaceAll('<masked>', ''), 'a  b')
    for (const size of [1, 7, 1000]) equal(streamed(cutAt(digits, size), by('\\d+')), masks)
  })
})

describe('JSON', () => {
  const json =
    '{"a\\u0040b.de": "x", "n": [123456789, -1.5e3, true, null, {"s":"ssn 123-45-6789 \\"q\\" \\ud83d\\ude42 123\\u002d45-6789"}], "m":"ann\\u0040example.com\\n"}'
  const masked =
    '{"<EMAIL_ADDRESS>": "x", "n": ["<SSN>", -1.5e3, true, null, {"s":"ssn <SSN> \\"q\\" \\ud83d\\ude42 <SSN>"}], "m":"<EMAIL_ADDRESS>\\n"}'

  test('strings, names and numbers are masked, and it stays JSON', () => {
    equal(maskJsonText(json, of('Ssn', 'Email')), masked)
    ok(JSON.parse(masked))
    equal(maskJsonText('{"a":1}', ALL), '{"a":1}')
  })

  test('at every split', () => {
    const rules = of('Ssn', 'Email')
    for (let at = 0; at <= json.length; at++) equal(streamed([json.slice(0, at), json.slice(at)], rules, true), masked)
    for (let size = 1; size < 20; size++) equal(streamed(cutAt(json, size), rules, true), masked)
  })

  test('any JSON, cut anywhere: the output is valid, and every string is masked', () => {
    const unit = fc.constantFrom('1', '2', '-', 'a', '@', '.', '"', '\\', '\n', 'é', '🙂')
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        fc.string({ unit, maxLength: 12 }),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        tie('list'),
        tie('map')
      ),
      list: fc.array(tie('any'), { maxLength: 3 }),
      map: fc.dictionary(fc.string({ unit, maxLength: 4 }), tie('any'), { maxKeys: 3 })
    })).any
    const rules = by('1+2', 'a@', '2.a')
    const deep = (one: unknown): unknown => {
      if (typeof one === 'string') return maskText(one, rules)
      if (typeof one === 'number')
        return maskText(JSON.stringify(one), rules) === JSON.stringify(one) ? one : maskText(JSON.stringify(one), rules)
      if (Array.isArray(one)) return one.map(deep)
      return one
    }
    fc.assert(
      fc.property(
        fc.array(value, { maxLength: 3 }),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        (list, size, ascii) => {
          const plain = JSON.stringify(list)
          const text = ascii
            ? plain.replace(/[^\0-~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
            : plain
          const whole = maskJsonText(text, rules)
          equal(streamed(cutAt(text, size), rules, true), whole)
          const parsed: unknown = JSON.parse(whole)
          if (!plain.includes('{')) deepEqual(parsed, deep(list))
        }
      ),
      { numRuns: 2000 }
    )
  })

  test('invalid JSON is scanned as text', () => {
    equal(maskJsonText('call me at 123-45-6789 now', ALL), 'call me at <SSN> now')
    equal(maskJsonText('{"a": oops 123-45-6789', ALL), '{"a": oops <SSN>')
    equal(maskJsonText('{"a": "123-45-6789', ALL), '{"a": "<SSN>')
    equal(maskJsonText('{"a": "123-45-6789\\u00', ALL), '{"a": "<SSN>\\u00')
    equal(maskJsonText(`{"a": ${'1'.repeat(100)}`, by('1{99}')), '{"a": <masked>1')
  })
})

test('an invalid pattern is reported', () => {
  throws(() => by('(?<=a)b'))
})
