/** Requests that Signature Version 4 signs (sigv4.ts), with keys of the configuration or of the default chain. */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { AwsAuth } from '#engine/contract/backend-auth/auth.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { reveal } from '#engine/kit/secret.ts'
import { defaultCredentials } from './aws-chain.ts'
import { fetchText } from './fetch-text.ts'
import { keptValue } from './kept.ts'
import { RefreshedValue } from './refreshed.ts'
import { type Credentials, createSigner, hashOf } from './sigv4.ts'

/** A request as it will be sent: nothing of it changes any more. */
export interface OutgoingRequest {
  readonly method: string
  readonly path: string
  /** With its leading "?", or "". */
  readonly query: string
  /** As it goes into Host or :authority. */
  readonly host: string
  readonly headers: HeaderBlock
  /** Null: there is none, or none that is to be read. */
  readonly body: Buffer | null
}

export interface AwsRequestSigner {
  /** Null: it is signed. A promise: `what it resolves to` signs it. Rejects without credentials. */
  sign(request: OutgoingRequest): Promise<() => void> | null
  /** The signature was refused: the keys may have been withdrawn. */
  refused(): void
}

/** Of the configuration, or fetched. */
export type AwsCredentials = Credentials | RefreshedValue<Credentials>

export interface SigningScope {
  readonly region: string
  readonly service: string
  /** The service takes requests whose body the signature does not cover. */
  readonly isBodyUnsigned?: boolean
  /** Whether the hash of the body is said in a field of its own, as S3 demands. */
  readonly saysHash?: boolean
}

/** As S3 names it; TLS protects the body then. */
const UNSIGNED = 'UNSIGNED-PAYLOAD'

/** Appends the fields of a signature; those of the request that the signature takes are what AWS demands. */
export function awsRequestSigner(credentials: AwsCredentials, scope: SigningScope): AwsRequestSigner {
  const { isBodyUnsigned = false, saysHash = false } = scope
  const signer = createSigner(scope.region, scope.service)
  const isFetched = credentials instanceof RefreshedValue

  function sign(request: OutgoingRequest, keys: Credentials, payloadHash: string): void {
    const { method, host, path, query, headers: block } = request
    if (saysHash) block.append('x-amz-content-sha256', payloadHash)
    const headers: [string, string][] = []
    block.forEach((name, value) => {
      headers.push([name, value])
    })
    const signable = { method, host, path, query: query.slice(1), headers, payloadHash }
    for (const [name, value] of signer(signable, keys, Date.now())) block.append(name, value)
  }

  return {
    sign(request) {
      const known = isFetched ? credentials.get() : credentials
      const hash = isBodyUnsigned ? UNSIGNED : payloadHash(request.body)
      if (known instanceof Promise || hash instanceof Promise) {
        return Promise.all([known, hash]).then((late) => () => sign(request, ...late))
      }
      sign(request, known, hash)
      return null
    },
    refused() {
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

/** To be called while a backend is compiled. */
export function awsCredentials({ keys }: AwsAuth, context: BackendContext): AwsCredentials {
  if (keys !== null) {
    return {
      accessKeyId: keys.accessKeyId,
      secretAccessKey: reveal(keys.secretAccessKey),
      sessionToken: keys.sessionToken === null ? null : reveal(keys.sessionToken)
    }
  }
  const world = { env: process.env, home: homedir(), ask: fetchText }
  return keptValue('AWS', 'default', context, (signal) => defaultCredentials({ ...world, signal }))
}
