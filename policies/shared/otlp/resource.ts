/** Attributes of the resource: worked out once, from what is known of the process. */

import type { Facts } from '#engine/cel/exchange.ts'
import { REQUEST_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import { writeField } from '#engine/cel/log-fields.ts'
import type { ResourceAttributes } from '#engine/contract/otlp.ts'
import type { AttributeSource } from '#policies/shared/log-attributes.ts'

/** There is no exchange. */
export const RESOURCE_ROOTS = { env: REQUEST_ROOTS.env! }
const NO_EXCHANGE = {} as Facts

/** `failed`: an expression has no value that can be written. */
export function resourceAttributes(sources: readonly AttributeSource[], failed: () => void): ResourceAttributes {
  const all: (readonly [string, string | number | boolean])[] = []
  const into = {
    add(name: string, value: string | number | boolean | null): boolean {
      if (value !== null) all.push([name, value])
      return true
    }
  }
  for (const { name, expression } of sources) {
    const program = compileExpression(expression, RESOURCE_ROOTS)
    if (!writeField({ name, program }, NO_EXCHANGE, into)) failed()
  }
  return all
}
