/** What every registered kind of backend must bring, and that the engine's sources name none of them. */
import { deepEqual, ok } from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { VARIABLES } from '#engine/cel/variables.ts'
import { kindsOf } from '#engine/source/kinds.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { policies } from '#policies/index.ts'
import { backends } from './index.ts'
import { KINDS, PRESETS } from './llm/config/shortcut/presets.ts'

const ROOT = join(import.meta.dirname, '..')
const kinds = kindsOf(backends)

const textsBelow = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => ending.test(file))
    .map((file) => readFileSync(join(ROOT, folder, file), 'utf8'))

test('each key of a backend and each shortcut has a schema with a description, an example and a word in the pages', () => {
  interface Schema {
    readonly properties?: Readonly<Record<string, { readonly items?: Schema; readonly description?: string }>>
  }
  const schema: Schema = JSON.parse(jsonSchema(policies, backends))
  const described = schema.properties!.backends!.items!.properties!
  const examples = textsBelow('docs/examples', /\.yaml$/).join('\n')
  const pages = textsBelow('docs', /^[^/]+\.md$/).join('\n')
  for (const { name } of kinds.keys) ok(described[name]!.description, `${name}: the schema has no description`)
  for (const { key } of kinds.shortcuts) ok(schema.properties![key]!.description, `${key}: no description`)
  for (const name of [...kinds.keys.map((key) => key.name), ...kinds.shortcuts.map(({ key }) => key)]) {
    ok(new RegExp(`\\x60${name}\\b`).test(pages), `${name}: no page tells of it`)
  }
  for (const config of new Set(kinds.keys.map((key) => key.config))) {
    const names = config.keys.map(({ name }) => name)
    ok(
      names.some((name) => new RegExp(`\\b${name}:`).test(examples)),
      `${names.join(', ')}: no example`
    )
  }
})

test('policies of backends have a schema for each name', () => {
  for (const { keys, schemas, inside } of kinds.policies) {
    if (inside === undefined) deepEqual(Object.keys(schemas), Object.keys(keys))
  }
})

/** Words that mean something else, too: an address, a mistake, settings of a protocol, parts of YAML or TypeScript. */
const COMMON: ReadonlySet<string> = new Set(['host', 'http', 'invalid', 'tcp', 'tls', 'timeout'])
/** Folders whose code knows none of them, each with words that it uses otherwise: fields of the contract, variables. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  'engine/standalone': [],
  'engine/source': [],
  'engine/ir': [],
  'engine/routing': [],
  'engine/build': ['accessLog', 'hostRewrite', 'metrics', 'retry', 'tracing'],
  'engine/cel': Object.keys(VARIABLES)
}
/** The kind of a service that is described in place; settings of other gateways' files that are refused by name. */
const REFUSED: readonly string[] = [
  "engine/build/services.ts: 'static'",
  "engine/source/process.ts: 'mcp'",
  "engine/source/process.ts: 'metrics'",
  "engine/source/process.ts: 'tracing'",
  "engine/source/tcp-routes.ts: 'backendTLS'"
]

test('sources know no kind of backend, no provider, no kind of target and no policy by name', () => {
  const all = [
    ...backends.map(({ kind }) => kind),
    ...kinds.keys.map(({ name }) => name),
    ...kinds.shortcuts.map(({ key }) => key),
    ...kinds.policies.flatMap(({ keys }) => Object.keys(keys)),
    ...[...KINDS.keys(), ...PRESETS.keys()],
    ...['stdio', 'sse', 'openapi'],
    ...policies.flatMap(({ name, aliases }) => [name, ...aliases.map((alias) => alias.name)])
  ].filter((name) => !COMMON.has(name))
  const found = Object.entries(FOLDERS).flatMap(([folder, words]) => {
    const names = all.filter((name) => !words.includes(name)).join('|')
    const known = new RegExp(`['"](?:${names})['"]|[\\w)\\]]\\??\\.(?:${names})\\b`, 'g')
    return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !/\.test\.ts$|^testing\//.test(file))
      .flatMap((file) => {
        const code = readFileSync(join(ROOT, folder, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
        return [...code.matchAll(known)].map(([word]) => `${folder}/${file}: ${word}`)
      })
  })
  deepEqual(
    found.filter((one) => !REFUSED.includes(one)),
    []
  )
})
