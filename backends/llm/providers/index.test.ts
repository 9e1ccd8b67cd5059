/** What every row of the registry must bring, and that the code beside it knows none of them by name. */
import { deepEqual, ok } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { COMPATIBLE } from './compatible.ts'
import { PROVIDERS } from './index.ts'

const LLM = join(import.meta.dirname, '..')
const pageOf = (name: string): string => readFileSync(join(LLM, '../../docs', name), 'utf8')

const names = new Set(PROVIDERS.flatMap(({ name, shortcut }) => [name, ...(shortcut?.names ?? [])]))

/** Names that mean something else, too, each in many files. */
const COMMON: ReadonlySet<string> = new Set([
  // A format.
  'gemini',
  // The code of an issue of the schema library, a type of tools, and how `llm` writes a server without a vendor.
  'custom'
])

/** What is said of others than providers. */
const EXCEPTIONS: readonly string[] = [
  // The service of AWS that requests are signed for, whatever provider they go to.
  "auth/aws.ts: 'bedrock'",
  // Who made a model, of which Bedrock has several.
  ...["'cohere'", "'mistral'", 'cohere:', 'mistral:'].map((family) => `formats/converse/models.ts: ${family}`)
]

test('no code beside this folder knows a provider by name', () => {
  const all = [...names, ...Object.keys(COMPATIBLE)].filter((name) => !COMMON.has(name)).join('|')
  // As text, as a member (and no host), as a key.
  const known = new RegExp(
    `(['"\`])(?:${all})\\1|[\\w)\\]]\\??\\.(?:${all})\\b(?!\\.)|(?<![\\w.'"\`/-])(?:${all})\\??:`,
    'g'
  )
  const found = readdirSync(LLM, { recursive: true, encoding: 'utf8' })
    // Tests and what they share say which provider they ask.
    // Prices are data by the names of providers.
    .filter((file) => file.endsWith('.ts') && !/^(?:providers|prices|testing)\/|\.(?:test|fixture)\.ts$/.test(file))
    .flatMap((file) => {
      const code = readFileSync(join(LLM, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, '')
      return [...code.matchAll(known)].map(([word]) => `${file}: ${word}`)
    })
  deepEqual([...new Set(found)].toSorted(), [...EXCEPTIONS].toSorted())
})

test('each provider has a column in the table of formats, and its fields in the page of the configuration', () => {
  const table = pageOf('llm-matrix.md')
  const page = pageOf('configuration.md')
  for (const { name, needsHost } of PROVIDERS) {
    ok(page.includes(`\`${name}\``), `${name}: no row in configuration.md`)
    if (needsHost !== true) ok(table.includes(`\`${name}\``), `${name}: no column (scripts/matrix-providers.ts)`)
  }
})

test('names and parameters are those of one provider', () => {
  const listed = PROVIDERS.flatMap(({ name, shortcut }) => shortcut?.names ?? [name])
  const params = PROVIDERS.flatMap(({ shortcut }) => Object.keys(shortcut?.params ?? {}))
  for (const list of [listed, params]) deepEqual(list, [...new Set(list)])
})
