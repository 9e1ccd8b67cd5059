/** What the table of kinds is for: other code knows none of them by name. */
import { deepEqual, ok } from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TARGET_KEYS, TARGET_KINDS } from './index.ts'

const ROOT = join(import.meta.dirname, '..')
/** These two also name the kind of backend and the protocol. */
const AMBIGUOUS = ['mcp', 'http']

test('no file outside targets/ names a kind of target', () => {
  const all = new Set([...TARGET_KINDS.keys(), ...TARGET_KEYS.map(({ name }) => name)])
  const names = [...all].filter((name) => !AMBIGUOUS.includes(name)).join('|')
  // As a text, as a property, or as a key.
  const naming = new RegExp(`'(?:${names})'|\\.(?:${names})\\b|^\\s*(?:${names}):|kind === 'http'`)
  const files = globSync('**/*.ts', { cwd: ROOT, exclude: ['targets/**', 'testing/**', '**/*.{test,fixture}.ts'] })
  const found = files.flatMap((file) => {
    const lines = readFileSync(join(ROOT, file), 'utf8').split('\n')
    const code = lines.filter((line) => !/^import |^\s*(?:\/?\*|\/\/)/.test(line))
    return code.filter((line) => naming.test(line)).map((line) => `${file}: ${line.trim()}`)
  })
  ok(files.length > 50)
  deepEqual(found, [])
})
