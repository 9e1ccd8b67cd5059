/** A search takes time in proportion to its text, hostile ones included. */
import { test } from 'node:test'
import { assertLinear } from '#engine/testing/cpu.ts'
import { BUILTIN_NAMES } from './builtins.ts'
import { maskText, rulesOf } from './rules.ts'
import { StreamText } from './stream-text.ts'

const UNITS = 2 * 1024

const HOSTILE = [
  ...[
    '1',
    '12 ',
    '4111 ',
    '4111-',
    '1.',
    '1\n',
    '1\u200b',
    '\u200b',
    '0',
    '00 44 ',
    '(030) ',
    '+',
    '+(',
    '(',
    '046 454 28 '
  ],
  ...[
    '123-45-678 ',
    'tel 1',
    'tel.:+ ',
    'a1',
    'a_',
    '1_',
    '１',
    '𝟏',
    'é1',
    'a@',
    '@',
    'a@a.',
    '@a.a',
    'a.',
    'x@xn--',
    "'@.",
    '@a'
  ]
]
const RULES = rulesOf({ builtins: BUILTIN_NAMES, patterns: [] })

function streamed(text: string): void {
  const stream = new StreamText(RULES)
  for (let at = 0; at < text.length; at += 256) stream.push(text.slice(at, at + 256))
  stream.end()
}

for (const [name, search] of [
  ['whole', (text: string) => void maskText(text, RULES)],
  ['streamed', streamed]
] as const) {
  test(`hostile text, ${name}`, () => {
    for (const unit of HOSTILE)
      assertLinear(JSON.stringify(unit), UNITS, (size) => search(unit.repeat(size / unit.length)))
  })
}
