/** source.*: what expressions may read of the client's certificate (reference 3.2). */
import type { ClientTls, PeerCertificate } from '#engine/contract/transport.ts'

interface Client {
  readonly client: { readonly tls?: ClientTls | null }
}

const peerOf = (ex: Client): PeerCertificate | null => ex.client.tls?.peer ?? null

/** The SPIFFE ID (SPIFFE-ID section 2): the one URI of the certificate that is one. */
const SPIFFE = /^spiffe:\/\/[a-z0-9._-]{1,255}(?:\/[A-Za-z0-9._-]+)*$/
/** As service meshes write them: spiffe://<trust domain>/ns/<namespace>/sa/<service account>. */
const WORKLOAD = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/
const COMMON_NAME = /(?:^|[,+])CN=((?:\\.|[^,+\\])*)/

export function spiffeId(peer: PeerCertificate | null): string | undefined {
  return peer?.subjectAltNames.find((name) => SPIFFE.test(name))
}

/** The common name in a distinguished name as RFC 2253 writes it. */
export function commonName(subject: string): string | undefined {
  const found = COMMON_NAME.exec(subject)?.[1]
  if (found === undefined) return undefined
  const bytes = found.replace(/\\([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return bytes.replace(/\\(.)/g, '$1')
}

function part(index: number): (ex: Client) => string | undefined {
  return (ex) => WORKLOAD.exec(spiffeId(peerOf(ex)) ?? '')?.[index]
}

export const CERTIFICATE_READERS = {
  spiffeId: (ex: Client) => spiffeId(peerOf(ex)),
  subjectAltNames: (ex: Client) => peerOf(ex)?.subjectAltNames,
  issuer: (ex: Client) => peerOf(ex)?.issuer,
  subject: (ex: Client) => peerOf(ex)?.subject,
  subjectCn: (ex: Client) => commonName(peerOf(ex)?.subject ?? ''),
  certificate: (ex: Client) => peerOf(ex)?.pem
}

/** source.identity: there for certificates of workloads only. */
export const hasIdentity = (ex: Client): boolean => WORKLOAD.test(spiffeId(peerOf(ex)) ?? '')
export const IDENTITY_READERS = { trustDomain: part(1), namespace: part(2), serviceAccount: part(3) }
