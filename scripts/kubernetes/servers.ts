/** An API server with its etcd, on loopback, at ports of their own: RBAC, tokens, certificates made at the start. */
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { type JWTPayload, SignJWT } from 'jose'
import { request } from 'undici'
import { freePort } from '#bench/load/ports.ts'
import { authority, type Pair } from '#engine/testing/certificates.ts'
import { type RunningProgram, runCommand } from '#engine/testing/program.ts'
import { ApiClient } from './client.ts'
import { serverPrograms } from './programs.ts'

const START_MS_MAX = 180_000
const RETRY_MS = 100
const ISSUER = 'https://kubernetes.default.svc'
const LOOPBACK = '127.0.0.1'

/** Of the file of tokens: one who may do everything, one who may do nothing. */
const USERS = {
  admin: { token: 'token-of-admin', line: 'token-of-admin,admin,1,system:masters' },
  nobody: { token: 'token-of-nobody', line: 'token-of-nobody,nobody,2' }
} as const

export type ServerName = 'etcd' | 'apiServer'

export interface KubernetesServers {
  /** "https://127.0.0.1:16443". */
  readonly origin: string
  /** PEM, of the certificate of the server. */
  readonly ca: string
  clientOf(user: keyof typeof USERS): ApiClient
  tokenOf(user: keyof typeof USERS): string
  clientWith(token: string): ApiClient
  /** A certificate by which a client is `user`. */
  certificateOf(user: string): Pair
  /** A token of a ServiceAccount, by the claims that the API server checks (RFC 7519). */
  signedToken(claims: JWTPayload): Promise<string>
  /** SIGSTOP: a server that is there, and says nothing. SIGCONT ends it. */
  signal(server: ServerName, signal: 'SIGSTOP' | 'SIGCONT'): void
  /** etcd forgets every version but the newest of each object. */
  compact(): Promise<void>
  /** SIGKILL, and a start at the same port when `away` has ended. Resolves when the API server is ready. */
  restart(server: ServerName, away: () => Promise<void>): Promise<void>
  /** A key and a certificate of the same authority, for the next start of the API server. */
  renewCertificate(): void
  stop(): Promise<void>
}

