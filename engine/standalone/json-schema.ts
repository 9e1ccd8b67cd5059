/** The file's schema as JSON Schema, for editors: completion, descriptions and mistakes while typing. */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { VERSION } from '#engine/contract/version.ts'
import { isRefused, z } from '#engine/schema/schema.ts'
import { kindsOf } from '#engine/source/kinds.ts'
import { configSchema } from '#engine/source/schema.ts'

/** Its name, not an address: it is not served (docs/design/031-package.md#the-schemas-name). */
const ID = `urn:weir:configuration:${VERSION}`
const COMMENT =
  'Write it with "weir schema > weir.schema.json", and begin a YAML file beside it with this line: ' +
  '# yaml-language-server: $schema=weir.schema.json'

/** JSON Schema (draft 2020-12) of what users write, as text. */
export function jsonSchema(policies: readonly Policy[], backends: readonly BackendKind[]): string {
  const { $schema, ...schema } = z.toJSONSchema(configSchema(policies, kindsOf(backends)).config, {
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
  const titled = { $schema, $id: ID, $comment: COMMENT, title: 'Configuration file of weir', ...schema }
  return `${JSON.stringify(titled, null, 2)}\n`
}
