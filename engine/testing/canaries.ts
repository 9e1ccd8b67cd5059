/**
 * A valid configuration with a secret of its own in every place where one belongs, each in its proper form, and what
 * must not be seen of them anywhere.
 */
import { createHash, generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { selfSigned } from './certificates.ts'

/** What the configuration leads to. Nobody listens on `dead`, and what listens on `plain` speaks no TLS. */
export interface Surroundings {
  readonly folder: string
  readonly port: number
  readonly tlsPort: number
  readonly llmPort: number
  readonly admin: string
  readonly stats: string
  readonly dead: number
  readonly plain: number
  /** An OpenAPI document; whatever the query is. */
  readonly document: string
}

export class Canaries {
  /** As they stand in the configuration. */
  readonly made: string[] = []
  readonly #seen = new Map<string, string>()

  /** A secret with letters and digits, as most are; `before` makes it one of its vendor. */
  make(name: string, before = ''): string {
    const text = createHash('sha256').update(name).digest('hex').slice(0, 32)
    this.add(name, text)
    this.made.push(`${before}${text}`)
    return `${before}${text}`
  }

  /** Parts of `text` are secret too: what is cut off or encoded elsewhere is found. */
  add(name: string, text: string): void {
    this.#seen.set(text.slice(0, 20), name)
    this.#seen.set(text.slice(-12), name)
    this.#seen.set(Buffer.from(text).toString('base64').slice(4, 20), name)
  }

  /** Names of what of them is in `text`. */
  in(text: string): string[] {
    return [...new Set([...this.#seen].filter(([part]) => text.includes(part)).map(([, name]) => name))]
  }
}

/** What callers of the admin port show. */
export const ADMIN_TOKEN = createHash('sha256').update('admin token').digest('hex').slice(0, 40)

/** Lines of a PEM file, which logs would show in parts. */
function keyFile(canaries: Canaries, name: string, folder: string, text: string): string {
  const path = join(folder, `${name}.key`)
  writeFileSync(path, text)
  canaries.add(name, text.split('\n')[1]!)
  return path
}

function serviceAccount(canaries: Canaries, dead: number): string {
  const text = signingKey(canaries, 'credential.inline')
  return JSON.stringify({
    type: 'service_account',
    client_email: 'a@project.iam.gserviceaccount.com',
    private_key_id: canaries.make('private_key_id'),
    private_key: text,
    token_uri: `http://127.0.0.1:${dead}/token`
  })
}

/** Fields of the schema that hold a secret, by their last two keys, with what stands there in the configuration. */
export const SECRET_FIELDS = [
  ...['auth.key', 'aws.secretAccessKey', 'aws.sessionToken', 'credential.inline', 'params.apiKey', 'session.key'],
  ...['keys.key', 'keys.keyHash', 'keys.metadata', 'basicAuthentication.htpasswd', 'tls.key'],
  ...['additionalCertificates.key', 'spendWebhook.signingKey', 'state.password', 'cache.password', 'stored.key'],
  ...['semantic.key', 'qdrant.apiKey', 'jwtSign.signingKey', 'tokens.hash']
]

/** `env`: for secrets that come as $NAME. */
export function canaryConfig(canaries: Canaries, around: Surroundings): { file: object; env: Record<string, string> } {
  const { folder, dead } = around
  const pair = selfSigned(['canary.test'])
  const cert = join(folder, 'canary.pem')
  writeFileSync(cert, pair.cert)
  const tls = { cert, key: keyFile(canaries, 'tls.key', folder, pair.key) }
  const env = { CANARY_KEY: canaries.make('variable', 'sk-'), CANARY_USER: canaries.make('variable of a URL') }
  const other = selfSigned(['other.canary.test'])
  const otherCert = join(folder, 'other.pem')
  writeFileSync(otherCert, other.cert)
  const otherKey = keyFile(canaries, 'additionalCertificates.key', folder, other.key)
  const manyTls = { ...tls, additionalCertificates: [{ cert: otherCert, key: otherKey }] }
  const secure = {
    name: 'secure',
    protocol: 'HTTPS',
    tls: manyTls,
    routes: [{ policies: { directResponse: { status: 200 } } }]
  }
  const params = { baseUrl: `http://127.0.0.1:${dead}/v1`, apiKey: canaries.make('params.apiKey', 'sk-') }
  const semantic = {
    ...{ embeddings: 'm', threshold: 0.9, key: canaries.make('semantic.key') },
    qdrant: { url: `http://127.0.0.1:${dead}`, collection: 'c', apiKey: canaries.make('qdrant.apiKey') }
  }
  const routes = [...modelRoutes(canaries, around), ...routesOf(canaries, around, tls)]
  const file = {
    config: {
      admin: { tokens: [{ name: 'canary', hash: adminHash(canaries), role: 'change' }] },
      ...{ adminAddr: around.admin, statsAddr: around.stats, readinessAddr: 'off', workerThreads: 1 },
      state: { url: `redis://127.0.0.1:${dead}`, username: 'weir', password: canaries.make('state.password') },
      logging: { level: 'trace', format: 'json' }
    },
    frontendPolicies: {
      accessLog: { add: { fields: 'request.headers', uri: 'request.uri', answer: 'response.headers', who: 'apiKey' } },
      spendWebhook: { host: `127.0.0.1:${dead}`, signingKey: canaries.make('spendWebhook.signingKey') }
    },
    binds: [
      { port: around.port, listeners: [{ name: 'plain', routes }] },
      { port: around.tlsPort, listeners: [secure] }
    ],
    secrets: secretsOf(canaries),
    keys: [{ name: 'client', key: canaries.make('keys.key', 'sk-') }],
    llm: {
      port: around.llmPort,
      policies: { virtualKeys: { mode: 'Optional' } },
      models: [{ name: 'm', provider: 'openAI', params }],
      cache: { ttl: '60s', url: `redis://127.0.0.1:${dead}`, password: canaries.make('cache.password'), semantic },
      stored: { key: canaries.make('stored.key') }
    }
  }
  return { file, env }
}

/** Of ADMIN_TOKEN. */
function adminHash(canaries: Canaries): string {
  const hash = createHash('sha256').update(ADMIN_TOKEN).digest('hex')
  canaries.add('tokens.hash', hash)
  canaries.add('token of the admin port', ADMIN_TOKEN)
  return `sha256:${hash}`
}

function secretsOf(canaries: Canaries): object[] {
  const keys = { k1: canaries.make('entry of a key'), k2: JSON.stringify({ key: canaries.make('JSON of a key') }) }
  const aws = { accessKey: 'AKIAIOSFODNN7EXAMPLE', secretKey: canaries.make('secretKey'), sessionToken: '$CANARY_KEY' }
  return [
    { name: 'shown', entries: { Authorization: canaries.make('entry Authorization') } },
    { name: 'aws', entries: aws },
    { name: 'keys', labels: { for: 'clients' }, entries: keys }
  ]
}

const at = (path: string, more: object) => ({ name: path.slice(1), matches: [{ path: { pathPrefix: path } }], ...more })

function modelRoutes(canaries: Canaries, { dead }: Surroundings): object[] {
  const aws = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: canaries.make('aws.secretAccessKey'),
    sessionToken: canaries.make('aws.sessionToken')
  }
  const gcp = { credential: { inline: serviceAccount(canaries, dead) } }
  const moderation = { host: '127.0.0.1', port: dead, policies: { auth: { key: canaries.make('moderation', 'sk-') } } }
  const guarded = { ai: { promptGuard: { request: [{ openAIModeration: moderation }] } } }
  const provider = (kind: object, auth: object, host = '127.0.0.1') => ({
    ...kind,
    host,
    port: dead,
    policies: { auth }
  })
  const ai = (...providers: object[]) => {
    const named = providers.map((one, i) => ({ name: `p${i}`, ...one }))
    return { backends: [{ ai: { routes: { '*': 'Completions' }, groups: [{ providers: named }] } }] }
  }
  const keyed = (name: string, host?: string) =>
    provider({ openai: {} }, { key: canaries.make(name, 'sk-proj-') }, host)
  return [
    at('/ai', ai(keyed('auth.key'), provider({ anthropic: {} }, { key: '$CANARY_KEY' }))),
    at('/moderated', { policies: guarded, ...ai(keyed('moderated')) }),
    at('/dns', ai(keyed('dns', 'nowhere.invalid'))),
    at('/bedrock', ai(provider({ bedrock: { model: 'm' } }, { aws }))),
    at('/vertex', ai(provider({ vertexai: { projectId: 'p', region: 'global', model: 'google/m' } }, { gcp })))
  ]
}

function routesOf(canaries: Canaries, around: Surroundings, tls: object): object[] {
  const { dead, plain } = around
  const down = `127.0.0.1:${dead}`
  const jwks = { url: `http://${down}/keys?token=${canaries.make('jwks.url', 'x')}&u=$CANARY_USER` }
  const fields = {
    set: { authorization: `Bearer ${canaries.make('set authorization')}` },
    add: { 'x-vendor-token': canaries.make('add x-vendor-token') }
  }
  const transformations = { request: { set: { 'x-api-key': `"${canaries.make('transformations')}"` } } }
  const policies = { headerModifiers: { request: fields }, transformations, retry: { attempts: 1, codes: [503] } }
  const backends = [{ host: down }]
  const signing = { secretRef: { name: 'aws' }, region: 'eu-west-1', service: 'execute-api' }
  return [
    at('/tls', { policies: { backendTLS: tls }, backends: [{ host: `127.0.0.1:${plain}` }] }),
    at('/fields', { policies, backends }),
    at('/basic', { policies: basic(canaries), backends }),
    at('/shown', { backends: [{ host: down, policies: { auth: { secretRef: { name: 'shown' } } } }] }),
    at('/issued', {
      backends: [{ host: down, policies: { auth: { jwtSign: { signingKey: signingKey(canaries) } } } }]
    }),
    at('/signed', { backends: [{ host: down, policies: { auth: { aws: signing } } }] }),
    at('/selected', { policies: { apiKey: { secretSelector: { matchLabels: { for: 'clients' } } } }, backends }),
    at('/key', { policies: apiKey(canaries), backends }),
    at('/jwt', { policies: { jwtAuth: { issuer: 'https://issuer.example', jwks } }, backends }),
    at('/mcp', { backends: [{ mcp: mcp(canaries, around) }] })
  ]
}

/** A private key in PEM. */
function signingKey(canaries: Canaries, name = 'jwtSign.signingKey'): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const text = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string
  canaries.add(name, text.split('\n')[3]!)
  return text
}

function basic(canaries: Canaries): object {
  const password = canaries.make('password')
  const hash = `{SHA}${createHash('sha1').update(password).digest('base64')}`
  canaries.add('basicAuthentication.htpasswd', hash.slice(5))
  return { basicAuthentication: { htpasswd: `canary:${hash}` } }
}

function apiKey(canaries: Canaries): object {
  const hashed = createHash('sha256').update(canaries.make('hashed key')).digest('hex')
  canaries.add('keys.keyHash', hashed)
  const keys = [
    { key: canaries.make('keys.key', 'sk-live-'), metadata: { team: 'x', token: canaries.make('keys.metadata') } },
    { keyHash: `sha256:${hashed}` }
  ]
  return { apiKey: { keys, location: { queryParameter: { name: 'k' } } } }
}

function mcp(canaries: Canaries, { dead, document }: Surroundings): object {
  const child = { env: { WHO: canaries.make('stdio.env') }, args: [`--token=${canaries.make('stdio.args')}`] }
  return {
    failureMode: 'failOpen',
    session: { key: canaries.make('session.key') },
    targets: [
      {
        name: 'http',
        mcp: { host: `http://127.0.0.1:${dead}/mcp?api_key=${canaries.make('target query', 'k')}` },
        policies: { auth: { key: canaries.make('target key') } }
      },
      {
        name: 'basic',
        static: { host: '127.0.0.1', port: dead },
        policies: { auth: { key: `Basic ${canaries.make('target basic')}`, location: { header: { name: 'x-who' } } } }
      },
      { name: 'child', stdio: { cmd: 'weir-no-such-program', ...child } },
      { name: 'fails', stdio: { cmd: process.execPath, ...child } },
      {
        name: 'api',
        openapi: {
          schema: { url: `${document}?access_token=${canaries.make('schema.url')}` },
          host: `127.0.0.1:${dead}`
        }
      }
    ]
  }
}
