/**
 * A secret in the wrong place: a canary at every place of the schema of the configuration file, as another type than
 * what belongs there, or in place of a path. What is said about the file must not say it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSensitive } from '#engine/kit/sensitive.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { policies } from './index.ts'

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly $defs?: Readonly<Record<string, Schema>>
}

const WHOLE = JSON.parse(jsonSchema(policies)) as Schema
const DEPTH_MAX = 16

/** Makes a file in which `value` stands at one place, and nothing else. */
type Place = (value: unknown) => unknown

function places(): Map<string, Place> {
  const found = new Map<string, Place>()
  const entered = new Set<string>()
  const walk = (schema: Schema, path: readonly string[], place: Place): void => {
    if (path.length > DEPTH_MAX) return
    if (schema.$ref !== undefined) {
      // One place of each definition is enough for what is in it.
      const isNew = !entered.has(schema.$ref)
      entered.add(schema.$ref)
      found.set(path.join('.'), place)
      const name = schema.$ref.split('/').at(-1)!
      const target = WHOLE.$defs?.[name]
      if (isNew && target !== undefined) walk(target, path, place)
      return
    }
    found.set(path.join('.'), place)
    for (const inner of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
      walk(inner, path, place)
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      walk(inner, [...path, key], (value) => place({ [key]: value }))
    }
    const { additionalProperties: more } = schema
    if (typeof more === 'object') walk(more, [...path, '*'], (value) => place({ any: value }))
    if (schema.items !== undefined) walk(schema.items, [...path, '[]'], (value) => place([value]))
  }
  walk(WHOLE, [], (value) => value)
  return found
}

function said(file: unknown): string {
  const options = { file: 'a.json', env: {}, policies, processors: 2, memoryBytes: 2 ** 34 }
  const result = loadConfig(JSON.stringify(file), options)
  return result.ok ? '' : formatErrors(result.errors)
}

const NUMBER = 730_555_193_042_177
const TEXT = 'sk7c1fcanary9d2e8b4a6f0c3e5d'
const PLACES = places()

test('a number where a text belongs is not said', () => {
  assert.ok(PLACES.size > 500, `${PLACES.size} places`)
  for (const [path, place] of PLACES) {
    for (const value of [NUMBER, [NUMBER]]) {
      const text = said(place(value))
      assert.ok(!text.includes(String(NUMBER)), `${path}: ${text}`)
    }
  }
})

/** Rules about access, and keys of limits, are expressions: a mistake in one is shown in its place. */
const isSecretPlace = (path: string): boolean =>
  !/authorization\b|rateLimit/i.test(path) && path.split('.').some((key) => isSensitive(key) || /file$/i.test(key))

test('a text in the place of a secret, of its path, or of a list or object with it is not said', () => {
  const secrets = [...PLACES].filter(([path]) => isSecretPlace(path))
  assert.ok(secrets.length > 30, `${secrets.length} secrets`)
  const leaks: string[] = []
  for (const [path, place] of secrets) {
    for (const value of [TEXT, [TEXT], { file: TEXT }, { value: TEXT }, { inline: TEXT }]) {
      const text = said(place(value))
      if (text.includes(TEXT)) leaks.push(`${path} ${JSON.stringify(value)}: ${text}`)
    }
  }
  assert.equal(leaks.join('\n'), '')
})
