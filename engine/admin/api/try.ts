/** What people try out before they write it into a configuration: expressions, and what guards find in a text. */

import { jsonReply, type Reply } from '#engine/admin/server.ts'
import { evaluateSample } from '#engine/cel/sample.ts'
import { SAMPLE_PLACES } from '#engine/cel/sample-places.ts'
import { BUILTIN_NAMES } from '#engine/kit/scan/builtins.ts'
import { type RuleSet, render, rulesOf, spansOf } from '#engine/kit/scan/rules.ts'
import { regexSource } from '#engine/schema/http.ts'
import { z } from '#engine/schema/schema.ts'
import { type Call, type Operation, refusal } from './operation.ts'

const TAG = 'Policies'
const BYTES_MAX = 256 * 1024
/** As those of the configuration. */
const EXPRESSION_CHARS_MAX = 16_384
const PATTERNS_MAX = 16
/** A pattern takes up to a microsecond for a character, in the main thread. */
const TEXT_CHARS_MAX = 16 * 1024

const expressionTried = () =>
  z.strictObject({
    expression: z.string().min(1).max(EXPRESSION_CHARS_MAX),
    place: z
      .enum(SAMPLE_PLACES)
      .optional()
      .describe('Where it would stand, which decides what it may read. Default log: everything.'),
    sample: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'Values by the names of expressions: {"request": {"url": "http://a/b", "headers": {}}, "jwt": {"sub": "ann"}}. What follows from request.url need not be written.'
      )
  })

const problem = () =>
  z.strictObject({
    message: z.string(),
    field: z.string().optional().describe('Of the sample; absent: of the expression.'),
    line: z.int().optional(),
    column: z.int().optional(),
    offset: z.int().optional().describe('UTF-16 units.'),
    length: z.int().optional()
  })

const expressionResult = () =>
  z.union([
    z.strictObject({ ok: z.literal(false), problems: z.array(problem()) }),
    z.strictObject({
      ok: z.literal(true),
      type: z.string().describe('dyn: only a run can tell.'),
      error: z.strictObject({ code: z.string(), message: z.string() }).nullable(),
      value: z.unknown().optional(),
      valueType: z.string().optional(),
      reads: z.array(z.strictObject({ name: z.string(), value: z.unknown().optional() })),
      cost: z.strictObject({
        steps: z.int().describe('Of about 50 ns, beside loops.'),
        stepsMax: z.int(),
        perElement: z.int().describe('Loops inside each other over what a request brings.')
      })
    })
  ])

const guardTried = () =>
  z.strictObject({
    text: z.string().max(TEXT_CHARS_MAX),
    builtins: z.array(z.enum(BUILTIN_NAMES)).optional(),
    matches: z.array(regexSource()).max(PATTERNS_MAX).optional().describe('Expressions in RE2 syntax.')
  })

const guardResult = () =>
  z.strictObject({
    found: z
      .array(
        z.strictObject({
          start: z.int().describe('UTF-16 units.'),
          end: z.int(),
          mask: z.string().describe('What stands in its place.')
        })
      )
      .describe('In order; what overlaps is one.'),
    masked: z.string()
  })

export function tryOperations(): readonly Operation[] {
  return [
    {
      ...{ id: 'tryExpression', method: 'POST', path: '/cel', tag: TAG, role: 'test' },
      summary: 'What an expression of CEL says of a sample, and what is wrong with it.',
      body: { schema: expressionTried(), bytesMax: BYTES_MAX },
      replies: { 200: { about: 'Its value, or its mistakes with their places.', schema: expressionResult() } },
      answer: (call) =>
        answered(call, expressionTried(), ({ expression, place = 'log', sample = {} }) =>
          evaluateSample(expression, place, sample)
        )
    },
    {
      ...{ id: 'tryGuard', method: 'POST', path: '/guards', tag: TAG, role: 'test' },
      summary: 'What patterns of prompt guards find in a text.',
      body: { schema: guardTried(), bytesMax: BYTES_MAX },
      replies: { 200: { about: 'What is found, and the text as a model would get it.', schema: guardResult() } },
      answer: (call) =>
        answered(call, guardTried(), ({ text, builtins = [], matches = [] }) =>
          searched(text, { builtins, patterns: matches })
        )
    }
  ]
}

/** Refuses a body that is none of `schema`, by its first field that is wrong. */
function answered<T>({ body }: Call, schema: z.ZodType<T>, answer: (input: T) => object): Reply {
  const input = schema.safeParse(body)
  if (input.success) return jsonReply(200, answer(input.data))
  const { path, message } = input.error.issues[0]!
  return refusal(400, 'INVALID', message, path.join('.') || undefined)
}

function searched(text: string, rules: RuleSet) {
  const spans = spansOf(text, rulesOf(rules))
  return { found: spans.map(({ start, end, by }) => ({ start, end, mask: by })), masked: render(text, 0, spans) }
}
