/** Fetches one document over HTTP: bounded in time and size, redirects are not followed. */
import { outboundFetch } from '#engine/contract/outbound.ts'

export interface FetchBounds {
  readonly bytesMax: number
  /** From the connection to the last byte. */
  readonly timeoutMs: number
  /** Gives it up. */
  readonly signal?: AbortSignal
}

export interface Fetched {
  readonly status: number
  /** UTF-8; '' unless the status is wanted. */
  readonly text: string
}

/**
 * The answer, whatever its status; its body is read when `wanted` says so (200 when left out). Rejects with an Error
 * that says in words why there is none; nothing of the response is quoted.
 */
export async function fetchText(
  url: string,
  request: Pick<RequestInit, 'headers' | 'method' | 'body'>,
  { bytesMax, timeoutMs, signal: over }: FetchBounds,
  wanted: (status: number) => boolean = (status) => status === 200
): Promise<Fetched> {
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = over === undefined ? timeout : AbortSignal.any([timeout, over])
  try {
    const response = await outboundFetch(url, { ...request, signal, redirect: 'manual' })
    const { status } = response
    if (wanted(status)) return { status, text: await readBody(response, bytesMax) }
    await response.body?.cancel()
    return { status, text: '' }
  } catch (error) {
    if (error instanceof Refused) throw error
    if (timeout.aborted) throw new Error(`no complete answer within ${timeoutMs} ms`)
    throw new Error(explain(error as Error))
  }
}

/** Our own reason, as opposed to one of the HTTP client. */
class Refused extends Error {}

async function readBody({ body }: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > bytesMax) throw new Refused(`the answer is longer than ${bytesMax} bytes`)
      pieces.push(piece)
    }
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The HTTP client says "fetch failed"; the reason is its cause. */
function explain({ message, cause }: Error): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return code === undefined ? message : `${message} (${code})`
}
