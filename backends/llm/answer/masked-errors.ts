/**
 * Answers that are not what their status says. Some are errors: gateways and servers of chat completions answer 200
 * with {"error": ...}. Clients take that for an answer and fail on what is not in it.
 */

import type { ChatError, FormatName, Json, JsonObject } from '#backends/llm/conversation.ts'
import { errorIn, hasFailed } from '#backends/llm/formats/completions/error.ts'
import { statusOf } from '#backends/llm/formats/error-types.ts'
import { isObject } from '#backends/llm/formats/fields.ts'
import { FORMATS } from '#backends/llm/formats/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'

/** What answers say something in, of any format: one with an error beside it says more than that. */
const OF_ANSWERS = ['choices', 'content', 'output', 'candidates', 'data', 'embedding', 'embeddings'] as const

/** The error that `value` is; null: it is none. */
export function maskedError(format: FormatName, value: Json): ChatError | null {
  // Google's compatible endpoint has a list of one.
  const whole = Array.isArray(value) && value.length === 1 ? (value[0] as Json) : value
  if (!isObject(whole)) return null
  const error = errorIn(whole)
  if (error === null || isAnswer(whole)) return null
  // Converse has the members of an error at the top, all others in `error`.
  const read = FORMATS[format].readError(500, JSON.stringify({ ...error, error }))
  return { ...read, status: statusIn(error) ?? statusOf(read.type) }
}

/** A response of OpenAI says in a word of its own that it has failed. */
const isAnswer = (whole: JsonObject): boolean =>
  whole.object === 'response' || OF_ANSWERS.some((name) => saysMore(whole[name] ?? null))

function saysMore(value: Json): boolean {
  if (!Array.isArray(value)) return value !== null && value !== ''
  return !(value as readonly Json[]).every((one) => isObject(one) && (one.finish_reason === 'error' || hasFailed(one)))
}

/** Of the fields in which servers repeat it. */
function statusIn(error: JsonObject): number | null {
  for (const name of ['code', 'status', 'status_code', 'http_code']) {
    const status = Number(error[name])
    if (Number.isInteger(status) && status >= 400 && status <= 599) return status
  }
  return null
}

/** Whether another provider may do better. */
export const isFailure = (status: number): boolean => status === 429 || status >= 500

/** Whether the head of an answer says so, or is no provider's. */
export const hasFailedHead = ({ status, response }: Exchange): boolean => isFailure(status) || isPage(status, response)

function isPage(status: number, response: Exchange['response']): boolean {
  const type = status < 300 ? (response?.get('content-type') ?? '') : ''
  return type !== JSON_TYPE && HTML.test(type)
}

/** Why the answer cannot be one that a client understands; null: it may be. */
export function unreadable({ status, response }: Exchange, isCoded: boolean): string | null {
  if (isRedirect(status)) return REDIRECTS
  if (isPage(status, response)) return 'it is a page of HTML'
  return isCoded ? 'it is compressed, although identity was asked for' : null
}

/** As a rule. */
const JSON_TYPE = 'application/json'
/** Of a proxy or a login in front of the provider. */
const HTML = /^\s*text\/html\b/i

export const REDIRECTS = 'it sends the request elsewhere'

/** A client that followed would go around this gateway, with its credential. */
export const isRedirect = (status: number): boolean => status >= 300 && status < 400
