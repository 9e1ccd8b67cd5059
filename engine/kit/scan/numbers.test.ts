/**
 * Numbers of people as they come: in rows of a file, glued to a label, in the digits of other scripts, with what nobody
 * sees between them, over the end of a line. And what only looks like them.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { BUILTIN_NAMES, type Builtin } from './builtins.ts'
import { fold, foldRune, hasDigit } from './fold.ts'
import type { Rule } from './live.ts'
import { maskText, rulesOf } from './rules.ts'
import { StreamJson } from './stream-json.ts'
import { HOLD_UNITS_MAX, StreamText } from './stream-text.ts'

const MASKS: { readonly [name in Builtin]: string } = {
  Ssn: '<SSN>',
  CreditCard: '<CREDIT_CARD>',
  PhoneNumber: '<PHONE_NUMBER>',
  Email: '<EMAIL_ADDRESS>',
  CaSin: '<CA_SIN>'
}
const rulesFor = (name: Builtin): readonly Rule[] => rulesOf({ builtins: [name], patterns: [] })
const NUMBERS: readonly Builtin[] = ['Ssn', 'CreditCard', 'PhoneNumber', 'CaSin']

/** As people write them: groups, which a separator may join. */
const WRITTEN: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Ssn: [
    ['536', '22', '1234'],
    ['123', '45', '6789']
  ],
  CaSin: [
    ['046', '454', '286'],
    ['130', '692', '544']
  ],
  CreditCard: [
    ['4111', '1111', '1111', '1111'],
    ['3782', '822463', '10005'],
    ['3056', '930902', '5904'],
    ['2201', '3820', '0000', '0013']
  ],
  PhoneNumber: [
    ['212', '555', '1234'],
    ['020', '7946', '0958'],
    ['+44', '20', '7946', '0958'],
    ['+1', '212', '555', '1234']
  ]
}

const SEPARATORS = [
  ...[' ', '-', '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2015', '\u2212', '\ufe63', '\uff0d'],
  ...['\u00a0', '\u2007', '\u2009', '\u200a', '\u202f', '\u3000', '- ', ' - ', '\u00ad-', '-\u200b']
]
/** What stands around: `#` is the number. */
const CONTEXTS = [
  ...['#', 'It is #, ok', '(#)', '"#"', '1,#', '7.#', '0,#,2', 'a;#;b', 'x=#&y=1', 'a\t#\tb', '[#]', '<b>#</b>'],
  ...['SSN:#', 'tel:#', 'No.#', '号码#。', 'номер #.', '{"n":"#"}', '| # |', '\n#\n', '**#**', '#\u200b.', '😀#😀']
]
/** First digits of scripts: Arabic, Persian, Devanagari, Bengali, Thai, fullwidth, mathematical. */
const ZEROS = [0x30, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0xff10, 0x1d7ce, 0x1d7f6]

const inScript = (text: string, zero: number): string =>
  text.replace(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)))

function streamed(text: string, size: number, rules: readonly Rule[]): string {
  const stream = new StreamText(rules)
  const pieces = text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []
  let out = ''
  let end = 0
  let next = 0
  const take = () => {
    while (next < pieces.length && end + pieces[next]!.length <= stream.decided) {
      end += pieces[next]!.length
      out += stream.take(pieces[next++]!)
    }
  }
  for (const piece of pieces) {
    stream.push(piece)
    take()
  }
  stream.end()
  take()
  equal(next, pieces.length)
  return out
}

