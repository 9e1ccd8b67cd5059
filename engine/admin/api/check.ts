/** Configurations that are not in force: every mistake of one, with its place, before anybody has to start with it. */

import { jsonReply } from '#engine/admin/server.ts'
import { CONFIG_TEXT_BYTES_MAX } from '#engine/contract/config-text.ts'
import { z } from '#engine/schema/schema.ts'
import { type Call, type Operation, refusal } from './operation.ts'

export interface AdminChecks {
  /** All that loading finds; nothing is put in force. Absent: the configuration comes from somewhere else. */
  check?(text: string): Promise<CheckedText>
}

export interface CheckedText {
  /** In the order of the text. */
  readonly errors: readonly {
    readonly line: number
    readonly column: number
    readonly path: string
    readonly message: string
    readonly hint?: string
  }[]
  readonly warnings: readonly string[]
  /** It is what runs. */
  readonly isInForce: boolean
}

const ERRORS_MAX = 200
/** They are checked one after the other. */
const AT_ONCE_MAX = 4

const body = () => z.strictObject({ text: z.string().describe('YAML or JSON, as the file would be.') })

const answer = () =>
  z.strictObject({
    isValid: z.boolean().describe('It could be put in force, as far as that is known without opening its ports.'),
    isInForce: z.boolean().describe('It is what runs.'),
    errors: z
      .array(
        z.strictObject({
          line: z.int().min(1),
          column: z.int().min(1),
          path: z.string().describe('Of the field: "binds[0].port"; empty: of the text as a whole.'),
          message: z.string(),
          hint: z.string().nullable().describe('What is allowed, or what was probably meant.')
        })
      )
      .max(ERRORS_MAX),
    errorCount: z.int().describe(`All of them; ${ERRORS_MAX} are listed at most.`),
    warnings: z.array(z.string())
  })

export function checkOperation(checks: AdminChecks): Operation {
  let underWay = 0
  return {
    // Files and URLs that it names are read: what they are is for those who may put it in force.
    ...{ id: 'checkConfiguration', method: 'POST', path: '/configuration/check', tag: 'Gateway', role: 'change' },
    summary: 'All mistakes of a configuration, with their places; nothing is put in force.',
    body: { schema: body(), bytesMax: CONFIG_TEXT_BYTES_MAX },
    replies: { 200: { about: 'What loading it finds.', schema: answer() } },
    refusals: { 409: 'The configuration comes from a controller.', 429: `${AT_ONCE_MAX} are being checked.` },
    answer: async ({ body: input }: Call) => {
      if (checks.check === undefined)
        return refusal(409, 'NOT_A_FILE', 'the configuration comes from a controller: change its resources')
      const read = body().safeParse(input)
      if (!read.success) return refusal(400, 'INVALID', 'the body must be {"text": "binds: ..."}', 'text')
      if (underWay >= AT_ONCE_MAX)
        return refusal(429, 'TOO_MANY', `${AT_ONCE_MAX} are being checked: wait until one is over`)
      underWay++
      try {
        return jsonReply(200, shown(await checks.check(read.data.text)))
      } finally {
        underWay--
      }
    }
  }
}

function shown({ errors, warnings, isInForce }: CheckedText) {
  return {
    isValid: errors.length === 0,
    isInForce,
    errors: errors
      .slice(0, ERRORS_MAX)
      .map(({ line, column, path, message, hint = null }) => ({ line, column, path, message, hint })),
    errorCount: errors.length,
    warnings
  }
}

/** One mistake as a line. */
export function errorText({ line, column, path, message, hint }: CheckedText['errors'][number]): string {
  const where = path === '' ? `${line}:${column}` : `${line}:${column}: ${path}`
  return hint === undefined ? `${where}: ${message}` : `${where}: ${message}; ${hint}`
}
