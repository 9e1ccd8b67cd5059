import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { policies } from '#policies/index.ts'
import { SCHEMA_FILE } from './gen-schema.ts'
import { UI_TYPES_FILE, uiTypes } from './gen-ui.ts'

test('the JSON Schema in the repository is that of the code (npm run schema writes it)', () => {
  assert.equal(readFileSync(SCHEMA_FILE, 'utf8'), jsonSchema(policies, backends))
})

test('what the browser application knows of the admin API is what its operations say (npm run schema writes it)', async () => {
  assert.equal(readFileSync(UI_TYPES_FILE, 'utf8'), await uiTypes())
})