describe('a number is found', () => {
  for (const name of NUMBERS) {
    test(`${name}: in every context, with every separator, in every script, and nothing else is masked`, () => {
      const rules = rulesFor(name)
      for (const groups of WRITTEN[name]!) {
        for (const separator of SEPARATORS) {
          for (const zero of ZEROS) {
            const number = inScript(groups.join(separator), zero)
            for (const context of CONTEXTS) {
              const text = context.replace('#', () => number)
              equal(maskText(text, rules), context.replace('#', MASKS[name]), JSON.stringify(text))
            }
          }
        }
      }
    })

    test(`${name}: with a character that is not seen, or the end of a line, at every place`, () => {
      const rules = rulesFor(name)
      for (const groups of WRITTEN[name]!) {
        const number = groups.join('-')
        for (const unseen of [
          '\u200b',
          '\u200d',
          '\u2060',
          '\ufeff',
          '\u00ad',
          '\u034f',
          '\u{e0020}',
          '\u200b\u200b\u200b'
        ]) {
          for (let at = 1; at < number.length; at++) {
            const text = `a ${number.slice(0, at)}${unseen}${number.slice(at)} b`
            equal(maskText(text, rules), `a ${MASKS[name]} b`, JSON.stringify(text))
          }
        }
        for (let at = number.startsWith('+') ? 2 : 1; at < number.length; at++) {
          for (const end of ['\n', '\r\n']) {
            const text = `a ${number.slice(0, at)}${end}${number.slice(at)} b`
            equal(maskText(text, rules), `a ${MASKS[name]} b`, JSON.stringify(text))
          }
        }
      }
    })

    test(`${name}: at every cut of a stream`, () => {
      const rules = rulesFor(name)
      for (const groups of WRITTEN[name]!) {
        for (const text of [
          `1,${groups.join('-')} ok`,
          `card${groups.join('\u2009\u200b')}\u200band`,
          groups.join('-').replace('-', '-\n')
        ]) {
          const whole = maskText(text, rules)
          ok(whole.includes(MASKS[name]), whole)
          for (let size = 1; size <= text.length; size++) equal(streamed(text, size, rules), whole, `${text} ${size}`)
        }
      }
    })
  }

  test('undivided, behind a label and in a row of a file', () => {
    for (const [name, text, masked] of [
      ['CreditCard', '1,4111111111111111,2', '1,<CREDIT_CARD>,2'],
      ['CreditCard', 'card4111111111111111', 'card<CREDIT_CARD>'],
      ['CreditCard', 'card_4111111111111111_old', 'card_<CREDIT_CARD>_old'],
      ['CreditCard', 'a\\n4111111111111111\\t', 'a\\n<CREDIT_CARD>\\t'],
      ['PhoneNumber', 'Phone:\\n802.514.9615\\n(414)282-9104', 'Phone:\\n<PHONE_NUMBER>\\n<PHONE_NUMBER>'],
      ['Ssn', 'x\\r\\n536221234', 'x\\r\\n<SSN>'],
      ['CreditCard', '4111111111111111exp', '<CREDIT_CARD>exp'],
      ['CreditCard', 'cards:\n 12.4111111111111111\n', 'cards:\n 12.<CREDIT_CARD>\n'],
      ['CreditCard', '1.4111111111111111', '1.<CREDIT_CARD>'],
      ['CreditCard', 'x 4111.1111.1111.1111', 'x <CREDIT_CARD>'],
      ['CreditCard', '41111111\n11111111', '<CREDIT_CARD>'],
      ['Ssn', '7.536-22-1234', '7.<SSN>'],
      ['Ssn', '1,536221234,x', '1,<SSN>,x'],
      ['Ssn', 'SSN536221234', 'SSN<SSN>'],
      ['Ssn', 'ssn_536-22-1234', 'ssn_<SSN>'],
      ['CaSin', 'SIN:046454286', 'SIN:<CA_SIN>'],
      ['CaSin', '9,046454286', '9,<CA_SIN>'],
      ['PhoneNumber', 'tel00442079460958', 'tel<PHONE_NUMBER>'],
      ['PhoneNumber', '1,2125551234', '1,<PHONE_NUMBER>'],
      ['PhoneNumber', '(212)555-1234x567', '<PHONE_NUMBER>x567'],
      ['PhoneNumber', '电话13812345678', '电话<PHONE_NUMBER>']
    ] as const) {
      equal(maskText(text, rulesFor(name)), masked, text)
    }
  })

  test('cards of every network, by range and length', () => {
    for (const card of CARDS) {
      equal(maskText(`Pay ${card} now`, rulesFor('CreditCard')), 'Pay <CREDIT_CARD> now', card)
      const broken = card.slice(0, -1) + String((Number(card.at(-1)) + 1) % 10)
      equal(maskText(broken, rulesFor('CreditCard')), broken)
    }
  })

  test('telephone numbers as they are written in many countries', () => {
    for (const number of PHONES) {
      equal(maskText(`Is it ${number}, or not?`, rulesFor('PhoneNumber')), 'Is it <PHONE_NUMBER>, or not?', number)
    }
    for (const text of [
      'tel 1234567',
      'Phone: 555-1234',
      'call us on 22 33 44 55',
      'Τηλ. 210 1234567',
      'тел.: 2-12-85-06'
    ]) {
      ok(maskText(text, rulesFor('PhoneNumber')).includes('<PHONE_NUMBER>'), text)
    }
  })

  test('mail addresses of all scripts', () => {
    for (const address of [
      'ann@xn--mller-kva.example',
      'ann@пример.xn--p1ai',
      'иван@пример.рф',
      'संपर्क@उदाहरण.भारत',
      '用户@例子.广告',
      'ann@例え。テスト',
      'ann＠example．com',
      'jos\u0065\u0301@example.org',
      'a\u200bnn@exam\u200bple.com',
      'อีเมล@ตัวอย่าง.ไทย'
    ]) {
      equal(maskText(`<${address}>`, rulesFor('Email')), '<<EMAIL_ADDRESS>>', address)
      for (const size of [1, 2, 3])
        equal(streamed(`<${address}>`, size, rulesFor('Email')), '<<EMAIL_ADDRESS>>', address)
    }
  })
})

