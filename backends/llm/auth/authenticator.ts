/** Who the gateway is to a provider: what puts a key, a token or a signature into each request. */
import { createHash } from 'node:crypto'
import { homedir } from 'node:os'
import { setImmediate } from 'node:timers/promises'
import type { AiAuth, AiCloud } from '#backends/llm/config/snapshot.ts'
import type { Provider } from '#backends/llm/providers/provider.ts'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { reveal } from '#engine/kit/secret.ts'
import { defaultCredentials } from './aws-chain.ts'
import { type ClientKeys, putKey, removeKeys } from './client-key.ts'
import { fetchText } from './fetch-text.ts'
import { googleToken } from './google.ts'
import { RefreshedValue } from './refreshed.ts'
import { type Credentials, createSigner, hashOf, type Signer } from './sigv4.ts'

export interface Authenticator {
  /** Whether `client` is looked at. */
  readonly wantsClient: boolean
  /**
   * Shows in ex.request who asks, and nobody else. Method, path, query, host and body are what will be sent. Null:
   * done; a promise only where something has to be fetched first: of what then does it, for who still wants it (another
   * provider may be tried meanwhile, and must not be shown what was fetched for this one). Rejects when that fails.
   */
  readonly authorize: (ex: Exchange, client: ClientKeys) => Promise<() => void> | null
  /** The provider answered 401 or 403. */
  readonly refused: () => void
}

export interface AuthenticatorTarget {
  readonly provider: Provider
  readonly cloud: AiCloud | null
  /** Of the destination. */
  readonly host: string
}

/** Secrets leave the Snapshot here. */
export function authenticatorFor(auth: AiAuth, place: AuthenticatorTarget, context: BackendContext): Authenticator {
  switch (auth.kind) {
    case 'aws': {
      const region = auth.region ?? (place.cloud?.kind === 'bedrock' ? place.cloud.region : 'us-east-1')
      return signing(place.provider, createSigner(region, 'bedrock'), credentialsOf(auth, context))
    }
    case 'gcp':
      return bearing(place.provider, googleTokens(auth, place, context))
    case 'key':
      return keyed(place.provider, reveal(auth.key).replace(/^bearer +/i, ''))
    default:
      return passing(place.provider, auth.kind)
  }
}

const nothing = (): void => {}

function keyed(provider: Provider, key: string): Authenticator {
  return {
    wantsClient: false,
    authorize(ex) {
      removeKeys(ex, provider)
      putKey(ex, provider, key)
      return null
    },
    refused: nothing
  }
}

function passing(provider: Provider, kind: 'client' | 'passthrough'): Authenticator {
  return {
    wantsClient: true,
    authorize(ex, { inRequest, consumed }) {
      const isEmpty = inRequest.key === null && inRequest.other === null
      const { key, other } = isEmpty && kind === 'passthrough' ? consumed : inRequest
      removeKeys(ex, provider, kind)
      if (key !== null) putKey(ex, provider, key)
      // Only a server of one's own may want a user name and a password, and only who says so sends them on.
      else if (other !== null && kind === 'passthrough' && provider.name === 'custom') putKey(ex, provider, other)
      return null
    },
    refused: nothing
  }
}

// --- what has to be fetched ---

function bearing(provider: Provider, tokens: RefreshedValue<string>): Authenticator {
  const put = (ex: Exchange, token: string): void => {
    removeKeys(ex, provider)
    ex.request.append('authorization', `Bearer ${token}`)
  }
  return {
    wantsClient: false,
    authorize(ex) {
      const token = tokens.get()
      if (typeof token !== 'string') return token.then((late) => () => put(ex, late))
      put(ex, token)
      return null
    },
    refused: () => tokens.refused()
  }
}

function signing(
  provider: Provider,
  sign: Signer,
  credentials: Credentials | RefreshedValue<Credentials>
): Authenticator {
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

/**
 * What is fetched is kept over reloads, as long as the thread's connections are: a reload is no reason to ask a token
 * endpoint again.
 */
const KEPT = new WeakMap<object, { readonly aws: Kept<Credentials>; readonly google: Kept<string> }>()
type Kept<T> = Map<string, RefreshedValue<T>>
/** The oldest goes: configurations may come and go with accounts of their own. */
const KEPT_MAX = 256

function keptOf({ upstream }: BackendContext) {
  const known = KEPT.get(upstream)
  if (known !== undefined) return known
  const made = {
    aws: new Map<string, RefreshedValue<Credentials>>(),
    google: new Map<string, RefreshedValue<string>>()
  }
  KEPT.set(upstream, made)
  return made
}

function keep<T>(kept: Kept<T>, key: string, make: () => RefreshedValue<T>): RefreshedValue<T> {
  const known = kept.get(key)
  if (known !== undefined) return known
  const made = make()
  if (kept.size >= KEPT_MAX) kept.delete(kept.keys().next().value!)
  kept.set(key, made)
  return made
}

function credentialsOf(
  { keys }: Extract<AiAuth, { kind: 'aws' }>,
  context: BackendContext
): Credentials | RefreshedValue<Credentials> {
  if (keys !== null) {
    return {
      accessKeyId: keys.accessKeyId,
      secretAccessKey: reveal(keys.secretAccessKey),
      sessionToken: keys.sessionToken === null ? null : reveal(keys.sessionToken)
    }
  }
  const world = { env: process.env, home: homedir(), ask: fetchText, now: Date.now }
  return keep(
    keptOf(context).aws,
    'default',
    () => new RefreshedValue(() => defaultCredentials(world), refreshOptions('AWS', context))
  )
}

function googleTokens(
  { token, audience, credential }: Extract<AiAuth, { kind: 'gcp' }>,
  { host }: AuthenticatorTarget,
  context: BackendContext
): RefreshedValue<string> {
  const json = credential !== null && 'json' in credential ? reveal(credential.json) : null
  const file = credential !== null && 'file' in credential ? credential.file : null
  const wanted = token === 'access' ? null : (audience ?? `https://${host}`)
  const key = JSON.stringify([json === null ? null : createHash('sha256').update(json).digest('hex'), file, wanted])
  const world = { env: process.env, home: homedir(), ask: fetchText, now: Date.now }
  return keep(keptOf(context).google, key, () => {
    return new RefreshedValue(
      () => googleToken({ json, file, audience: wanted }, world),
      refreshOptions('Google', context)
    )
  })
}

const refreshOptions = (whose: string, { log, name }: BackendContext) => ({
  now: Date.now,
  failed: (why: string) => log('warn', `${name}: no credentials of ${whose}: ${why}`)
})
