/** `config.spendLog`: where records of model calls are kept, and for how long (docs/spend.md). */
import { join } from 'node:path'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import { positiveDuration } from '#engine/schema/duration.ts'
import { longString, whole, z } from '#engine/schema/schema.ts'

const HOURS_MS = 3_600_000
const RECORDS_AGE_MS = 30 * 24 * HOURS_MS
const SUMS_AGE_MS = 400 * 24 * HOURS_MS
const MIB = 1024 * 1024
const BYTES_MIN = 16 * MIB
const BYTES = 1024 * MIB

const PROMPT_BYTES_MIN = 256
const PROMPT_BYTES_MAX = 256 * 1024
const PROMPT_BYTES = 16 * 1024

const age = () => positiveDuration('must be longer than 0')

const promptsSchema = z
  .strictObject({
    maxBytes: whole(PROMPT_BYTES_MIN, PROMPT_BYTES_MAX)
      .optional()
      .describe('Of the prompt of a call, of its answer and of its calls of tools, each. Default 16384.'),
    traces: z.boolean().optional().describe('Spans of tracing have them, too. Default false.')
  })
  .describe('Keeps prompts and answers with the records, as the guards have left them. Default: they are not kept.')

export const spendLogSchema = z
  .strictObject({
    path: longString().optional().describe('A folder on a disk of its own machine. Default: spend in that of state.'),
    recordsMaxAge: age().optional().describe('Age at which single records are removed. Default 720h.'),
    sumsMaxAge: age().optional().describe('Age at which their sums by hour are removed. Default 9600h.'),
    maxBytes: whole(BYTES_MIN, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Of the file: the oldest records make room beyond. Default 1 GiB.'),
    prompts: promptsSchema.optional()
  })
  .describe('Keeps a record of each model call, and sums of them, for people and programs to ask for.')

/** `folder` of config.state. The schema has seen to it that one of both is there. */
export function translateSpendLog(input: z.output<typeof spendLogSchema>, folder: string | undefined): SpendLogSpec {
  const { prompts } = input
  return {
    path: input.path ?? join(folder!, 'spend'),
    recordsMaxAgeMs: input.recordsMaxAge ?? RECORDS_AGE_MS,
    sumsMaxAgeMs: input.sumsMaxAge ?? SUMS_AGE_MS,
    bytesMax: input.maxBytes ?? BYTES,
    ...(prompts === undefined
      ? {}
      : { prompts: { bytesMax: prompts.maxBytes ?? PROMPT_BYTES, isTraced: prompts.traces ?? false } })
  }
}
