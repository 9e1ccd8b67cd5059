/**
 * The two ways to read a configuration file (engine/standalone/source*.ts): what the short one reads, the
 * thorough one reads without a mistake, to the same values in the same places. What the short one leaves
 * to the other cannot differ.
 */
import assert from 'node:assert/strict'
import { References } from '#engine/standalone/expand.ts'
import { readDocument } from '#engine/standalone/source-document.ts'
import { readEvents } from '#engine/standalone/source-events.ts'
import type { Source } from '#engine/standalone/source-shape.ts'

export const name = 'yaml'
export const dictionary = [
  ...[
    '\n',
    '\n  ',
    '\n    ',
    '\n- ',
    '\n  - ',
    '- ',
    ': ',
    ':\n',
    ':',
    ', ',
    ',',
    '{',
    '}',
    '[',
    ']',
    '? ',
    'a: 1',
    'b'
  ],
  ...[
    '"',
    "'",
    "''",
    '\\n',
    '\\\n',
    ' #',
    '#c\n',
    '|\n',
    '|-\n',
    '>+\n',
    '>2-\n',
    '| #c\n',
    '\r\n',
    '\t',
    '\ufeff',
    '\0'
  ],
  ...[
    '---',
    '...',
    '--- ',
    '%YAML 1.2\n',
    '%',
    '@',
    '`',
    '&a ',
    '*a',
    '&a\n',
    '!x ',
    '!!str ',
    '!',
    '<<: ',
    '~',
    'null'
  ],
  ...[
    '0o17',
    '0x1F',
    '1_000',
    '-0',
    '.inf',
    '-.INF',
    '.nan',
    '1e3',
    '+1.',
    'yes',
    'True',
    '2001-01-01',
    '$A',
    '$$',
    `\${B}`
  ]
]

const env = { A: '8080', B: '.inf' }

export function run(data: Buffer): void {
  compare(data.toString('utf8'), env)
}

/**
 * Mistakes that the thorough way sees in a comment where YAML 1.2.2 (6.7) has none:
 * "[ a: b\n# c\n]", and in "a:\n#c d\n  e\n\nf: 'g h:i\n  j'".
 */
const FALSE_ALARMS = /^(?:comments must be separated from other tokens|is neither a key nor a value)/

/** Throws where the two differ. Gives whether the fast path has read the text. */
export function compare(text: string, env: Readonly<Record<string, string>>): boolean {
  const references = new References(text)
  const short = readEvents(text, references, env)
  if (short === null) return false
  const thorough = readDocument(text, references, env)
  if (/^\s*#/m.test(text) && thorough.problems.some(({ message }) => FALSE_ALARMS.test(message))) return true
  assert.deepEqual(thorough.problems, [], 'the short way passes over mistakes')
  assert.deepEqual(thorough.warnings, [], 'the short way passes over warnings')
  assert.equal(thorough.broken, false)
  assert.deepStrictEqual(short.value, thorough.value)
  comparePlaces(short, thorough)
  return true
}

/** Paths to compare at most: aliases multiply them. */
const PATHS_MAX = 20_000
const NOT_THERE = ['no such key', 0, 'length']

function comparePlaces(short: Source, thorough: Source): void {
  const open: { path: PropertyKey[]; value: unknown }[] = [{ path: [], value: short.value }]
  for (let i = 0; i < open.length && i < PATHS_MAX; i++) {
    const { path, value } = open[i]!
    comparePlace(path, short, thorough)
    const keys = typeof value === 'object' && value !== null ? Object.keys(value) : []
    for (const key of keys) {
      const step = Array.isArray(value) ? Number(key) : key
      open.push({ path: [...path, step], value: (value as Record<string, unknown>)[key] })
    }
    for (const key of NOT_THERE) if (!keys.includes(String(key))) comparePlace([...path, key, 'x'], short, thorough)
  }
}

function comparePlace(path: PropertyKey[], short: Source, thorough: Source): void {
  for (const what of ['key', 'value'] as const) {
    const offset = thorough.locate(path, what)
    assert.equal(short.locate(path, what), offset, `${what} of ${JSON.stringify(path)}`)
    assert.deepEqual(short.position(offset), thorough.position(offset), `position of offset ${offset}`)
  }
}
