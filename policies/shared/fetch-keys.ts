/** One fetch of a key set (RFC 7517) over HTTP: bounded in time and size, redirects are not followed. */
import { KEY_SET_CHARS_MAX, type KeySet, readKeySet } from './jwt-keys.ts'

/** From the connection to the last byte. */
const FETCH_MS_MAX = 5_000
/** A character is up to three bytes. */
const BYTES_MAX = 3 * KEY_SET_CHARS_MAX

/** Rejects with an Error that says in words why there are no keys; nothing of the response is quoted. */
export async function fetchKeys(url: string, timeoutMs = FETCH_MS_MAX): Promise<KeySet> {
  return readKeySet(await fetchText(url, AbortSignal.timeout(timeoutMs), timeoutMs))
}

async function fetchText(url: string, signal: AbortSignal, timeoutMs: number): Promise<string> {
  try {
    const headers = { accept: 'application/jwk-set+json, application/json' }
    const response = await fetch(url, { signal, headers, redirect: 'manual' })
    if (response.status !== 200) {
      await response.body?.cancel()
      throw new Refused(statusText(response.status))
    }
    return await readBody(response)
  } catch (error) {
    if (error instanceof Refused) throw error
    if (signal.aborted) throw new Error(`no complete answer within ${timeoutMs} ms`)
    throw new Error(explain(error as Error))
  }
}

/** Our own reason, as opposed to one of the HTTP client. */
class Refused extends Error {}

function statusText(status: number): string {
  if (status < 300 || status >= 400) return `the answer has status ${status}`
  return `the answer has status ${status}: redirects are not followed, give the final URL`
}

async function readBody({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  if (body !== null) {
    for await (const piece of body) {
      bytes += piece.length
      if (bytes > BYTES_MAX) throw new Refused(`the answer is longer than ${BYTES_MAX} bytes`)
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
