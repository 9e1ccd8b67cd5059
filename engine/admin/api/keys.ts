/** Keys of clients, and budgets. */
import type { BudgetReport } from '#engine/accounts/budget-report.ts'
import { ApiError, type ApiErrorCode, type KeyApi } from '#engine/accounts/key-api.ts'
import { madeKeySchema } from '#engine/accounts/schema.ts'
import { jsonReply, type Reply } from '#engine/admin/server.ts'
import { z } from '#engine/schema/schema.ts'
import { type Call, type Operation, refusal } from './operation.ts'

export interface AdminKeys {
  readonly keys: KeyApi
  /** Rejects where they are kept elsewhere, and that is away. */
  budgets(): Promise<readonly BudgetReport[]>
}

/** A key may list models and have metadata. */
const KEY_BYTES_MAX = 64 * 1024

const STATUS: { readonly [code in ApiErrorCode]: number } = {
  NOT_FOUND: 404,
  INVALID: 400,
  CONFLICT: 409,
  NO_STATE: 409,
  FULL: 409
}

const NAME = { name: { about: 'The name of the key.', schema: z.string() } }
const TAG = 'Keys'
const UNAVAILABLE = 'What keeps the keys (a disk, a server) is away; nothing has changed.'

const instant = (about: string) => z.iso.datetime().describe(about)

/** A key as it is shown: never its value. */
const shownKey = () =>
  z.looseObject({
    name: z.string(),
    source: z.enum(['api', 'configuration']).describe('Keys of the configuration are changed there.'),
    owner: z.string().optional(),
    team: z.string().optional(),
    organisation: z.string().optional(),
    tags: z.array(z.string()).optional(),
    models: z.array(z.string()).optional().describe('Absent: all.'),
    expires: z.string().optional(),
    revoked: z.boolean().optional(),
    createdAt: instant('Of keys of the API.').optional(),
    changedAt: instant('Of keys of the API.').optional(),
    previousValidUntil: instant('After a rotation: until when the value before is good.').optional()
  })

const valueShown = () => shownKey().extend({ key: z.string().describe('Its value. Nobody can ask for it again.') })

export function keyOperations({ keys, budgets }: AdminKeys): readonly Operation[] {
  const written = { 409: 'It is there already, is of the configuration, or nothing keeps keys.', 503: UNAVAILABLE }
  return [
    {
      ...{ id: 'listKeys', method: 'GET', path: '/keys', tag: TAG, role: 'see', summary: 'All keys.' },
      replies: {
        200: { about: 'Keys of the configuration, then those of the API.', schema: listOf('keys', shownKey()) }
      },
      answer: () => jsonReply(200, { keys: keys.list() })
    },
    {
      ...{ id: 'createKey', method: 'POST', path: '/keys', tag: TAG, role: 'change', summary: 'Makes a key.' },
      body: { schema: madeKeySchema(), bytesMax: KEY_BYTES_MAX },
      replies: { 201: { about: 'The key, with its value.', schema: valueShown() } },
      refusals: written,
      answer: checked(async ({ body }) => jsonReply(201, await keys.create(body)))
    },
    {
      ...{ id: 'getKey', method: 'GET', path: '/keys/{name}', tag: TAG, role: 'see', summary: 'One key.', names: NAME },
      replies: { 200: { about: 'The key, without its value.', schema: shownKey() } },
      refusals: { 404: 'There is no such key.' },
      answer: checked(({ names }) => jsonReply(200, keys.get(names.name!)))
    },
    {
      ...{ id: 'changeKey', method: 'PATCH', path: '/keys/{name}', tag: TAG, role: 'change', names: NAME },
      summary: 'Replaces fields of a key; null takes one away.',
      body: { schema: z.looseObject({ revoked: z.boolean().optional() }), bytesMax: KEY_BYTES_MAX },
      replies: { 200: { about: 'The key as it is now.', schema: shownKey() } },
      refusals: { 404: 'There is no such key.', ...written },
      answer: checked(async ({ names, body }) => jsonReply(200, await keys.change(names.name!, body)))
    },
    {
      ...{ id: 'removeKey', method: 'DELETE', path: '/keys/{name}', tag: TAG, role: 'change', names: NAME },
      summary: 'Removes a key; what it has spent stays in the books.',
      replies: { 204: { about: 'It is gone.' } },
      refusals: { 404: 'There is no such key.', ...written },
      answer: checked(async ({ names }) => {
        await keys.remove(names.name!)
        return { status: 204, body: '' }
      })
    },
    {
      ...{ id: 'rotateKey', method: 'POST', path: '/keys/{name}/rotate', tag: TAG, role: 'change', names: NAME },
      summary: 'A new value; the one before is good for a time.',
      body: { schema: rotation(), bytesMax: KEY_BYTES_MAX, isOptional: true },
      replies: { 200: { about: 'The key, with its new value.', schema: valueShown() } },
      refusals: { 404: 'There is no such key.', ...written },
      answer: checked(async ({ names, body }) => jsonReply(200, await keys.rotate(names.name!, body)))
    },
    {
      ...{ id: 'listBudgets', method: 'GET', path: '/budgets', tag: TAG, role: 'see' },
      summary: 'Each budget, and how much of it is used.',
      replies: { 200: { about: 'Decimal texts in the currency of the prices.', schema: listOf('budgets', budget()) } },
      refusals: { 503: UNAVAILABLE },
      answer: async () => {
        try {
          return jsonReply(200, { budgets: await budgets() })
        } catch (problem) {
          return refusal(503, 'UNAVAILABLE', (problem as Error).message)
        }
      }
    }
  ]
}

const listOf = (name: string, item: z.ZodType) => z.strictObject({ [name]: z.array(item) })

const rotation = () =>
  z.strictObject({
    gracePeriod: z.string().optional().describe('A duration, at most 2160h. Default "24h"; "0s": none.')
  })

const budget = () =>
  z.strictObject({
    account: z.string().describe('"key alice", "team research".'),
    period: z.string().describe('"per month", "in 24h".'),
    amount: z.string(),
    spent: z.string(),
    reserved: z.string().describe('Set aside for calls under way.'),
    resetsAt: instant('Null: it does not begin anew.').nullable()
  })

/** With the answers to what can be wrong. */
function checked(answer: (call: Call) => Reply | Promise<Reply>): Operation['answer'] {
  return async (call) => {
    try {
      return await answer(call)
    } catch (problem) {
      if (problem instanceof ApiError)
        return refusal(STATUS[problem.code], problem.code, problem.message, problem.field)
      // A disk that is full, a server that is away: what they say has a path or an address, and no secret.
      return refusal(503, 'UNAVAILABLE', `the change could not be written: ${(problem as Error).message}`)
    }
  }
}
