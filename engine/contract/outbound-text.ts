/** One request for a text, beside exchanges: bounded in time and size, redirects are not followed. */
import { outboundFetch } from './outbound.ts'

export interface FetchBounds {
  readonly bytesMax: number
  /** From the connection to the last byte. */
  readonly timeoutMs: number
  /** Gives it up. */
  readonly signal?: AbortSignal
  /** The URL is not one that the configuration says (outboundFetch). Default false. */
  readonly isOwn?: boolean
}

export interface FetchedText {
  readonly status: number
  /** UTF-8; '' unless the status is wanted. */
  readonly text: string
}

/** Says in words why there is no text; nothing that was sent or came is quoted. */
export class FetchTextError extends Error {
  readonly kind: 'timeout' | 'tooLong' | 'unreachable'
  /** Of the system, of what cannot be reached: "ECONNREFUSED"; null: it gives none. */
  readonly code: string | null

  constructor(kind: FetchTextError['kind'], message: string, code: string | null = null) {
    super(message)
    this.kind = kind
    this.code = code
  }
}

/**
 * The answer, whatever its status; its body is read when `wanted` says so (200 when left out). Rejects with
 * FetchTextError.
 */
export async function fetchText(
  url: string,
  request: Pick<RequestInit, 'headers' | 'method' | 'body'>,
  { bytesMax, timeoutMs, signal: over, isOwn = false }: FetchBounds,
  wanted: (status: number) => boolean = (status) => status === 200
): Promise<FetchedText> {
  const late = new AbortController()
  // That of AbortSignal.timeout() stays for as long when the answer is there or given up.
  const timer = setTimeout(() => late.abort(), timeoutMs).unref()
  const signal = over === undefined ? late.signal : AbortSignal.any([late.signal, over])
  try {
    const response = await outboundFetch(url, { ...request, signal }, isOwn)
    const { status } = response
    if (wanted(status)) return { status, text: await readBody(response, bytesMax) }
    await response.body?.cancel()
    return { status, text: '' }
  } catch (error) {
    if (error instanceof FetchTextError) throw error
    if (late.signal.aborted) throw new FetchTextError('timeout', `no complete answer within ${timeoutMs} ms`)
    throw unreachable(error as Error)
  } finally {
    clearTimeout(timer)
  }
}

async function readBody({ body }: Response, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > bytesMax) throw new FetchTextError('tooLong', `the answer is longer than ${bytesMax} bytes`)
      pieces.push(piece)
    }
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** The HTTP client says "fetch failed"; the reason is its cause. */
function unreachable({ message, cause }: Error): FetchTextError {
  const { code = null } = (cause ?? {}) as { readonly code?: string }
  return new FetchTextError('unreachable', code === null ? message : `${message} (${code})`, code)
}
