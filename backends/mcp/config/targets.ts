/** The targets of an `mcp` backend (docs/specification.md#mcp-backends): the schema. */

import { TARGET_KEYS } from '#backends/mcp/targets/index.ts'
import type { TargetKey } from '#backends/mcp/targets/kind.ts'
import { oneOf } from '#engine/schema/choice.ts'
import { objectOf, type Raw } from '#engine/schema/placed.ts'
import { ONLY_FILES } from '#engine/schema/rule.ts'
import { z } from '#engine/schema/schema.ts'
import { inResources, onlyInFiles } from '#engine/schema/spelling.ts'
import { together } from '#engine/schema/together.ts'
import { CONNECTION_POLICIES, TARGET_POLICIES, type TargetPolicies } from './target-policies.ts'

const NAME_EXPECTED =
  'must have only lower-case letters, digits and "-", and a letter or digit at both ends: "_" and "+" divide it from names of tools'
const NAME_MAX = 63

const targetName = () =>
  z
    .string()
    .min(1)
    .max(NAME_MAX)
    .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, NAME_EXPECTED)

/** As a sentence names them; the other keys are how resources say the same. */
const SHOWN_KEYS = TARGET_KEYS.filter(({ hasPolicies }) => !hasPolicies).map(({ name }) => `'${name}'`)
const SELECTOR = `selector looks for Services of Kubernetes: in a file targets are named one by one, as ${SHOWN_KEYS.slice(0, -1).join(', ')} or ${SHOWN_KEYS.at(-1)!}`

/** Policies stand inside of what resources have. */
function schemaOf({ schema, hasPolicies }: TargetKey): z.ZodOptional {
  const made = schema(TARGET_POLICIES)
  return hasPolicies ? made : onlyInFiles(made.clone())
}

export const mcpTarget = () =>
  oneOf(
    {
      ...Object.fromEntries(TARGET_KEYS.map((key) => [key.name, schemaOf(key)])),
      selector: inResources(z.never({ error: SELECTOR }).optional(), 'McpSelector')
    },
    {
      name: targetName().describe('Unique in the backend. Before "_" in names of tools.'),
      policies: onlyInFiles(TARGET_POLICIES.optional())
    }
  ).check(
    together<Raw>(
      [],
      ({ value, issues }) => {
        checkPolicies(value, (path, message) => issues.push({ code: 'custom', path: [...path], message, input: value }))
      },
      ONLY_FILES
    )
  )

/** That policies of connections stand where they act, and once. */
function checkPolicies(target: Raw, report: (path: readonly string[], message: string) => void): void {
  const keys = TARGET_KEYS.filter(({ name }) => target[name] !== undefined)
  const outer = { path: ['policies'], set: objectOf(target.policies) }
  const inner = keys
    .filter(({ hasPolicies }) => hasPolicies)
    .map(({ name }) => ({ path: [name, 'policies'], set: objectOf(objectOf(target[name]).policies) }))
  for (const { path, set } of [outer, ...inner]) {
    for (const [name, alias] of CONNECTION_POLICIES) {
      if (alias === undefined || set[name] === undefined || set[alias] === undefined) continue
      report([...path, alias], `says again what ${name} says: keep one of them`)
    }
  }
  for (const names of CONNECTION_POLICIES) {
    for (const name of names.filter((one) => outer.set[one] !== undefined)) {
      for (const { noConnection } of keys) if (noConnection !== undefined) report(['policies', name], noConnection)
      for (const { path, set } of inner) {
        const isRepeated = names.some((one) => set[one] !== undefined)
        if (isRepeated) report(['policies', name], `is said by ${path.join('.')} too: keep one of them`)
      }
    }
  }
}

/** Validated; the value of its key is the key's own. */
export interface FileTarget {
  readonly name: string
  readonly policies?: TargetPolicies | undefined
  readonly [key: string]: unknown
}
