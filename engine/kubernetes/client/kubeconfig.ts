/**
 * A kubeconfig file (client.authentication.k8s.io, "Organizing Cluster Access Using kubeconfig Files"), as a value.
 * Auth providers are not run: client-go has none any more.
 */
import { isAbsolute, join, resolve } from 'node:path'
import type { Time } from '#engine/contract/time.ts'
import { z } from '#engine/schema/schema.ts'
import type { ApiConnection, Credentials, Presented, TlsMaterial } from './connection.ts'
import { CONFIG_EXTENSION, type ExecCluster, type ExecCredential } from './exec/credential.ts'
import { EXEC, ExecCredentials } from './exec/credentials.ts'
import { FileText } from './file-text.ts'

const text = () => z.string().optional()

/** Kubeconfig files have fields of other programs too. */
const CLUSTER = z.looseObject({
  server: z.string(),
  'certificate-authority': text(),
  'certificate-authority-data': text(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': text(),
  'proxy-url': text(),
  'disable-compression': z.boolean().optional(),
  extensions: z.array(z.looseObject({ name: z.string(), extension: z.unknown() })).nullish()
})

const USER = z.looseObject({
  token: text(),
  tokenFile: text(),
  'client-certificate': text(),
  'client-certificate-data': text(),
  'client-key': text(),
  'client-key-data': text(),
  username: text(),
  password: text(),
  exec: EXEC.nullish()
})

const CONTEXT = z.looseObject({ cluster: z.string(), user: text(), namespace: text() })

const KUBECONFIG = z.looseObject({
  'current-context': text(),
  clusters: z.array(z.looseObject({ name: z.string(), cluster: CLUSTER })).nullish(),
  users: z.array(z.looseObject({ name: z.string(), user: USER.nullish() })).nullish(),
  contexts: z.array(z.looseObject({ name: z.string(), context: CONTEXT })).nullish()
})

export interface KubeconfigOptions {
  /** Where relative paths in it begin: the folder of the file. */
  readonly folder: string
  readonly time: Time
  /** Of programs that make credentials: the environment of this process, and whether it has a terminal. */
  readonly env: Readonly<Record<string, string | undefined>>
  readonly hasTerminal: boolean
  /** Absent: the current one. */
  readonly context?: string
}

/** Throws an Error that names what is wrong in it. Files that it refers to are read when they are needed. */
export function connectionOf(value: unknown, options: KubeconfigOptions): ApiConnection {
  const result = KUBECONFIG.safeParse(value)
  if (!result.success) {
    const { path = [], message = '' } = result.error.issues[0] ?? {}
    throw new Error(`kubeconfig: ${path.join('.')}: ${message}`)
  }
  const { contexts, clusters, users } = result.data
  const contextName = options.context ?? result.data['current-context'] ?? ''
  if (contextName === '') throw new Error('kubeconfig: current-context: is required when no context is chosen')
  const { context } = entryOf(contexts, 'contexts', contextName)
  const { cluster } = entryOf(clusters, 'clusters', context.cluster)
  const user = context.user ? (entryOf(users, 'users', context.user).user ?? {}) : {}
  if (cluster['proxy-url'] !== undefined)
    throw new Error(`kubeconfig: clusters: ${context.cluster}: proxy-url: is not supported`)
  return {
    url: urlOf(cluster.server, context.cluster),
    credentials: credentialsOf(cluster, user, options, context.user ?? ''),
    namespace: context.namespace ?? null
  }
}

function entryOf<T extends { readonly name: string }>(
  entries: readonly T[] | null | undefined,
  list: string,
  name: string
) {
  const entry = entries?.find((one) => one.name === name)
  if (entry === undefined) throw new Error(`kubeconfig: ${list}: there is none of the name ${name}`)
  return entry
}

function urlOf(server: string, cluster: string): string {
  const url = URL.canParse(server) ? new URL(server) : null
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new Error(`kubeconfig: clusters: ${cluster}: server: must be a URL of http or https`)
  return server
}

type Cluster = z.infer<typeof CLUSTER>
type User = z.infer<typeof USER>

/** The text of a field in place (base64), or of the file that it names; null: neither. */
type Source = () => string | undefined

function credentialsOf(cluster: Cluster, user: User, options: KubeconfigOptions, name: string): Credentials {
  if (user['auth-provider'] != null)
    throw new Error(
      `kubeconfig: users: ${name}: auth-provider: is not run; use exec, a token, a tokenFile or a client certificate`
    )
  const files: FileText[] = []
  const fileOf = (path: string): FileText => {
    const file = new FileText(isAbsolute(path) ? path : join(options.folder, path), options.time.now)
    files.push(file)
    return file
  }
  const material = (data: string | undefined, path: string | undefined): Source => {
    if (data) {
      const decoded = Buffer.from(data, 'base64').toString()
      return () => decoded
    }
    if (!path) return () => undefined
    const file = fileOf(path)
    return () => file.read()
  }
  const ca = material(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = material(user['client-certificate-data'], user['client-certificate'])
  const key = material(user['client-key-data'], user['client-key'])
  const authorization = authorizationOf(user, fileOf)
  const servername = cluster['tls-server-name']
  const rejectUnauthorized = cluster['insecure-skip-tls-verify'] === true ? (false as const) : undefined
  const refused = () => {
    for (const file of files) file.forget()
  }
  const present = () => ({
    authorization: authorization?.() ?? null,
    tls: definedOf({ ca: ca(), cert: cert(), key: key(), servername, rejectUnauthorized })
  })
  // What stands in the file itself wins over a program (client-go, UpdateTransportConfig).
  if (user.exec == null || authorization !== null || cert() !== undefined) return { present, refused }
  const own: Credentials = { present, refused }
  return programCredentials(
    own,
    programOf(user.exec, () => clusterOf(cluster, ca()), options, name),
    name
  )
}

function programOf(spec: z.infer<typeof EXEC>, cluster: () => ExecCluster, options: KubeconfigOptions, name: string) {
  // As every path of a kubeconfig; a name without a slash is looked up in PATH.
  const command = spec.command.includes('/') ? resolve(options.folder, spec.command) : spec.command
  try {
    return new ExecCredentials({ ...options, spec, command, cluster })
  } catch (error) {
    throw new Error(`kubeconfig: users: ${name}: exec: ${(error as Error).message}`)
  }
}

/** `own`: what the kubeconfig says of the connection beside them. */
function programCredentials(own: Credentials, program: ExecCredentials, name: string): Credentials {
  const shown = new WeakMap<Presented, ExecCredential>()
  return {
    present: async () => {
      const { tls } = await own.present()
      const credential = await program.current().catch((error: Error) => {
        throw new Error(`kubeconfig: users: ${name}: exec: ${error.message}`)
      })
      const authorization = credential.token === '' ? null : `Bearer ${credential.token}`
      const presented = { authorization, tls: { ...tls, ...credential.certificate } }
      shown.set(presented, credential)
      return presented
    },
    refused: (presented) => {
      own.refused(presented)
      const credential = shown.get(presented)
      if (credential !== undefined) program.refused(credential)
    }
  }
}

function clusterOf(cluster: Cluster, ca: string | undefined): ExecCluster {
  const extension = cluster.extensions?.find(({ name }) => name === CONFIG_EXTENSION)
  return {
    server: cluster.server,
    ...(cluster['tls-server-name'] ? { 'tls-server-name': cluster['tls-server-name'] } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { 'insecure-skip-tls-verify': true } : {}),
    ...(ca === undefined ? {} : { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(cluster['disable-compression'] ? { 'disable-compression': true } : {}),
    ...(extension === undefined ? {} : { config: extension.extension })
  }
}

/** A file of a token comes before a token (client-go, AuthInfo). Null: there is none. */
function authorizationOf(user: User, fileOf: (path: string) => FileText): (() => string) | null {
  const { token, tokenFile, username, password = '' } = user
  if (tokenFile) {
    const file = fileOf(tokenFile)
    return () => `Bearer ${file.read().trim()}`
  }
  if (token) return () => `Bearer ${token}`
  if (username) {
    const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
    return () => basic
  }
  return null
}

type Optional<T> = { readonly [K in keyof T]: T[K] | undefined }

const definedOf = (material: Optional<Required<TlsMaterial>>): TlsMaterial =>
  Object.fromEntries(Object.entries(material).filter(([, value]) => value !== undefined))
