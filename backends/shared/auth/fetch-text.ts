/** One request to a token endpoint or a metadata server: bounded in time and size, redirects are not followed. */
import { outboundFetch } from '#engine/contract/outbound.ts'
import { parseJson } from '#engine/kit/json.ts'

export interface FetchOptions {
  readonly method?: 'GET' | 'POST' | 'PUT'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** From the connection to the last byte. */
  readonly timeoutMs: number
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

export const fetchText: FetchText = async (url, { timeoutMs, method = 'GET', headers = {}, body }) => {
  const signal = AbortSignal.timeout(timeoutMs)
  const { host } = new URL(url)
  try {
    const init = { method, headers, signal, redirect: 'manual', ...(body === undefined ? {} : { body }) } as const
    const response = await outboundFetch(url, init)
    const text = await readText(response, host)
    if (response.status === 200) return text
    throw new TokenFetchError(`${host} answered with status ${response.status}${oauthCode(text)}`, response.status)
  } catch (error) {
    if (error instanceof TokenFetchError) throw error
    if (signal.aborted) throw new TokenFetchError(`${host} gave no complete answer within ${timeoutMs} ms`)
    const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException
    throw new TokenFetchError(`${host} cannot be reached${code === undefined ? '' : ` (${code})`}`)
  }
}

async function readText({ body }: Response, host: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > BYTES_MAX) throw new TokenFetchError(`${host} answered with more than ${BYTES_MAX} bytes`)
      pieces.push(piece)
    }
  }
  return Buffer.concat(pieces).toString('utf8')
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
