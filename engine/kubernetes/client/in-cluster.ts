/** The connection of a pod: address from its environment, token and authority from the files of its ServiceAccount. */
import { join } from 'node:path'
import type { ApiConnection } from './connection.ts'
import { FileText } from './file-text.ts'

const FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

export interface InClusterOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  /** Of the ServiceAccount's files. */
  readonly folder?: string
}

/** Null: this is no pod. Throws an Error when its files cannot be read. */
export function inCluster({ env, now, folder = FOLDER }: InClusterOptions): ApiConnection | null {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port) return null
  const token = new FileText(join(folder, 'token'), now)
  const ca = new FileText(join(folder, 'ca.crt'), now)
  const namespace = new FileText(join(folder, 'namespace'), now).read().trim()
  token.read()
  return {
    url: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    credentials: {
      present: () => ({ authorization: `Bearer ${token.read().trim()}`, tls: { ca: ca.read() } }),
      refused: () => {
        token.forget()
        ca.forget()
      }
    },
    namespace
  }
}
