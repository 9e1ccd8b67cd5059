/** The file's schema as JSON Schema, for editors: completion, descriptions and mistakes while typing. */
import type { Policy } from '#engine/contract/policy.ts'
import { isRefused, z } from '#engine/schema/schema.ts'
import { fileSchema } from './file.ts'

/** JSON Schema (draft 2020-12) of what users write, as text. */
export function jsonSchema(policies: readonly Policy[]): string {
  const { $schema, ...schema } = z.toJSONSchema(fileSchema(policies).file, {
    io: 'input',
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const { def } = zodSchema._zod
      // A key that exists to be refused by name is no key to editors: they should not offer it.
      if (def.type === 'object') {
        for (const key of Object.keys(def.shape)) if (isRefused(def.shape[key]!)) delete jsonSchema.properties?.[key]
      }
      // The bound of every integer in JavaScript says nothing about a setting.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    }
  })
  const titled = { $schema, title: 'Configuration file of weir', ...schema }
  return `${JSON.stringify(titled, null, 2)}\n`
}
