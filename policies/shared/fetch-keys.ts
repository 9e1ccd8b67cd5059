/** One fetch of a key set (RFC 7517) over HTTP: bounded in time and size, redirects are not followed. */

import { fetchText } from '#engine/contract/outbound-text.ts'
import type { HttpService, HttpServiceAnswer, ServiceFailure } from '#engine/contract/service.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { KEY_SET_CHARS_MAX, type KeySet, readKeySet } from './jwt-keys.ts'
import type { MinRsaExponent } from './weak-keys.ts'

/** From the connection to the last byte. */
const FETCH_MS_MAX = 5_000
/** A character is up to three bytes. */
const BYTES_MAX = 3 * KEY_SET_CHARS_MAX
const ACCEPT = 'application/jwk-set+json, application/json'

/**
 * Rejects with an Error that says in words why there are no keys; nothing of the response is quoted. `signal` gives it
 * up.
 */
export async function fetchKeys(
  url: string,
  signal: AbortSignal,
  exponentMin?: MinRsaExponent,
  timeoutMs = FETCH_MS_MAX
): Promise<KeySet> {
  const headers = { accept: ACCEPT }
  const { status, text } = await fetchText(url, { headers }, { bytesMax: BYTES_MAX, timeoutMs, signal })
  if (status !== 200) throw new Error(statusText(status, 'give the final URL'))
  return readKeySet(text, exponentMin)
}

/** As `fetchKeys`, from a service. `path` begins with "/" and may have a query. */
export async function fetchKeysFrom(
  service: HttpService,
  path: string,
  signal: AbortSignal,
  exponentMin?: MinRsaExponent,
  timeoutMs = FETCH_MS_MAX
): Promise<KeySet> {
  const answer = await get(service, path, signal, timeoutMs)
  if (answer.error !== null) throw new Error(failureText(answer, timeoutMs))
  if (answer.status !== 200) throw new Error(statusText(answer.status, 'give the final path as jwksPath'))
  return readKeySet(answer.body.toString('utf8'), exponentMin)
}

function get(
  service: HttpService,
  path: string,
  signal: AbortSignal,
  timeoutMs: number
): Promise<HttpServiceAnswer | ServiceFailure> {
  const headers = new HeaderBlock()
  headers.set('accept', ACCEPT)
  const mark = path.indexOf('?')
  const target = mark < 0 ? { path, query: '' } : { path: path.slice(0, mark), query: path.slice(mark) }
  const rest = { method: 'GET', headers, body: null, answerBytesMax: BYTES_MAX, timeoutMs, ex: null }
  return new Promise((resolve) => {
    const call = service.request({ ...target, ...rest }, resolve)
    signal.addEventListener('abort', () => call.cancel(), { once: true })
  })
}

function failureText({ error, detail }: ServiceFailure, timeoutMs: number): string {
  if (error === 'DEADLINE') return `no complete answer within ${timeoutMs} ms`
  return error === 'TOO_LARGE' ? `the answer is longer than ${BYTES_MAX} bytes` : detail
}

function statusText(status: number, mending: string): string {
  if (status < 300 || status >= 400) return `the answer has status ${status}`
  return `the answer has status ${status}: redirects are not followed, ${mending}`
}
