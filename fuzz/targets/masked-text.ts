/**
 * The text of a configuration as a page gets it: with its masks it is the very text again, and no value that stands
 * under the name of a secret is in it.
 */
import assert from 'node:assert/strict'
import { parseAllDocuments } from 'yaml'
import { isSensitive } from '#engine/kit/sensitive.ts'
import { Masks } from '#engine/standalone/masked-text.ts'

export const name = 'masked-text'

export const dictionary = [
  ...['password: ', 'key: ', 'tokens: ', 'apiKey: { value: ', '}', ']', '- ', '\n', '  ', '# ', '---\n', '$KEY', '${'],
  ...['hunter2-of-all', '"', "'", '|\n', '>-\n', '&a ', '*a', '!!str ', '\\n', 'redis://:pass@', '<secret-', 'Bearer ']
]

/** Shorter ones stand in other words by chance. */
const CHARS_MIN = 8
const masks = new Masks()

export function run(data: Buffer): void {
  const text = data.toString()
  const shown = masks.masked(text)
  if (shown === null) return
  const isUnmarked = !/<secret-[0-9a-f]{16}>/.test(text)
  if (isUnmarked) assert.equal(masks.unmasked(shown, [text]), text)
  // A word of one text may be a word of a mask.
  if (text.includes('<secret')) return
  for (const document of parseAllDocuments(text, { logLevel: 'silent' }))
    for (const value of secretsIn(plainOf(document), ''))
      assert.ok(!shown.includes(value), `${JSON.stringify(value)} is in ${JSON.stringify(shown)}`)
}

/** Null: there is none, or it has circles or too many aliases. */
function plainOf(document: ReturnType<typeof parseAllDocuments>[number]): unknown {
  try {
    return 'toJS' in document ? document.toJS() : null
  } catch {
    return null
  }
}

function* secretsIn(value: unknown, under: string): Generator<string> {
  if (typeof value === 'string') {
    if (isSensitive(under) && value.length >= CHARS_MIN && !value.startsWith('$')) yield value
  } else if (Array.isArray(value)) for (const one of value) yield* secretsIn(one, under)
  else if (typeof value === 'object' && value !== null)
    for (const [key, one] of Object.entries(value)) yield* secretsIn(one, key)
}
