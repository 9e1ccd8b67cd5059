/**
 * ExecCredential of client.authentication.k8s.io/v1 and v1beta1: what a program that makes credentials is told, and
 * what it answers (kubernetes.io/docs/reference/access-authn-authz/authentication, "client-go credential plugins").
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { z } from '#engine/schema/schema.ts'

const GROUP = 'client.authentication.k8s.io'
/** v1alpha1 is gone from client-go since 1.24. */
export const EXEC_API_VERSIONS = [`${GROUP}/v1`, `${GROUP}/v1beta1`] as const
export type ExecApiVersion = (typeof EXEC_API_VERSIONS)[number]

/** The extension of a cluster, in a kubeconfig, that its programs are told. */
export const CONFIG_EXTENSION = `${GROUP}/exec`

/** What a program is told of the cluster: the fields of the kubeconfig, with the authority in place. */
export interface ExecCluster {
  readonly server: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  /** Base64 of PEM. */
  readonly 'certificate-authority-data'?: string
  readonly 'disable-compression'?: boolean
  readonly config?: unknown
}

/** Value of KUBERNETES_EXEC_INFO. `cluster`: null when the program is not to be told. */
export function execInfo(apiVersion: ExecApiVersion, interactive: boolean, cluster: ExecCluster | null): string {
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(cluster === null ? {} : { cluster }), interactive }
  })
}

/** Programs in Go write null for what is empty. */
const text = () => z.string().nullish()

const ANSWER = z.looseObject({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z
    .looseObject({
      expirationTimestamp: text(),
      token: text(),
      clientCertificateData: text(),
      clientKeyData: text()
    })
    .nullish()
})

export interface ExecCredential {
  /** Empty: none. */
  readonly token: string
  /** PEM; null: none. */
  readonly certificate: { readonly cert: string; readonly key: string } | null
  /** Milliseconds since 1970; null: it does not expire. */
  readonly expiresAt: number | null
}

/** What a field Authorization can hold after "Bearer" (RFC 9110 section 5.5). */
const TOKEN = /^[\x21-\x7e]+$/
/** As Go reads meta/v1 Time (RFC 3339 section 5.6). */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/

/** Throws an Error that says what is wrong, and nothing of what stands there: it may be secret. */
export function readExecCredential(output: string, apiVersion: ExecApiVersion): ExecCredential {
  const { data, error } = ANSWER.safeParse(parsed(output))
  if (data === undefined) {
    const { path = [], message = '' } = error.issues[0] ?? {}
    throw new Error(`its answer is no ExecCredential: ${path.join('.') || 'all of it'}: ${message}`)
  }
  if (data.apiVersion !== apiVersion)
    throw new Error(`its answer is not of apiVersion ${apiVersion}, which the kubeconfig asks for`)
  if (data.status == null) throw new Error('its answer has no status')
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp: expiration } = data.status
  if (!token && !cert && !key) throw new Error('its answer has no token and no client certificate')
  if (!cert !== !key) throw new Error('its answer has a client certificate or its key, and not both')
  if (token && !TOKEN.test(token)) throw new Error('its token has characters that no header can have')
  return {
    token: token ?? '',
    certificate: cert && key ? checked(cert, key) : null,
    expiresAt: expiration ? timeOf(expiration) : null
  }
}

function parsed(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    // The message of JSON.parse quotes what stands there.
    throw new Error('its answer is no JSON')
  }
}

function checked(cert: string, key: string) {
  let fits: boolean
  try {
    fits = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))
  } catch {
    throw new Error('its client certificate or key is no PEM')
  }
  if (!fits) throw new Error('its key is not that of its client certificate')
  return { cert, key }
}

function timeOf(expiration: string): number {
  const time = TIME.test(expiration) ? Date.parse(expiration) : Number.NaN
  if (Number.isNaN(time)) throw new Error('its expirationTimestamp is no time of RFC 3339')
  return time
}