/** With a check digit computed here: no real card. */
const CARDS = [
  ...['4222222222222', '4111111111111111', '4000000000000000006', '5555555555554444', '2221000000000009'],
  ...['2720990000000007', '378282246310005', '341111111111111', '30569309025904', '36227206271667', '6011111111111117'],
  ...['6440000000000005', '6500000000000002', '3528000000000007', '3589000000000003', '180000000000002'],
  ...['213100000000001', '6200000000000005', '6200000000000000003', '8100000000000000', '500000000009', '675900000007'],
  ...['6304000000000000', '2200000000000004', '2204000000000000', '6521110000000008', '9792000000000001']
].map(checked)

function checked(card: string): string {
  for (let digit = 0; digit < 10; digit++) {
    const number = card.slice(0, -1) + String(digit)
    const sum = [...number].reverse().reduce((all, one, i) => {
      const value = Number(one) * (1 + (i % 2))
      return all + (value > 9 ? value - 9 : value)
    }, 0)
    if (sum % 10 === 0) return number
  }
  return card
}

const PHONES = [
  ...['+12125551234', '+1 (212) 555-1234', '(212) 555-1234', '212.555.1234', '1-800-234-5678', '001-212-555-1234'],
  ...[
    '+44 20 7946 0958',
    '+44 (0)20 7946 0958',
    '(+44) 20 7946 0958',
    '020 7946 0958',
    '(01632) 960 001',
    '07700 900123'
  ],
  ...['07700900123', '0044 20 7946 0958', '00442079460958', '011-44-20-7946-0958', '+49(0)5632 52812', '030/12345678'],
  ...['0171 1234567', '(03944) 81563', '01 23 45 67 89', '01.23.45.67.89', '0123456789', '+33 (0)1 23 45 67 89'],
  ...['612 34 56 78', '91 234 56 78', '02-1234-5678', '06-12345678', '347 1234567', '08-123 456 78', '044 668 18 00'],
  ...['03-1234-5678', '０３ー１２３４ー５６７８', '090-1234-5678', '010-1234-5678', '138 1234 5678', '13812345678'],
  ...['98765 43210', '+91 98765 43210', '(11) 91234-5678', '11 91234-5678', '(55) 1234 5678', '8 (495) 123-45-67'],
  ...[
    '+7 (912) 345-67-89',
    '0532 123 45 67',
    '054-123-4567',
    '۰۹۱۲ ۳۴۵ ۶۷۸۹',
    '0412 345 678',
    '1300 123 456',
    '+65 9123 4567'
  ]
]

describe('folding', () => {
  test('every digit of every script, character by character as in a text', () => {
    let digits = 0
    for (let point = 0; point < 0x20000; point++) {
      const character = String.fromCodePoint(point)
      const { text } = fold(character)
      const code = foldRune(point)
      equal(text, code === -1 ? '' : String.fromCodePoint(code), point.toString(16))
      if (!/\p{Nd}/u.test(character)) continue
      digits++
      ok(hasDigit(`a ${character}`), point.toString(16))
      ok(/^[0-9]$/.test(text), point.toString(16))
    }
    ok(digits > 600)
    deepEqual(
      ['٣', '९', '７', '𝟎', '𝟡'].map((digit) => fold(digit).text),
      ['3', '9', '7', '0', '9']
    )
  })
})

describe('streams', () => {
  const unit = fc.constantFrom(
    ...[
      '0',
      '1',
      '2',
      '4',
      '5',
      '9',
      '٤',
      '１',
      '𝟏',
      ' ',
      '-',
      '.',
      ',',
      '(',
      ')',
      '+',
      '/',
      '\n',
      '_',
      '\u200b',
      '\u2013',
      'a',
      'x',
      '@'
    ],
    ...[
      '4111 1111',
      '1111 1111',
      '123-45-',
      '6789',
      '212-555',
      '-1234',
      'tel ',
      'ssn',
      '046 454 286',
      '0044',
      '+44 20 7946'
    ]
  )

  test('separators that may also be part of a word', () => {
    const text = '4111 11111_046 454 286'
    for (const name of NUMBERS) equal(streamed(text, 1, rulesFor(name)), maskText(text, rulesFor(name)))
  })

  test('any text, any cut: as the whole text', () => {
    const rules = rulesOf({ builtins: BUILTIN_NAMES, patterns: [] })
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 30 }), fc.integer({ min: 1, max: 9 }), (units, size) => {
        const text = units.join('')
        equal(streamed(text, size, rules), maskText(text, rules))
      }),
      { numRuns: 3000 }
    )
  })

  test('numbers without end do not make it wait', () => {
    for (const endless of ['1'.repeat(4 * HOLD_UNITS_MAX), '12 '.repeat(HOLD_UNITS_MAX), '+('.repeat(HOLD_UNITS_MAX)]) {
      const stream = new StreamText(rulesOf({ builtins: BUILTIN_NAMES, patterns: [] }))
      for (let at = 0; at < endless.length; at += 64) {
        stream.push(endless.slice(at, at + 64))
        ok(at + 64 - stream.decided <= HOLD_UNITS_MAX, endless.slice(0, 4))
      }
    }
  })
})

