/** The certificate of the stream to data planes, in a Secret: all controllers of an installation have the same. */
import { X509Certificate } from 'node:crypto'
import { ApiError } from '#engine/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '#engine/kubernetes/client/client.ts'
import { KINDS, type KubernetesObject } from '#engine/kubernetes/objects/object.ts'
import { makeCertificate } from '#engine/kubernetes/stream/index.ts'

export interface StreamCertificate {
  /** PEM. */
  readonly cert: string
  readonly key: string
  /** What data planes trust. While certificates change: the one before, too. */
  readonly ca: string
}

export interface CertificateSecretOptions {
  readonly client: Pick<KubernetesClient, 'get' | 'create' | 'replace'>
  readonly namespace: string
  readonly name: string
  /** DNS names and addresses by which data planes reach the controller. */
  readonly names: readonly string[]
  /** Milliseconds of the wall clock. */
  readonly now: number
}

const VALID_DAYS = 3650
const DAY_MS = 86_400_000
/** A certificate is replaced when less is left of it. */
const LEFT_MS_MIN = 365 * DAY_MS
const ATTEMPTS_MAX = 5

/** What the Secret has; it is made, or made anew, when that cannot be used. Throws an Error when neither works. */
export async function certificateOfSecret(options: CertificateSecretOptions): Promise<StreamCertificate> {
  const { client, namespace, name } = options
  for (let attempt = 1; ; attempt++) {
    const found = await client.get(KINDS.Secret, namespace, name)
    const known = found === null ? null : certificateIn(found)
    if (known !== null && isGood(known.cert, options)) return known
    try {
      const fresh = freshOf(options, known)
      const object = secretOf(options, fresh, found)
      await (found === null ? client.create(KINDS.Secret, object) : client.replace(KINDS.Secret, object))
      return fresh
    } catch (error) {
      // Another controller was first: what it has written is as good.
      if (!(error instanceof ApiError && error.isConflict) || attempt === ATTEMPTS_MAX) throw error
    }
  }
}

function freshOf({ names, now }: CertificateSecretOptions, before: StreamCertificate | null): StreamCertificate {
  const { cert, key } = makeCertificate({ names, validDays: VALID_DAYS, now })
  return { cert, key, ca: before === null ? cert : `${cert.trimEnd()}\n${before.cert}` }
}

function secretOf(
  { namespace, name }: CertificateSecretOptions,
  fresh: StreamCertificate,
  found: KubernetesObject | null
) {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...found?.metadata, namespace, name },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': base64(fresh.cert), 'tls.key': base64(fresh.key), 'ca.crt': base64(fresh.ca) }
  }
}

function certificateIn({ data }: KubernetesObject): StreamCertificate | null {
  const entries = (data ?? {}) as Readonly<Record<string, string>>
  const text = (name: string) => Buffer.from(entries[name] ?? '', 'base64').toString()
  const [cert, key, ca] = [text('tls.crt'), text('tls.key'), text('ca.crt')]
  return cert === '' || key === '' ? null : { cert, key, ca: ca === '' ? cert : ca }
}

function isGood(cert: string, { names, now }: CertificateSecretOptions): boolean {
  try {
    const parsed = new X509Certificate(cert)
    const isNamed = names.every((name) => parsed.checkHost(name) !== undefined || parsed.checkIP(name) !== undefined)
    return isNamed && Date.parse(parsed.validTo) - now > LEFT_MS_MIN
  } catch {
    // It is none.
    return false
  }
}
