/**
 * The credentials that AWS's own programs would use here. Source: "Standardized credential providers" of the AWS SDKs
 * and tools reference guide. In order: environment, profile of the shared files, web identity (EKS), container
 * endpoint (ECS, EKS Pod Identity), instance metadata (IMDSv2 only). One that is configured and broken ends the search:
 * its author does not mean the machine's own role.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type FetchText, parseObject, TokenFetchError, textOf, tokenOf } from './fetch-text.ts'
import { isLoopback } from './google.ts'
import type { Fetched } from './refreshed.ts'
import type { Credentials } from './sigv4.ts'

export interface AwsEnvironment {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
  readonly ask: FetchText
  /** Gives up what is asked. */
  readonly signal: AbortSignal
}

type Found = Fetched<Credentials>
/** One section of a shared file: key -> value. */
type Section = ReadonlyMap<string, string>

const TIMEOUT_MS = 5_000
/** It is on the same machine, or nowhere. Seconds, as the programs of AWS read AWS_METADATA_SERVICE_TIMEOUT. */
const METADATA_TIMEOUT_S = 1
const METADATA_TIMEOUT_S_MAX = 60
const CONTAINER_HOST = 'http://169.254.170.2'
/** Of ECS and of EKS Pod Identity: the only ones that may be asked without TLS, beside the machine itself. */
const CONTAINER_HOSTS: readonly string[] = ['169.254.170.2', '169.254.170.23', '[fd00:ec2::23]']
const IMDS_HOST = 'http://169.254.169.254'
const IMDS_ROLES = '/latest/meta-data/iam/security-credentials/'
const SESSION_S = 21_600

/** Rejects with an AskError. */
export async function defaultCredentials(world: AwsEnvironment): Promise<Found> {
  const found =
    fromEnvironment(world) ??
    (await fromProfile(world)) ??
    (await fromWebIdentity(world)) ??
    (await fromContainer(world))
  if (found !== null) return found
  if (world.env.AWS_EC2_METADATA_DISABLED?.toLowerCase() === 'true') {
    throw new TokenFetchError('neither the environment nor the shared files have any')
  }
  return await fromInstance(world)
}

function fixed(accessKeyId: string, secretAccessKey: string, token: string | undefined): Found {
  return { value: { accessKeyId, secretAccessKey, sessionToken: token || null }, expiresAt: Infinity }
}

function fromEnvironment({ env }: AwsEnvironment): Found | null {
  const { AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: key, AWS_SESSION_TOKEN: token } = env
  return id && key ? fixed(id, key, token) : null
}

// --- shared files ---

/** What a profile may ask for and does not get here. */
const FOREIGN = ['sso_session', 'sso_start_url', 'credential_process', 'source_profile', 'credential_source']

async function fromProfile(world: AwsEnvironment): Promise<Found | null> {
  const { env, home } = world
  const name = env.AWS_PROFILE || 'default'
  const credentials = await readIni(env.AWS_SHARED_CREDENTIALS_FILE || join(home, '.aws', 'credentials'))
  const config = await readIni(env.AWS_CONFIG_FILE || join(home, '.aws', 'config'))
  const settings = config.get(name === 'default' && !config.has('profile default') ? name : `profile ${name}`)
  const secrets = credentials.get(name)
  if (settings === undefined && secrets === undefined) {
    if (env.AWS_PROFILE) throw new TokenFetchError('the profile that AWS_PROFILE names is in no shared file')
    return null
  }
  for (const section of [secrets, settings]) {
    const id = section?.get('aws_access_key_id')
    const key = section?.get('aws_secret_access_key')
    if (id && key) return fixed(id, key, section?.get('aws_session_token'))
  }
  const get = (key: string) => settings?.get(key) ?? secrets?.get(key)
  const [file, role] = [get('web_identity_token_file'), get('role_arn')]
  if (file && role) return await assumeRole({ file, role, session: get('role_session_name') }, world)
  const foreign = FOREIGN.find((key) => get(key) !== undefined)
  if (foreign !== undefined)
    throw new TokenFetchError(`the profile has ${foreign}, which is not in this version of weir`)
  return null
}

/** Sections by name; empty when there is no such file. */
async function readIni(path: string): Promise<Map<string, Section>> {
  const sections = new Map<string, Map<string, string>>()
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return sections
    throw new TokenFetchError(`a shared file of AWS cannot be read (${code})`)
  }
  let current: Map<string, string> | null = null
  for (const line of text.split(/\r?\n/)) {
    // What is indented belongs to the setting above, and no setting that is read here has such.
    if (line === '' || /^[\s#;]/.test(line)) continue
    const name = /^\[([^\]]*)\]/.exec(line)?.[1]
    if (name !== undefined) {
      const key = name.trim().replace(/\s+/g, ' ')
      current = sections.get(key) ?? new Map()
      sections.set(key, current)
    } else if (current !== null && line.includes('=')) {
      const at = line.indexOf('=')
      current.set(line.slice(0, at).trim().toLowerCase(), line.slice(at + 1).trim())
    }
  }
  return sections
}

// --- web identity ---

interface Role {
  readonly file: string
  readonly role: string
  readonly session: string | undefined
}

