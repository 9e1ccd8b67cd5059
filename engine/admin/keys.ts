/** /api/v1/keys and /api/v1/budgets: JSON in, JSON out; errors are {error: {code, message, field?}}. */

import type { BudgetReport } from '#engine/accounts/budget-report.ts'
import { ApiError, type ApiErrorCode, type KeyApi } from '#engine/accounts/key-api.ts'
import { parseJson } from '#engine/kit/json.ts'
import { jsonReply, type Reply, type Request } from './server.ts'

export interface AdminKeys {
  readonly keys: KeyApi
  /** Rejects where they are kept elsewhere, and that is away. */
  budgets(): Promise<readonly BudgetReport[]>
}

export const KEYS_PATH = '/api/v1/keys'
export const BUDGETS_PATH = '/api/v1/budgets'

/** A key may list models and have metadata. */
export const KEY_BYTES_MAX = 64 * 1024

const STATUS: { readonly [code in ApiErrorCode]: number } = {
  NOT_FOUND: 404,
  INVALID: 400,
  CONFLICT: 409,
  NO_STATE: 409,
  FULL: 409
}

const error = (status: number, code: string, message: string, field?: string): Reply =>
  jsonReply(status, { error: { code, message, ...(field === undefined ? {} : { field }) } })

/** Null: the path is none of these. */
export async function answerKeys({ keys, budgets }: AdminKeys, request: Request): Promise<Reply | null> {
  const { path, method } = request
  const verb = method === 'HEAD' ? 'GET' : method
  if (path === BUDGETS_PATH) return verb === 'GET' ? await answerBudgets(budgets) : notAllowed('GET, HEAD')
  const place = placeOf(path)
  if (place === null) return null
  const acts = actsOf(keys, place)
  const act = Object.hasOwn(acts, verb) ? acts[verb] : undefined
  if (act === undefined) return notAllowed(Object.keys(acts).join(', '))
  try {
    if (verb === 'GET' || verb === 'DELETE') return await act(undefined)
    // What a form of another site can send has another type.
    if (!/^application\/json(?:\s*;|$)/i.test(request.headers['content-type'] ?? ''))
      return error(415, 'UNSUPPORTED_MEDIA_TYPE', 'changes need content-type: application/json')
    const text = (await request.body()).toString()
    const body = text === '' && place.isRotation ? {} : parseJson(text)
    if (body === undefined) return error(400, 'INVALID', 'the body must be JSON')
    return await act(body)
  } catch (problem) {
    if (problem instanceof ApiError) return error(STATUS[problem.code], problem.code, problem.message, problem.field)
    // A disk that is full, a server that is away: what they say has a path or an address, and no secret.
    return error(503, 'UNAVAILABLE', `the change could not be written: ${(problem as Error).message}`)
  }
}

async function answerBudgets(budgets: AdminKeys['budgets']): Promise<Reply> {
  try {
    return jsonReply(200, { budgets: await budgets() })
  } catch (problem) {
    return error(503, 'UNAVAILABLE', (problem as Error).message)
  }
}

interface Place {
  /** Null: all of them. */
  readonly name: string | null
  readonly isRotation: boolean
}

function placeOf(path: string): Place | null {
  if (path === KEYS_PATH) return { name: null, isRotation: false }
  const [, name, rotate] = /^\/api\/v1\/keys\/([A-Za-z0-9][A-Za-z0-9_.-]*)(\/rotate)?$/.exec(path) ?? []
  return name === undefined ? null : { name, isRotation: rotate !== undefined }
}

function actsOf(
  keys: KeyApi,
  { name, isRotation }: Place
): Readonly<Record<string, (body: unknown) => Reply | Promise<Reply>>> {
  if (name === null) {
    return {
      GET: () => jsonReply(200, { keys: keys.list() }),
      POST: async (body) => jsonReply(201, await keys.create(body))
    }
  }
  if (isRotation) return { POST: async (body) => jsonReply(200, await keys.rotate(name, body)) }
  return {
    GET: () => jsonReply(200, keys.get(name)),
    PATCH: async (body) => jsonReply(200, await keys.change(name, body)),
    DELETE: async () => {
      await keys.remove(name)
      return { status: 204, body: '' }
    }
  }
}

function notAllowed(allow: string): Reply {
  return { ...error(405, 'METHOD_NOT_ALLOWED', `use ${allow}`), headers: { allow } }
}
