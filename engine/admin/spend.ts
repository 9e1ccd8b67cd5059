/** /api/v1/spend and /api/v1/spend/records: JSON or CSV; errors are {error: {code, message, field?}}. */
import type { SpendReply } from '#engine/spend/answers.ts'
import { QueryError, readRecordsQuery, readSumsQuery, type SpendQuery } from '#engine/spend/query.ts'
import { jsonReply, type Reply, type Request } from './server.ts'

export interface AdminSpend {
  /** Rejects when the file cannot be read. */
  query(query: SpendQuery): Promise<SpendReply>
}

const READERS: Readonly<Record<string, typeof readSumsQuery | typeof readRecordsQuery>> = {
  '/api/v1/spend': readSumsQuery,
  '/api/v1/spend/records': readRecordsQuery
}

const error = (status: number, code: string, message: string, field?: string): Reply =>
  jsonReply(status, { error: { code, message, ...(field === undefined ? {} : { field }) } })

/** Null: the path is none of these. `spend`: absent where config.spendLog is not set. */
export async function answerSpend(spend: AdminSpend | undefined, request: Request): Promise<Reply | null> {
  const { path, method, query: params, headers } = request
  const read = Object.hasOwn(READERS, path) ? READERS[path] : undefined
  if (read === undefined) return null
  if (method !== 'GET' && method !== 'HEAD')
    return { ...error(405, 'METHOD_NOT_ALLOWED', 'use GET'), headers: { allow: 'GET, HEAD' } }
  if (spend === undefined) return error(404, 'NOT_FOUND', 'no records are kept: set config.spendLog')
  try {
    const query = read({ params, now: Date.now(), accept: headers.accept ?? '' })
    const { body, type, next } = await spend.query(query)
    return { status: 200, type, body, ...(next === null ? {} : { headers: { 'x-weir-next-cursor': next } }) }
  } catch (problem) {
    if (problem instanceof QueryError) return error(400, 'INVALID', problem.message, problem.field)
    // A disk that fails: the system's message has a path and no secret.
    return error(503, 'UNAVAILABLE', `the spend log could not be read: ${(problem as Error).message}`)
  }
}
