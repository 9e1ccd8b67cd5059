/**
 * A secret in the wrong place: a canary at every place of the schema of the configuration file, as another type than
 * what belongs there, or in place of a path. What is said about the file must not say it.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { isSensitive } from '#engine/kit/sensitive.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { type JsonSchema, placesOf } from '#engine/testing/schema-places.ts'
import { policies } from './index.ts'

function problems(file: unknown, text = JSON.stringify(file)): string {
  const options = { file: 'a.json', env: {}, policies, backends, processors: 2, memoryBytes: 2 ** 34 }
  const result = loadConfig(text, options)
  return result.ok ? '' : formatErrors(result.errors)
}

const NUMBER = 730_555_193_042_177
const TEXT = 'sk7c1fcanary9d2e8b4a6f0c3e5d'
const PLACES = placesOf(JSON.parse(jsonSchema(policies, backends)) as JsonSchema)

test('messages do not show a number that stands where a text belongs', () => {
  assert.ok(PLACES.size > 500, `${PLACES.size} places`)
  for (const [path, { put }] of PLACES) {
    for (const value of [NUMBER, [NUMBER]]) {
      const text = problems(put(value))
      assert.ok(!text.includes(String(NUMBER)), `${path}: ${text}`)
    }
  }
})

/** Rules about access, and keys of limits, are expressions: a mistake in one is shown in its place. */
const isSecretPlace = (path: string): boolean =>
  !/authorization\b|rateLimit/i.test(path) && path.split('.').some((key) => isSensitive(key) || /file$/i.test(key))

test('messages do not show a text in the place of a secret, its path, or a list or object with it', () => {
  const secrets = [...PLACES].filter(([path]) => isSecretPlace(path))
  assert.ok(secrets.length > 30, `${secrets.length} secrets`)
  const leaks: string[] = []
  for (const [path, { put }] of secrets) {
    for (const value of [TEXT, [TEXT], { file: TEXT }, { value: TEXT }, { inline: TEXT }]) {
      const text = problems(put(value))
      if (text.includes(TEXT)) leaks.push(`${path} ${JSON.stringify(value)}: ${text}`)
    }
  }
  assert.equal(leaks.join('\n'), '')
})

/** As vendors write them, random ones, and what is no secret. */
const KEYS = [
  TEXT,
  'sk-live-51H',
  'sk-proj-Ab3dEf6hIj9kLm2nOp5q',
  'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
  'AKIAIOSFODNN7EXAMPLE'
]

test('messages do not show a secret in the place of a key, for any object of the schema', () => {
  const leaks: string[] = []
  for (const [path, { put }] of PLACES) {
    for (const key of KEYS) {
      for (const value of ['value', { [key]: null }]) {
        const text = problems(put({ [key]: value }))
        if (text.includes(key)) leaks.push(`${path}: ${text}`)
      }
    }
  }
  assert.equal(leaks.join('\n'), '')
})

test('messages show values that are no secrets', () => {
  for (const key of [
    'hostnmae',
    'gpt-4o-mini-2024-07-18',
    'x-amz-content-sha256',
    'connectionMinTerminationDeadlines'
  ]) {
    assert.ok(problems({ binds: [], [key]: 1 }).includes(key), key)
  }
  assert.match(problems({ bindz: 1 }), /did you mean "binds"/)
})

test('messages do not show a secret of a file that is no YAML, or that names missing things', () => {
  const lines = [
    'KEY: x',
    '*KEY',
    '&KEY',
    '!KEY',
    '!!KEY x',
    '@KEY',
    '"KEY',
    "'KEY",
    '[KEY',
    '{KEY',
    '%KEY',
    '`KEY',
    '"\\KEY"'
  ]
  const more = [
    '$KEY',
    `\${KEY}`,
    '${KEY',
    '"a" KEY',
    '|KEY',
    '>KEY',
    '\tKEY',
    'x\n KEY',
    'a\n  auth: KEY: x',
    'a # KEY\n\tb'
  ]
  for (const key of KEYS) {
    for (const line of [...lines, ...more]) {
      for (const yaml of [
        `key: ${line.replaceAll('KEY', key)}`,
        line.replaceAll('KEY', key),
        `- ${key}\n${line}: ${key}`
      ]) {
        const text = problems(null, `config: {}\nbinds:\n- port: 1\n  ${yaml}\n`)
        assert.ok(!text.includes(key), text)
      }
    }
  }
})
