/**
 * A kubeconfig file (client.authentication.k8s.io, "Organizing Cluster Access Using kubeconfig Files"), as a value.
 * Programs that make credentials (exec, auth providers) are not run: the controller uses tokens and certificates.
 */
import { isAbsolute, join } from 'node:path'
import { z } from '#engine/schema/schema.ts'
import type { ApiConnection, Credentials, TlsMaterial } from './connection.ts'
import { FileText } from './file-text.ts'

const text = () => z.string().optional()

/** Kubeconfig files have fields of other programs too. */
const CLUSTER = z.looseObject({
  server: z.string(),
  'certificate-authority': text(),
  'certificate-authority-data': text(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': text(),
  'proxy-url': text()
})

const USER = z.looseObject({
  token: text(),
  tokenFile: text(),
  'client-certificate': text(),
  'client-certificate-data': text(),
  'client-key': text(),
  'client-key-data': text(),
  username: text(),
  password: text()
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
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
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
  for (const field of ['exec', 'auth-provider'])
    if (user[field] != null)
      throw new Error(
        `kubeconfig: users: ${name}: ${field}: is not run; use a token, a tokenFile or a client certificate`
      )
  const files: FileText[] = []
  const fileOf = (path: string): FileText => {
    const file = new FileText(isAbsolute(path) ? path : join(options.folder, path), options.now)
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
  const skips = cluster['insecure-skip-tls-verify'] === true
  const servername = cluster['tls-server-name']
  return {
    authorization: authorizationOf(user, fileOf),
    tls: () =>
      definedOf({ ca: ca(), cert: cert(), key: key(), servername, rejectUnauthorized: skips ? false : undefined }),
    refused: () => {
      for (const file of files) file.forget()
    }
  }
}

/** A file of a token comes before a token (client-go, AuthInfo). */
function authorizationOf(user: User, fileOf: (path: string) => FileText): Credentials['authorization'] {
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
  return () => null
}

type Optional<T> = { readonly [K in keyof T]: T[K] | undefined }

const definedOf = (material: Optional<Required<TlsMaterial>>): TlsMaterial =>
  Object.fromEntries(Object.entries(material).filter(([, value]) => value !== undefined))
