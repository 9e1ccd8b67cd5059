import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { policies } from '#policies/index.ts'
import { SCHEMA_FILE } from './gen-schema.ts'

test('the JSON Schema in the repository is that of the code (npm run schema writes it)', () => {
  assert.equal(readFileSync(SCHEMA_FILE, 'utf8'), jsonSchema(policies, backends))
})
