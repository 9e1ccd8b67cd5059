/** Writes the JSON Schema of the configuration file: npm run schema. */

import { writeFileSync } from 'node:fs'
import { backends } from '#backends/index.ts'
import { jsonSchema } from '#engine/standalone/json-schema.ts'
import { policies } from '#policies/index.ts'

/** Where editors find it: # yaml-language-server: $schema=<this file>. */
export const SCHEMA_FILE = new URL('../engine/standalone/weir.schema.json', import.meta.url)

if (import.meta.main) writeFileSync(SCHEMA_FILE, jsonSchema(policies, backends))
