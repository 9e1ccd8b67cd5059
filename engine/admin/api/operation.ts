/** What the admin API is made of: an Operation for each method of each path (docs/admin-api.md). */

import { jsonReply, type Reply, type Request } from '#engine/admin/server.ts'
import type { ZodType } from '#engine/schema/schema.ts'

/** The first part of all paths. */
export const API_PATH = '/api/v1'

/** What a caller may do; each role may do what those before it may. test: to ask for work, which changes nothing. */
export const ROLES = ['see', 'test', 'change'] as const
export type Role = (typeof ROLES)[number]

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** A part of the path or of the query. */
export interface Parameter {
  readonly about: string
  readonly schema: ZodType
  /** It may come more than once: any of the values. */
  readonly isList?: boolean
}

export interface BodyRule {
  /** Of what clients send, for the document. What is wrong with a body the operation says itself, by field. */
  readonly schema: ZodType
  readonly bytesMax: number
  /** An empty body stands for {}. */
  readonly isOptional?: boolean
}

export interface ReplyRule {
  readonly about: string
  /** Absent: it has no body of JSON. */
  readonly schema?: ZodType
  /** Other content types that it may have. */
  readonly types?: readonly string[]
}

export interface Call {
  readonly request: Request
  /** Parts of the path that have names, decoded. */
  readonly names: Readonly<Record<string, string>>
  /** Parsed JSON; undefined for an operation without a body. */
  readonly body: unknown
}

export interface Operation {
  /** Of the document, for generated clients. */
  readonly id: string
  readonly method: Method
  /** Below API_PATH, with names in braces: "/keys/{name}". */
  readonly path: string
  readonly tag: string
  readonly role: Role
  /** One sentence. */
  readonly summary: string
  readonly names?: Readonly<Record<string, Parameter>>
  readonly query?: Readonly<Record<string, Parameter>>
  readonly body?: BodyRule
  /** Of calls that succeed, by status. */
  readonly replies: Readonly<Record<number, ReplyRule>>
  /** Statuses of calls that do not, beside 400, 403, 404 (of the path), 405, 413 and 415. */
  readonly refusals?: Readonly<Record<number, string>>
  answer(call: Call): Reply | Promise<Reply>
}

/** How every call is answered that does not succeed. `field`: of the body or of the query. */
export function refusal(status: number, code: string, message: string, field?: string): Reply {
  return jsonReply(status, { error: { code, message, ...(field === undefined ? {} : { field }) } })
}
