/**
 * Tokens of IBM Cloud's Identity and Access Management for API keys ("Generating an IBM Cloud IAM token by using an
 * API key"). A key goes there in the body of a form, and nowhere else.
 */
import { createHash } from 'node:crypto'
import type { Authenticator } from '#backends/llm/auth/authenticator.ts'
import { bearing } from '#backends/llm/auth/bearer.ts'
import { fetchText, parseObject, TokenFetchError, tokenOf } from '#backends/shared/auth/fetch-text.ts'
import { keptValue } from '#backends/shared/auth/kept.ts'
import type { Fetched } from '#backends/shared/auth/refreshed.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { KeyAuth } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'
import { isJwt, type Provider } from './provider.ts'

export const IAM = 'https://iam.cloud.ibm.com'
const GRANT = 'urn:ibm:params:oauth:grant-type:apikey'
const TIMEOUT_MS = 5_000

/**
 * Null: `auth` is shown as it is. That is a token, or what has a header of its own: "ZenApiKey ..." of Cloud Pak for
 * Data, which has no such exchange.
 */
export function exchangingKeys(
  iamUrl: string,
  provider: Provider,
  { key: sealed, location }: KeyAuth,
  context: BackendContext
): Authenticator | null {
  const key = reveal(sealed)
  if (location !== null || isJwt(key) || /^bearer /i.test(key)) return null
  const whose = JSON.stringify([iamUrl, createHash('sha256').update(key).digest('hex')])
  return bearing(
    provider,
    keptValue('IBM Cloud', whose, context, (signal) => tokenFor(key, iamUrl, signal))
  )
}

/** Rejects with a TokenFetchError. */
async function tokenFor(key: string, iamUrl: string, signal: AbortSignal): Promise<Fetched<string>> {
  const text = await fetchText(`${iamUrl}/identity/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams({ grant_type: GRANT, apikey: key }).toString(),
    timeoutMs: TIMEOUT_MS,
    signal
  })
  const answer = parseObject(text, 'the answer of the token endpoint')
  const { expires_in: seconds } = answer
  if (typeof seconds !== 'number' || !(seconds > 0)) throw new TokenFetchError('the answer has no expires_in')
  return { value: tokenOf(answer, 'access_token', 'the answer'), expiresAt: Date.now() + seconds * 1000 }
}
