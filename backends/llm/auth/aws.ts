/** Requests that Signature Version 4 signs (sigv4.ts), with keys of the configuration or of the default chain. */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { AiAuth } from '#backends/llm/config/snapshot.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { reveal } from '#engine/kit/secret.ts'
import type { Authenticator } from './authenticator.ts'
import { defaultCredentials } from '#backends/shared/auth/aws-chain.ts'
import { removeKeys } from './client-key.ts'
import { fetchText } from '#backends/shared/auth/fetch-text.ts'
import { keptValue } from '#backends/shared/auth/kept.ts'
import { RefreshedValue } from '#backends/shared/auth/refreshed.ts'
import { type Credentials, createSigner, hashOf, type Signer } from '#backends/shared/auth/sigv4.ts'

type AwsAuth = Extract<AiAuth, { readonly kind: 'aws' }>

/** The only one of AWS that serves models, whatever host stands before it. */
const SERVICE = 'bedrock'

export function awsAuthenticator(auth: AwsAuth, provider: Provider, context: BackendContext): Authenticator {
  const region = auth.region ?? provider.signingRegion ?? 'us-east-1'
  const sign = createSigner(region, SERVICE)
  const credentials = credentialsOf(auth, context)
  const isFetched = credentials instanceof RefreshedValue
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      const known = isFetched ? credentials.get() : credentials
      const hash = payloadHash(ex.requestBytes)
      if (known instanceof Promise || hash instanceof Promise) {
        return Promise.all([known, hash]).then((late) => () => signRequest(ex, sign, ...late))
      }
      signRequest(ex, sign, known, hash)
      return null
    },
    refused: () => {
      if (isFetched) credentials.refused()
    }
  }
}

/** Longer ones are hashed in pieces of this size, and others have their turn between them: 1 MiB takes 1 to 3 ms. */
const HASHED_AT_ONCE_BYTES = 1024 * 1024

function payloadHash(body: Buffer | null): string | Promise<string> {
  return body === null || body.length <= HASHED_AT_ONCE_BYTES ? hashOf(body ?? '') : hashInPieces(body)
}

/** WebCrypto, which has threads, takes no memory that threads share (engine/kit/shared-bytes.ts). */
async function hashInPieces(body: Buffer): Promise<string> {
  const hash = createHash('sha256')
  for (let at = 0; at < body.length; at += HASHED_AT_ONCE_BYTES) {
    hash.update(body.subarray(at, at + HASHED_AT_ONCE_BYTES))
    await setImmediate()
  }
  return hash.digest('hex')
}

function signRequest(ex: Exchange, sign: Signer, credentials: Credentials, payloadHash: string): void {
  const { request, method, path } = ex
  const headers: [string, string][] = []
  const foreign: string[] = []
  request.forEach((name, value) => {
    const lower = name.toLowerCase()
    if (lower === 'content-type') headers.push([lower, value])
    // No client says anything to AWS in the gateway's name.
    else if (lower.startsWith('x-amz')) foreign.push(lower)
  })
  for (const name of foreign) request.remove(name)
  const host = ex.upstreamHost ?? ex.authority
  const signed = { method, host, path, query: ex.query.slice(1), headers, payloadHash }
  for (const [name, value] of sign(signed, credentials, Date.now())) request.append(name, value)
}

function credentialsOf({ keys }: AwsAuth, context: BackendContext): Credentials | RefreshedValue<Credentials> {
  if (keys !== null) {
    return {
      accessKeyId: keys.accessKeyId,
      secretAccessKey: reveal(keys.secretAccessKey),
      sessionToken: keys.sessionToken === null ? null : reveal(keys.sessionToken)
    }
  }
  const world = { env: process.env, home: homedir(), ask: fetchText }
  return keptValue('AWS', 'default', context, () => defaultCredentials(world))
}
