/** One fetch of a key set (RFC 7517) over HTTP: bounded in time and size, redirects are not followed. */
import { fetchText } from './fetch-text.ts'
import { KEY_SET_CHARS_MAX, type KeySet, readKeySet } from './jwt-keys.ts'
import type { MinRsaExponent } from './weak-keys.ts'

/** From the connection to the last byte. */
const FETCH_MS_MAX = 5_000
/** A character is up to three bytes. */
const BYTES_MAX = 3 * KEY_SET_CHARS_MAX

/** Rejects with an Error that says in words why there are no keys; nothing of the response is quoted. */
export async function fetchKeys(url: string, exponentMin?: MinRsaExponent, timeoutMs = FETCH_MS_MAX): Promise<KeySet> {
  const accept = 'application/jwk-set+json, application/json'
  const { status, text } = await fetchText(url, { headers: { accept } }, { bytesMax: BYTES_MAX, timeoutMs })
  if (status !== 200) throw new Error(statusText(status))
  return readKeySet(text, exponentMin)
}

function statusText(status: number): string {
  if (status < 300 || status >= 400) return `the answer has status ${status}`
  return `the answer has status ${status}: redirects are not followed, give the final URL`
}