test('cells of a pasted table are one number, where it is printed so and stands alone', () => {
  const rules = rulesOf({ builtins: ['CreditCard', 'Ssn', 'CaSin'], patterns: [] })
  const cases: [string, string][] = [
    ['4111\t1111\t1111\t1111', '<CREDIT_CARD>'],
    ['Ada\t4111\t1111\t1111\t1111\tdue\n', 'Ada\t<CREDIT_CARD>\tdue\n'],
    ['3782\t822463\t10005', '<CREDIT_CARD>'],
    ['Ada\t536\t22\t1234\tx', 'Ada\t<SSN>\tx'],
    ['4111111111111111\t123\t12', '<CREDIT_CARD>\t123\t12'],
    ['536-22-1234\t536-22-1235', '<SSN>\t<SSN>']
  ]
  const stays = [
    '2019\t4111\t1111\t1111\t1111',
    '4111\t1111\t1111\t1111\t2024',
    '4111\t\t1111\t1111\t1111',
    '4111\t1111 1111\t1111',
    '41111\t11111\t111111',
    '17\t536\t22\t1234',
    '046\t454\t286',
    '1.\t536\t22\t1234\t9'
  ]
  for (const [text, masked] of [...cases, ...stays.map((text): [string, string] => [text, text])]) {
    equal(maskText(text, rules), masked, JSON.stringify(text))
    const stream = new StreamText(rules)
    for (const unit of text) stream.push(unit)
    stream.end()
    equal(stream.take(text), masked, JSON.stringify(text))
  }
})

describe('thousands of characters that are not seen, in a stream', () => {
  const rules = rulesOf({ builtins: ['CreditCard'], patterns: [] })
  const UNSEEN = ['\u200b', '\u2060\ufeff', '\u{e0100}', '\u00ad\u0301']

  /** What comes out, and how much waited at most. */
  function streamed(text: string, step: number): [string, number] {
    const stream = new StreamText(rules)
    let most = 0
    for (let at = 0; at < text.length; at += step) {
      stream.push(text.slice(at, at + step))
      most = Math.max(most, at + step - stream.decided)
    }
    stream.end()
    equal(stream.decided, text.length)
    let out = ''
    for (let at = 0; at < text.length; at += 777) out += stream.take(text.slice(at, at + 777))
    return [out, most]
  }

  test('hide no number', () => {
    for (const unseen of UNSEEN) {
      const run = unseen.repeat(HOLD_UNITS_MAX + 1)
      const text = `a ${run}b: 4111${run} 1111 11${run}11 1111${run}, ${run}c 5500 0000${run} 0000 0004 d`
      const wanted = maskText(text, rules)
      equal(wanted.split('<CREDIT_CARD>').length, 3)
      for (const step of [10, 64, 1000, 100_000])
        equal(streamed(text, step)[0] === wanted, true, `${unseen.codePointAt(0)} ${step}`)
    }
  })

  test('nor in JSON, however they are written', () => {
    const run = '\\u200b'.repeat(HOLD_UNITS_MAX + 1)
    const text = `{"a":"x${run}y 4111${run}1111 1111${run}1111 z${run}","b":1}`
    const json = new StreamJson(rules)
    let out = ''
    for (let at = 0; at < text.length; at += 100) json.push(text.slice(at, at + 100))
    json.end()
    for (let at = 0; at < text.length; at += 100) out += json.take(text.slice(at, at + 100))
    equal(out === `{"a":"x${run}y <CREDIT_CARD> z${run}","b":1}`, true)
  })

  test('are held no longer than the longest way of writing them, and are not stored', () => {
    const most = 8 * HOLD_UNITS_MAX
    ok(streamed(`4111${'\u200b'.repeat(3 * most)}1111`, 64)[1] <= most + 64)
    const [out, waited] = streamed(`${'\u200b'.repeat(100)}a`.repeat(2000), 64)
    deepEqual([out.length, waited <= HOLD_UNITS_MAX], [202_000, true])
  })
})
