/**
 * The certificate of the stream to data planes, and the key of their sessions, in a Secret: all controllers of an
 * installation have the same.
 */
import { randomBytes, X509Certificate } from 'node:crypto'
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
  /** Of sessions that all data planes of a Gateway open (SharedSessions). It outlives the certificate. */
  readonly sessionKey: string
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
const SESSION_KEY = 'session.key'
const SESSION_KEY_BYTES = 32

/** What the Secret has; it is made, or made anew, when that cannot be used. Throws an Error when neither works. */
export async function certificateOfSecret(options: CertificateSecretOptions): Promise<StreamCertificate> {
  const { client, namespace, name } = options
  for (let attempt = 1; ; attempt++) {
    const found = await client.get(KINDS.Secret, namespace, name)
    const known = found === null ? null : certificateIn(found)
    const isKept = known !== null && isGood(known.cert, options)
    if (isKept && known.sessionKey !== '') return known
    try {
      const fresh = isKept ? { ...known, sessionKey: newSessionKey() } : freshOf(options, known)
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
  const sessionKey = before?.sessionKey || newSessionKey()
  return { cert, key, ca: before === null ? cert : `${cert.trimEnd()}\n${before.cert}`, sessionKey }
}

const newSessionKey = (): string => randomBytes(SESSION_KEY_BYTES).toString('base64url')

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
    data: {
      'tls.crt': base64(fresh.cert),
      'tls.key': base64(fresh.key),
      'ca.crt': base64(fresh.ca),
      [SESSION_KEY]: base64(fresh.sessionKey)
    }
  }
}

function certificateIn({ data }: KubernetesObject): StreamCertificate | null {
  const entries = (data ?? {}) as Readonly<Record<string, string>>
  const text = (name: string) => Buffer.from(entries[name] ?? '', 'base64').toString()
  const [cert, key, ca] = [text('tls.crt'), text('tls.key'), text('ca.crt')]
  return cert === '' || key === '' ? null : { cert, key, ca: ca === '' ? cert : ca, sessionKey: text(SESSION_KEY) }
}

function isGood(cert: string, { names, now }: CertificateSecretOptions): boolean {
  try {
    const parsed = new X509Certificate(cert)
    const isNamed = names.every((name) => parsed.checkHost(name) !== undefined || parsed.checkIP(name) !== undefined)
    // A controller whose clock was days ahead has made it: data planes would refuse it for as long.
    const hasBegun = Date.parse(parsed.validFrom) <= now
    return isNamed && hasBegun && Date.parse(parsed.validTo) - now > LEFT_MS_MIN
  } catch {
    // It is none.
    return false
  }
}