async function fromWebIdentity(world: AwsEnvironment): Promise<Found | null> {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role, AWS_ROLE_SESSION_NAME: session } = world.env
  return file && role ? await assumeRole({ file, role, session }, world) : null
}

/** AssumeRoleWithWebIdentity (API reference of AWS STS): not signed, the token says who asks. */
async function assumeRole({ file, role, session }: Role, { env, ask, signal }: AwsEnvironment): Promise<Found> {
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1'
  if (!/^[a-z0-9-]{1,63}$/.test(region)) throw new TokenFetchError('AWS_REGION is not the name of a region')
  const url = env.AWS_ENDPOINT_URL_STS || `https://sts.${region}.amazonaws.com/`
  if (!URL.canParse(url)) throw new TokenFetchError('AWS_ENDPOINT_URL_STS is not a URL')
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: session || 'weir',
    WebIdentityToken: (await readToken(file)).trim()
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const xml = await ask(url, { method: 'POST', headers, body: body.toString(), timeoutMs: TIMEOUT_MS, signal })
  const part = (name: string) => new RegExp(`<${name}>([^<]{1,8192})</${name}>`).exec(xml)?.[1]
  return temporary({
    AccessKeyId: part('AccessKeyId'),
    SecretAccessKey: part('SecretAccessKey'),
    Token: part('SessionToken'),
    Expiration: part('Expiration')
  })
}

async function readToken(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code = 'unreadable' } = error as NodeJS.ErrnoException
    throw new TokenFetchError(`the file of a token cannot be read (${code})`)
  }
}

// --- endpoints on the machine ---

async function fromContainer({ env, ask, signal }: AwsEnvironment): Promise<Found | null> {
  const relative = env.AWS_CONTAINER_CREDENTIALS_RELATIVE_URI
  const url = relative ? `${CONTAINER_HOST}${relative}` : env.AWS_CONTAINER_CREDENTIALS_FULL_URI
  if (!url) return null
  const parsed = URL.canParse(url) ? new URL(url) : null
  const isSafe = (to: URL) =>
    to.protocol === 'https:' ||
    (to.protocol === 'http:' && (CONTAINER_HOSTS.includes(to.hostname) || isLoopback(to.hostname)))
  if (parsed === null || !isSafe(parsed)) {
    throw new TokenFetchError('AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or a host of the container service')
  }
  const file = env.AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
  const token = (file ? await readToken(file) : (env.AWS_CONTAINER_AUTHORIZATION_TOKEN ?? '')).trim()
  const headers = token === '' ? {} : { authorization: tokenOf({ token }, 'token', 'the container') }
  const text = await ask(parsed.href, { headers, timeoutMs: metadataTimeoutMs(env), signal })
  return temporary(parseObject(text, 'the answer of the container endpoint'))
}

/** "Use the Instance Metadata Service to access instance metadata" of the Amazon EC2 user guide. */
async function fromInstance({ env, ask, signal }: AwsEnvironment): Promise<Found> {
  const endpoint = env.AWS_EC2_METADATA_SERVICE_ENDPOINT || IMDS_HOST
  if (!URL.canParse(endpoint)) throw new TokenFetchError('AWS_EC2_METADATA_SERVICE_ENDPOINT is not a URL')
  const base = endpoint.replace(/\/$/, '')
  const timeoutMs = metadataTimeoutMs(env)
  const session = await ask(`${base}/latest/api/token`, {
    method: 'PUT',
    headers: { 'x-aws-ec2-metadata-token-ttl-seconds': String(SESSION_S) },
    timeoutMs,
    signal
  })
  const headers = { 'x-aws-ec2-metadata-token': tokenOf({ session: session.trim() }, 'session', 'instance metadata') }
  const roles = await ask(`${base}${IMDS_ROLES}`, { headers, timeoutMs, signal })
  const role = roles.trim().split('\n')[0]!.trim()
  if (role === '') throw new TokenFetchError('the instance has no role')
  const text = await ask(`${base}${IMDS_ROLES}${encodeURIComponent(role)}`, { headers, timeoutMs, signal })
  return temporary(parseObject(text, 'the answer of instance metadata'))
}

/** Of one request. */
function metadataTimeoutMs({ AWS_METADATA_SERVICE_TIMEOUT: text }: AwsEnvironment['env']): number {
  const seconds = text ? Number(text) : METADATA_TIMEOUT_S
  if (seconds > 0 && seconds <= METADATA_TIMEOUT_S_MAX) return Math.ceil(seconds * 1_000)
  const range = `seconds, more than 0 and up to ${METADATA_TIMEOUT_S_MAX}`
  throw new TokenFetchError(`AWS_METADATA_SERVICE_TIMEOUT must be ${range}`)
}

/** As all endpoints of AWS tell them. */
function temporary(object: Readonly<Record<string, unknown>>): Found {
  const what = 'the answer with credentials'
  const expiresAt = Date.parse(textOf(object, 'Expiration', what))
  if (Number.isNaN(expiresAt)) throw new TokenFetchError(`the Expiration of ${what} is not a time`)
  const value = {
    accessKeyId: tokenOf(object, 'AccessKeyId', what),
    secretAccessKey: tokenOf(object, 'SecretAccessKey', what),
    sessionToken: tokenOf(object, 'Token', what)
  }
  return { value, expiresAt }
}
