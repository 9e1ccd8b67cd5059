/**
 * A real Keycloak for conformance runs: fetched by Maven into a cache outside the repository, started on a port of its
 * own, with one realm that is made by its admin API: one person, and anybody may register clients.
 */
import { type ExecFileSyncOptions, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { cacheFolder } from '#engine/testing/conformance-cache.ts'

export const KEYCLOAK_VERSION = '26.3.5'
export const PERSON = { username: 'ann', password: 'secret of ann' }
const ADMIN = { username: 'admin', password: 'admin of a test' }
const REALM = 'house'
/** A first start makes a database. */
const START_MS_MAX = 600_000

export interface Keycloak {
  /** Of the realm. */
  readonly issuer: string
  /** Of the realm. */
  readonly admin: AdminRequest
  /**
   * Tokens of clients that register from now on are for this audience (Keycloak 26.3 does not look at RFC 8707's
   * `resource`).
   */
  admit(audience: string): Promise<void>
  stop(): Promise<void>
}

/** Needs Java 17, Maven and Python. */
function installed(): string {
  const cache = cacheFolder('keycloak')
  const home = join(cache, `keycloak-${KEYCLOAK_VERSION}`)
  if (existsSync(join(home, 'bin', 'kc.sh'))) return home
  const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:zip`
  const quiet: ExecFileSyncOptions = { stdio: ['ignore', 'ignore', 'inherit'] }
  execFileSync('mvn', ['-q', 'dependency:get', `-Dartifact=${artifact}`, '-Dtransitive=false'], quiet)
  const copy = ['-q', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${cache}`]
  execFileSync('mvn', copy, quiet)
  const zip = join(cache, `keycloak-quarkus-dist-${KEYCLOAK_VERSION}.zip`)
  execFileSync('python3', ['-m', 'zipfile', '-e', zip, cache], quiet)
  return home
}

export async function startKeycloak(port: number): Promise<Keycloak> {
  const home = installed()
  const options = ['start-dev', '--http-host=127.0.0.1', `--http-port=${port}`, '--cache=local', '--db=dev-mem']
  const child = spawn('bash', [join(home, 'bin', 'kc.sh'), ...options], {
    // A group of its own: the script starts Java as a child.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: ADMIN.username, KC_BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password }
  })
  const gone = once(child, 'exit')
  const stop = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    process.kill(-child.pid!, 'SIGTERM')
    await gone
  }
  await listening(child.stdout, gone)
  const origin = `http://127.0.0.1:${port}`
  const admin = await adminOf(origin)
  await makeRealm(admin)
  return { issuer: `${origin}/realms/${REALM}`, admin, admit: (audience) => admit(admin, audience), stop }
}

async function listening(output: NodeJS.ReadableStream, gone: Promise<unknown>): Promise<void> {
  const lines = createInterface({ input: output })
  const listens = new Promise<boolean>((resolve) => {
    lines.on('line', (line) => {
      if (line.includes('Listening on:')) resolve(true)
    })
  })
  const late = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), START_MS_MAX).unref())
  if (!(await Promise.race([listens, late, gone.then(() => false)]))) throw new Error('Keycloak does not start')
}

/** Path below the realm's admin API; null: the collection of realms. Rejects when the status is no success. */
type AdminRequest = (method: string, path: string | null, body?: unknown) => Promise<unknown>

async function adminOf(origin: string): Promise<AdminRequest> {
  const form = new URLSearchParams({ grant_type: 'password', client_id: 'admin-cli', ...ADMIN })
  const url = `${origin}/realms/master/protocol/openid-connect/token`
  const token = async (): Promise<string> => {
    const answer = await fetch(url, { method: 'POST', body: form })
    return ((await answer.json()) as { access_token: string }).access_token
  }
  return async (method, path, body) => {
    const target = `${origin}/admin/realms${path === null ? '' : `/${REALM}${path}`}`
    const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' }
    const request = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await fetch(target, request)
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${text}`)
    return text === '' ? null : (JSON.parse(text) as unknown)
  }
}

async function makeRealm(admin: AdminRequest): Promise<void> {
  const credentials = [{ type: 'password', value: PERSON.password, temporary: false }]
  const person = { username: PERSON.username, email: 'ann@house.example', firstName: 'Ann', lastName: 'A' }
  // Tokens of five seconds: a client that goes on has to renew them.
  await admin('POST', null, { realm: REALM, enabled: true, sslRequired: 'none', accessTokenLifespan: 5 })
  // Not with the realm: only a user made in this way has the usual roles.
  await admin('POST', '/users', { ...person, enabled: true, emailVerified: true, credentials })
  const components = (await admin('GET', '/components')) as { id: string; providerId: string; subType?: string }[]
  const of = (id: string) => components.find(({ providerId, subType }) => providerId === id && subType === 'anonymous')!
  const policy = of('trusted-hosts')
  const config = {
    'trusted-hosts': ['127.0.0.1', 'localhost'],
    'host-sending-registration-request-must-match': ['true'],
    'client-uris-must-match': ['true']
  }
  await admin('PUT', `/components/${policy.id}`, { ...policy, config })
  // The Python SDK registers for all scopes that the issuer names, where the gateway names none.
  await admin('DELETE', `/components/${of('allowed-client-templates').id}`)
}

async function admit(admin: AdminRequest, audience: string): Promise<void> {
  const scopes = (await admin('GET', '/client-scopes')) as { id: string; name: string }[]
  const before = scopes.find(({ name }) => name === 'gateway')
  if (before !== undefined) await admin('DELETE', `/client-scopes/${before.id}`)
  const mapper = {
    name: 'audience',
    protocol: 'openid-connect',
    protocolMapper: 'oidc-audience-mapper',
    config: { 'included.custom.audience': audience, 'access.token.claim': 'true' }
  }
  const attributes = { 'include.in.token.scope': 'false' }
  const scope = { name: 'gateway', protocol: 'openid-connect', attributes, protocolMappers: [mapper] }
  await admin('POST', '/client-scopes', scope)
  const made = ((await admin('GET', '/client-scopes')) as typeof scopes).find(({ name }) => name === 'gateway')!
  await admin('PUT', `/default-default-client-scopes/${made.id}`)
}
