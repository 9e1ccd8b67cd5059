/**
 * The reader of configuration files (engine/standalone/source.ts) beside the `yaml` package: whatever both read has the
 * same value, and each value stands where the reader says.
 */
import assert from 'node:assert/strict'
import { isScalar, parseDocument, visit } from 'yaml'
import { readPlain, readSource } from '#engine/standalone/source.ts'

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

export function run(data: Buffer): void {
  compare(data.toString('utf8'))
}

/** Whether both have read the text. Throws where they differ. */
export function compare(text: string): boolean {
  const { problems, broken } = readSource(text.replaceAll('$', '_'), {})
  if (broken || problems.length > 0) return false
  const ours = readPlain(text.replaceAll('$', '_'))
  const document = parseDocument(text.replaceAll('$', '_'), { uniqueKeys: false, logLevel: 'silent' })
  // A byte order mark inside of a text is text to one and nothing to the other.
  if (document.errors.length > 0 || document.warnings.length > 0 || text.includes('\ufeff', 1)) return false
  // Keys are texts, as they are written.
  visit(document, {
    Pair: (_, { key }) => {
      if (isScalar(key) && typeof key.value !== 'string') key.value = key.source
    }
  })
  assert.deepStrictEqual(ours, document.toJS({ maxAliasCount: -1 }))
  comparePlaces(text.replaceAll('$', '_'))
  return true
}

/** Of every value: its line and column lead to the offset again, and values come in the order of their places. */
function comparePlaces(text: string): void {
  const { value, locate, position } = readSource(text, {})
  const lines = text.split('\n')
  for (const key of Object.keys(value ?? {})) {
    const path = [Array.isArray(value) ? Number(key) : key]
    const offset = locate(path, 'value')
    const { line, column } = position(offset)
    const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0)
    assert.equal(before + column - 1, offset)
    assert.ok(locate(path, 'key') <= offset)
  }
}
