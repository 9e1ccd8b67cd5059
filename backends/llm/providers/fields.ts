/**
 * What schemas of providers' fields are made of. Rows get it as an argument: threads of the offload pool load the rows
 * and validate nothing, and loading the schema library takes 50 to 100 ms of each.
 */

import { awsRegion } from '#engine/contract/backend-auth/schema.ts'
import { authKey } from '#engine/schema/credential.ts'
import { cel } from '#engine/schema/rule.ts'
import { list, misplacedKeys, shortString, tinyString, z } from '#engine/schema/schema.ts'
import { filledIn } from '#engine/schema/spelling.ts'
import { sound } from '#engine/schema/together.ts'

const FORMATS = ['completions', 'messages', 'responses'] as const

/** Where most look for it first. */
const keys = () =>
  misplacedKeys('belongs beside the provider: policies: { auth: { key: $NAME } }', ['apiKey', 'key', 'auth'])

const modelName = () => shortString().optional().describe('Instead of the one that the request names.')

export const makers = {
  z,
  cel,
  filledIn,
  sound,
  shortString,
  tinyString,
  authKey,
  awsRegion,
  modelName,
  /** Of a provider that only has a model and a key. */
  modelOnly: () => z.strictObject({ model: modelName(), ...keys() }),
  /** Of a server that speaks formats of OpenAI or Anthropic. */
  formats: () => list(z.enum(FORMATS), 1, FORMATS.length).optional().describe('Default completions.'),
  /** A parameter of `llm`. */
  matching: (pattern: RegExp) => tinyString().regex(pattern, `must match ${pattern.source}`).optional()
}

export type Makers = typeof makers

/** What `schema` gives. */
export type Output<S extends (make: Makers) => z.ZodType> = z.output<ReturnType<S>>
