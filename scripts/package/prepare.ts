/** What stands beside the bundle in the package: the schema of the configuration file, and its types (npm pack). */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { compile, type JSONSchema } from 'json-schema-to-typescript'
import { backends } from '#backends/index.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { policies } from '#policies/index.ts'

const dist = join(import.meta.dirname, '..', '..', 'dist')
const BANNER =
  '/** The configuration file of weir, for programs that write one: import type { Configuration } from "weir". */'

/** Descriptions stay in the schema, where editors show them: here they would be longer than the types. */
const UNTYPED = new Set(['description', 'minItems', 'maxItems', 'minLength', 'maxLength'])
const COMBINATIONS = ['oneOf', 'anyOf', 'allOf']

const schema = JSON.parse(jsonSchema(policies, backends))
const bare: JSONSchema = JSON.parse(JSON.stringify(schema), (key, value) => {
  if (UNTYPED.has(key) && typeof value !== 'object') return undefined
  if (typeof value !== 'object' || value === null || typeof value.type !== 'string') return value
  // Which keys exclude each other, and patterns: the types would be unions with objects of unknown keys.
  return Object.fromEntries(Object.entries(value).filter(([name]) => !COMBINATIONS.includes(name)))
})
const types = await compile(bare, 'Configuration', {
  additionalProperties: false,
  bannerComment: BANNER,
  customName: ({ $id }) => ($id === undefined ? undefined : 'Configuration'),
  format: false
})
await writeFile(join(dist, 'weir.schema.json'), `${JSON.stringify(schema)}\n`)
await writeFile(join(dist, 'weir.d.ts'), types)
process.stdout.write(`dist/weir.d.ts: ${Math.round(types.length / 1024)} KiB\n`)