/** `address`: of this machine, where the API server listens; etcd stays on loopback. */
export async function startKubernetes(address: string = LOOPBACK): Promise<KubernetesServers> {
  const programs = serverPrograms()
  const folder = mkdtempSync(join(tmpdir(), 'weir-kubernetes-'))
  const running = new Map<ServerName, RunningProgram>()
  const clients: ApiClient[] = []
  const [clientPort, peerPort, port] = [await freePort(), await freePort(), await freePort()]
  const { ca, files, issueClient, signingKey, renewCertificate } = credentials(folder, address)
  const etcdOrigin = `http://${LOOPBACK}:${clientPort}`
  const settings: Readonly<Record<ServerName, Readonly<Record<string, string>>>> = {
    etcd: etcdSettings(join(folder, 'etcd'), clientPort, peerPort),
    apiServer: apiServerSettings(address, port, etcdOrigin, folder, files)
  }
  const run = (server: ServerName) => {
    const args = Object.entries(settings[server]).map(([name, value]) => `--${name}=${value}`)
    const started = runCommand(programs[server], args)
    process.once('exit', () => started.signal('SIGKILL'))
    running.set(server, started)
  }
  run('etcd')
  run('apiServer')
  const origin = `https://${address}:${port}`
  const clientWith = (token: string) => {
    const client = new ApiClient(origin, ca, token)
    clients.push(client)
    return client
  }
  const servers: KubernetesServers = {
    origin,
    ca,
    clientOf: (user) => clientWith(USERS[user].token),
    tokenOf: (user) => USERS[user].token,
    clientWith,
    certificateOf: issueClient,
    signedToken: (claims) =>
      new SignJWT({ iss: ISSUER, ...claims }).setProtectedHeader({ alg: 'RS256' }).sign(signingKey),
    signal: (server, signal) => running.get(server)!.signal(signal),
    compact: () => compact(etcdOrigin),
    async restart(server, away) {
      await running.get(server)!.stop()
      await away()
      run(server)
      await isReady(servers.clientOf('admin'), [...running.values()])
    },
    renewCertificate,
    async stop() {
      for (const client of clients) await client.close()
      // The API server first: it waits for etcd.
      await running.get('apiServer')?.stop()
      await running.get('etcd')?.stop()
      rmSync(folder, { recursive: true })
    }
  }
  try {
    await isReady(servers.clientOf('admin'), [...running.values()])
    return servers
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** Through the JSON gateway of etcd: https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway */
async function compact(origin: string): Promise<void> {
  const ask = async (path: string, body: object) => {
    const { statusCode, body: answer } = await request(`${origin}${path}`, {
      method: 'POST',
      body: JSON.stringify(body)
    })
    if (statusCode !== 200) throw new Error(`etcd: ${path}: ${statusCode} ${await answer.text()}`)
    return (await answer.json()) as { readonly header: { readonly revision: string } }
  }
  const { header } = await ask('/v3/kv/range', { key: Buffer.from('/').toString('base64') })
  await ask('/v3/kv/compaction', { revision: header.revision, physical: true })
}

interface Files {
  readonly cert: string
  readonly key: string
  readonly tokens: string
  readonly clients: string
  readonly signing: string
  readonly verifying: string
}

interface Credentials {
  /** PEM. */
  readonly ca: string
  readonly files: Files
  readonly issueClient: (user: string) => Pair
  /** Of tokens of ServiceAccounts. */
  readonly signingKey: KeyObject
  readonly renewCertificate: () => void
}

function credentials(folder: string, address: string): Credentials {
  const file = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const own = authority('kubernetes-ca')
  const names = [`IP:${address}`, 'DNS:localhost', 'DNS:kubernetes.default.svc']
  const serverFiles = () => {
    const { cert, key } = own.issue('/CN=kube-apiserver', names)
    return { cert: file('server.crt', cert), key: file('server.key', key) }
  }
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' }
  })
  const clients = authority('clients-ca')
  const lines = Object.values(USERS).map(({ line }) => line)
  const files = {
    ...serverFiles(),
    tokens: file('tokens.csv', `${lines.join('\n')}\n`),
    clients: file('clients.crt', clients.cert),
    signing: file('accounts.key', privateKey),
    verifying: file('accounts.pub', publicKey)
  }
  const issueClient = (user: string) => clients.issue(`/CN=${user}`)
  const renewCertificate = () => void serverFiles()
  return { ca: own.cert, files, issueClient, signingKey: createPrivateKey(privateKey), renewCertificate }
}

const etcdSettings = (folder: string, clientPort: number, peerPort: number) => ({
  'data-dir': folder,
  'listen-client-urls': `http://${LOOPBACK}:${clientPort}`,
  'advertise-client-urls': `http://${LOOPBACK}:${clientPort}`,
  'listen-peer-urls': `http://${LOOPBACK}:${peerPort}`,
  'initial-advertise-peer-urls': `http://${LOOPBACK}:${peerPort}`,
  'initial-cluster': `default=http://${LOOPBACK}:${peerPort}`,
  // What a test has written need not outlive the machine.
  'unsafe-no-fsync': 'true',
  'log-level': 'warn'
})

const apiServerSettings = (address: string, port: number, etcd: string, folder: string, files: Files) => ({
  'etcd-servers': etcd,
  'bind-address': address,
  'advertise-address': address,
  'secure-port': `${port}`,
  'cert-dir': folder,
  'tls-cert-file': files.cert,
  'tls-private-key-file': files.key,
  'token-auth-file': files.tokens,
  'client-ca-file': files.clients,
  'service-account-issuer': ISSUER,
  'service-account-signing-key-file': files.signing,
  'service-account-key-file': files.verifying,
  'authorization-mode': 'RBAC',
  'anonymous-auth': 'false',
  'service-cluster-ip-range': '10.0.0.0/16',
  // Nobody is to be told of this address.
  'endpoint-reconciler-type': 'none'
})

async function isReady(client: ApiClient, running: readonly RunningProgram[]): Promise<void> {
  const late = AbortSignal.timeout(START_MS_MAX)
  const ended = Promise.race(running.map((program) => program.exited())).then(() => 'ended' as const)
  const answers = (): Promise<boolean> =>
    client.ask('GET', '/readyz').then(
      ({ status }) => status === 200,
      // Nobody listens yet.
      () => false
    )
  while (!(await answers())) {
    const state = await Promise.race([ended, after(RETRY_MS)])
    if (state === undefined && !late.aborted) continue
    const output = running.map((program) => program.output.slice(-2_000)).join('\n')
    throw new Error(`the API server does not start:\n${output}`)
  }
}
