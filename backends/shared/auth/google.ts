/**
 * Access and id tokens of Google. Sources: "Using OAuth 2.0 for server to server applications" (JWT bearer grant, RFC
 * 7523), "How Application Default Credentials works" and "Get an ID token" of Google Cloud's documentation.
 */
import { createHash, createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { BackendContext } from '#engine/contract/backend.ts'
import type { GcpAuth } from '#engine/contract/backend-auth/auth.ts'
import { reveal } from '#engine/kit/secret.ts'
import { type FetchText, fetchText, parseObject, TokenFetchError, textOf, tokenOf } from './fetch-text.ts'
import { keptValue } from './kept.ts'
import type { Fetched, RefreshedValue } from './refreshed.ts'

export interface GoogleEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly ask: FetchText
  /** Gives up what is asked. */
  readonly signal: AbortSignal
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface GoogleTokenRequest {
  /** JSON of an account, or where it is; both null: application default credentials. */
  readonly json: string | null
  readonly file: string | null
  /** Of an id token; null: an access token. */
  readonly audience: string | null
}

const TOKEN_URL = 'https://oauth2.googleapis.com/token'
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const METADATA = '/computeMetadata/v1/instance/service-accounts/default'
const TIMEOUT_MS = 5_000
/** It is on the same machine, or nowhere. */
const METADATA_TIMEOUT_MS = 3_000
const HOUR_S = 3_600

type Account = Readonly<Record<string, unknown>>

/**
 * To be called while a backend is compiled. Tokens for `host`, each until shortly before it ends. Null: clients name
 * the host, and check.ts requires the audience, so that they cannot have a token fetched for each name they invent.
 */
export function googleTokens(
  { token, audience, credential }: GcpAuth,
  host: string | null,
  context: BackendContext
): RefreshedValue<string> {
  const json = credential !== null && 'json' in credential ? reveal(credential.json) : null
  const file = credential !== null && 'file' in credential ? credential.file : null
  const wanted = token === 'access' ? null : (audience ?? audienceOf(host))
  const key = JSON.stringify([json === null ? null : createHash('sha256').update(json).digest('hex'), file, wanted])
  const world = { env: process.env, home: homedir(), ask: fetchText, now: Date.now }
  const wish = { json, file, audience: wanted }
  return keptValue('Google', key, context, (signal) => googleToken(wish, { ...world, signal }))
}

function audienceOf(host: string | null): string {
  if (host === null) throw new Error('an id token for hosts that clients name needs its audience')
  return `https://${host}`
}

/** Rejects with an AskError. */
export async function googleToken(wish: GoogleTokenRequest, world: GoogleEnvironment): Promise<Fetched<string>> {
  const text = wish.json ?? (await accountText(wish, world))
  if (text === null) return await fromMetadata(wish, world)
  const account = parseObject(text, 'the credential')
  if (account.type === 'service_account') return await fromAccount(account, wish, world)
  if (account.type === 'authorized_user') return await fromUser(account, wish, world)
  const type = typeof account.type === 'string' && /^[a-z_]{1,64}$/.test(account.type) ? account.type : 'unknown'
  throw new TokenFetchError(`a credential of type ${type} is not in this version of weir: use a service account`)
}

/** Null: there is none, and the machine's own account is meant. */
async function accountText({ file }: GoogleTokenRequest, { env, home }: GoogleEnvironment): Promise<string | null> {
  const named = file ?? (env.GOOGLE_APPLICATION_CREDENTIALS || null)
  const folder = env.CLOUDSDK_CONFIG || join(home, '.config', 'gcloud')
  try {
    return await readFile(named ?? join(folder, 'application_default_credentials.json'), 'utf8')
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    if (named === null && code === 'ENOENT') return null
    throw new TokenFetchError(`the file of the credential cannot be read (${code})`)
  }
}

async function fromAccount(
  account: Account,
  wish: GoogleTokenRequest,
  world: GoogleEnvironment
): Promise<Fetched<string>> {
  const url = tokenUrl(account)
  const at = Math.floor(world.now() / 1000)
  const claims = {
    iss: textOf(account, 'client_email', 'the credential'),
    aud: url,
    iat: at,
    exp: at + HOUR_S,
    ...(wish.audience === null ? { scope: SCOPE } : { target_audience: wish.audience })
  }
  const kid = typeof account.private_key_id === 'string' ? { kid: account.private_key_id } : {}
  const assertion = await signed({ alg: 'RS256', typ: 'JWT', ...kid }, claims, keyOf(account))
  return await exchange(url, { grant_type: GRANT, assertion }, wish, world)
}

function keyOf(account: Account): KeyObject {
  const pem = textOf(account, 'private_key', 'the credential')
  try {
    return createPrivateKey(pem)
  } catch {
    throw new TokenFetchError('the private_key of the credential is not a key')
  }
}

const signLater = promisify<string, Buffer, KeyObject, Buffer>(sign)

async function signed(header: object, claims: object, key: KeyObject): Promise<string> {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${(await signLater('RSA-SHA256', Buffer.from(text), key)).toString('base64url')}`
}

/** Of a service account. Anything but TLS would show the assertion to the network. */
function tokenUrl({ token_uri: tokenUri }: Account): string {
  if (tokenUri === undefined) return TOKEN_URL
  const url = typeof tokenUri === 'string' && URL.canParse(tokenUri) ? new URL(tokenUri) : null
  if (url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname)))) {
    return url.href
  }
  throw new TokenFetchError('the token_uri of the credential must be an https URL')
}

export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

async function fromUser(
  account: Account,
  wish: GoogleTokenRequest,
  world: GoogleEnvironment
): Promise<Fetched<string>> {
  if (wish.audience !== null) throw new TokenFetchError('an id token needs a service account')
  const form = {
    grant_type: 'refresh_token',
    client_id: textOf(account, 'client_id', 'the credential'),
    client_secret: textOf(account, 'client_secret', 'the credential'),
    refresh_token: textOf(account, 'refresh_token', 'the credential')
  }
  return await exchange(tokenUrl(account), form, wish, world)
}

async function exchange(
  url: string,
  form: Readonly<Record<string, string>>,
  wish: GoogleTokenRequest,
  world: GoogleEnvironment
): Promise<Fetched<string>> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
  const body = new URLSearchParams(form).toString()
  const answer = parseObject(
    await world.ask(url, { method: 'POST', headers, body, timeoutMs: TIMEOUT_MS, signal: world.signal }),
    'the answer of the token endpoint'
  )
  return wish.audience === null ? accessToken(answer, world) : idToken(tokenOf(answer, 'id_token', 'the answer'))
}

function accessToken(answer: Account, { now }: GoogleEnvironment): Fetched<string> {
  const { expires_in: seconds } = answer
  if (typeof seconds !== 'number' || !(seconds > 0)) throw new TokenFetchError('the answer has no expires_in')
  return { value: tokenOf(answer, 'access_token', 'the answer'), expiresAt: now() + seconds * 1000 }
}

/** Its end is one of its claims. The receiver verifies the signature. */
function idToken(token: string): Fetched<string> {
  const payload = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  const { exp } = parseObject(payload, 'the payload of the id token')
  if (typeof exp !== 'number' || !Number.isFinite(exp))
    throw new TokenFetchError('the id token does not say when it ends')
  return { value: token, expiresAt: exp * 1000 }
}

async function fromMetadata({ audience }: GoogleTokenRequest, world: GoogleEnvironment): Promise<Fetched<string>> {
  const base = `http://${world.env.GCE_METADATA_HOST || 'metadata.google.internal'}${METADATA}`
  const question = { headers: { 'metadata-flavor': 'Google' }, timeoutMs: METADATA_TIMEOUT_MS, signal: world.signal }
  if (audience === null) {
    return accessToken(
      parseObject(await world.ask(`${base}/token`, question), 'the answer of the metadata server'),
      world
    )
  }
  const query = new URLSearchParams({ audience, format: 'full' }).toString()
  const token = (await world.ask(`${base}/identity?${query}`, question)).trim()
  return idToken(tokenOf({ token }, 'token', 'the answer of the metadata server'))
}
