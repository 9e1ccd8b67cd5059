/** What models cost, and who spends it: the spend log, in JSON or CSV. */

import type { Reply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import type { SpendReply } from '#engine/spend/answers.ts'
import {
  GROUPS,
  QueryError,
  RECORD_FILTERS,
  readPromptsQuery,
  readRecordsQuery,
  readSumsQuery,
  type SpendQuery,
  SUM_FILTERS
} from '#engine/spend/query.ts'
import { type Call, type Operation, type Parameter, refusal } from './operation.ts'

export interface AdminSpend {
  /** Rejects when the file cannot be read. */
  query(query: SpendQuery): Promise<SpendReply>
}

type Reader = typeof readSumsQuery | typeof readRecordsQuery | typeof readPromptsQuery

const TAG = 'Spend'
const TIME = 'a day (2026-05-31, UTC) or an instant with its zone (2026-05-31T08:00:00Z)'
const CSV = ['text/csv']

const COMMON: Readonly<Record<string, Parameter>> = {
  from: { about: `The first moment: ${TIME}. Default: 30 days before \`to\`.`, schema: z.string() },
  to: { about: `The end, not included: ${TIME}. Default: now.`, schema: z.string() },
  limit: { about: 'How many at most.', schema: z.int().min(1) },
  format: { about: 'Default: json, or csv if `accept` wants it.', schema: z.enum(['json', 'csv']) }
}

const filters = (names: readonly string[]): Record<string, Parameter> =>
  Object.fromEntries(
    names.map((name) => [
      name,
      { about: `Only with this ${name}; empty: without any.`, schema: z.string(), isList: true }
    ])
  )

/** `spend`: absent where config.spendLog is not set. */
export function spendOperations(spend: AdminSpend | undefined): readonly Operation[] {
  return [
    {
      ...{ id: 'sumSpend', method: 'GET', path: '/spend', tag: TAG, role: 'see' },
      summary: 'Sums of calls, tokens and money, by what groupBy lists.',
      query: {
        groupBy: { about: `Names with commas between: ${GROUPS.join(', ')}.`, schema: z.string() },
        ...filters(SUM_FILTERS),
        ...COMMON
      },
      replies: { 200: { about: 'The largest cost first. Whole hours.', schema: sums(), types: CSV } },
      refusals: REFUSALS,
      answer: answered(spend, readSumsQuery)
    },
    {
      ...{ id: 'listSpend', method: 'GET', path: '/spend/records', tag: TAG, role: 'see' },
      summary: 'Calls one by one, the newest first.',
      query: {
        cursor: { about: '`next` of the page before.', schema: z.string() },
        ...filters(RECORD_FILTERS),
        ...COMMON
      },
      replies: { 200: { about: 'A page; `x-weir-next-cursor` has `next`, too.', schema: records(), types: CSV } },
      refusals: REFUSALS,
      answer: answered(spend, readRecordsQuery)
    },
    {
      ...{ id: 'listPrompts', method: 'GET', path: '/spend/prompts', tag: TAG, role: 'change' },
      summary: 'Calls one by one with what was said, where config.spendLog.prompts keeps it. For administrators alone.',
      query: {
        cursor: { about: '`next` of the page before.', schema: z.string() },
        ...filters(RECORD_FILTERS),
        ...COMMON
      },
      replies: { 200: { about: 'A page; `x-weir-next-cursor` has `next`, too.', schema: prompts(), types: CSV } },
      refusals: REFUSALS,
      answer: answered(spend, readPromptsQuery)
    }
  ]
}

const REFUSALS = { 404: 'No records are kept: config.spendLog is not set.', 503: 'The file cannot be read.' }

const sums = () =>
  z.strictObject({
    from: z.iso.datetime(),
    to: z.iso.datetime(),
    isComplete: z.boolean().describe('False: there are more than `limit`.'),
    sums: z.array(z.looseObject({ calls: z.int(), cost: z.string().describe('Decimal.'), currency: z.string() }))
  })

const record = () => z.looseObject({ id: z.string(), time: z.iso.datetime(), status: z.int() })

const page = (one: ReturnType<typeof record>) =>
  z.strictObject({
    keepsPrompts: z.boolean().describe('Calls of now are kept with what was said: /spend/prompts tells it.'),
    records: z.array(one),
    next: z.string().nullable().describe('Null: there are no more.')
  })

const records = () => page(record())

const prompts = () => {
  const message = z.strictObject({ role: z.string(), content: z.string() })
  const call = z.strictObject({ id: z.string(), name: z.string(), arguments: z.string().describe('JSON.') })
  const content = z
    .strictObject({
      prompt: z.array(message).describe('The oldest messages are left out first.'),
      answer: z.array(z.string()).describe('A text for each answer.'),
      toolCalls: z.array(call),
      isCut: z.boolean().describe('There was more than is kept.')
    })
    .nullable()
    .describe('As the guards have left it. Null: nothing is kept of this call.')
  return page(record().extend({ content }))
}

function answered(spend: AdminSpend | undefined, read: Reader): (call: Call) => Promise<Reply> {
  return async ({ request: { query: params, headers } }) => {
    if (spend === undefined) return refusal(404, 'NOT_FOUND', 'no records are kept: set config.spendLog')
    try {
      const query = read({ params, now: Date.now(), accept: headers.accept ?? '' })
      const { body, type, next } = await spend.query(query)
      return { status: 200, type, body, ...(next === null ? {} : { headers: { 'x-weir-next-cursor': next } }) }
    } catch (problem) {
      if (problem instanceof QueryError) return refusal(400, 'INVALID', problem.message, problem.field)
      // A disk that fails: the system's message has a path and no secret.
      return refusal(503, 'UNAVAILABLE', `the spend log could not be read: ${(problem as Error).message}`)
    }
  }
}
