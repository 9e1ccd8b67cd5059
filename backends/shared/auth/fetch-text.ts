/** One request to a token endpoint or a metadata server: bounded in time and size, redirects are not followed. */
import { fetchText as askText, FetchTextError } from '#engine/contract/outbound-text.ts'
import { parseJson } from '#engine/kit/json.ts'

export interface FetchOptions {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** From the connection to the last byte. */
  readonly timeoutMs: number
  /** Gives it up. */
  readonly signal: AbortSignal
}

/** The text of an answer with status 200. Rejects with AskError. */
export type FetchText = (url: string, question: FetchOptions) => Promise<string>

/** Says in words why there is no answer; nothing that was sent or came is quoted, but an OAuth error's code. */
export class TokenFetchError extends Error {
  /** Of the answer; null: there was none. */
  readonly status: number | null

  constructor(message: string, status: number | null = null) {
    super(message)
    this.status = status
  }
}

const BYTES_MAX = 64 * 1024

export const fetchText: FetchText = async (url, { timeoutMs, signal, method = 'GET', headers = {}, body }) => {
  const { host } = new URL(url)
  const request = { method, headers, ...(body === undefined ? {} : { body }) }
  const bounds = { bytesMax: BYTES_MAX, timeoutMs, signal, isOwn: true }
  const { status, text } = await askText(url, request, bounds, () => true).catch((error: unknown) => {
    throw error instanceof FetchTextError ? new TokenFetchError(`${host} ${reasonOf(error, timeoutMs)}`) : error
  })
  if (status === 200) return text
  throw new TokenFetchError(`${host} answered with status ${status}${oauthCode(text)}`, status)
}

function reasonOf({ kind, code }: FetchTextError, timeoutMs: number): string {
  if (kind === 'tooLong') return `answered with more than ${BYTES_MAX} bytes`
  if (kind === 'timeout') return `gave no complete answer within ${timeoutMs} ms`
  return `cannot be reached${code === null ? '' : ` (${code})`}`
}

/** RFC 6749 section 5.2: a word, and safe to show. */
function oauthCode(text: string): string {
  const code = /"error"\s*:\s*"([a-z_]{1,40})"/.exec(text)?.[1]
  return code === undefined ? '' : `: ${code}`
}

/** A JSON object out of `text`, or an AskError that names `what`. */
export function parseObject(text: string, what: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text)
  if (value === undefined) throw new TokenFetchError(`${what} is not valid JSON`)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new TokenFetchError(`${what} is not a JSON object`)
}

/** A member that must be text, fit for a header line where it ends up in one. */
export function textOf(object: Readonly<Record<string, unknown>>, name: string, what: string): string {
  const value = Object.hasOwn(object, name) ? object[name] : undefined
  if (typeof value === 'string' && value !== '') return value
  throw new TokenFetchError(`${what} has no ${name}`)
}

const VISIBLE = /^[!-~]+$/

/** As textOf, of visible ASCII characters only. */
export function tokenOf(object: Readonly<Record<string, unknown>>, name: string, what: string): string {
  const value = textOf(object, name, what)
  if (VISIBLE.test(value)) return value
  throw new TokenFetchError(`the ${name} of ${what} has characters that it must not have`)
}
