/** TLS in front of both gateways: certificates of one run, and how each of the three is told of them. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import { type Authority, authority, type Pair } from '#engine/testing/certificates.ts'

export interface Certificate {
  /** As openssl takes it: /O=b/CN=a. */
  readonly subject: string
  /** URI:spiffe://a/b, DNS:a.test, ... */
  readonly names: readonly string[]
}

/** Of a listener. */
export interface ListenerTls {
  readonly certificate: Certificate
  /** What the listener asks of its clients. */
  readonly clientCertificates: 'none' | 'optional' | 'required'
}

/** Of a client. */
export interface RequestTls {
  /** In SNI; '': none. */
  readonly serverName: string
  /** Null: the client has none to show. */
  readonly certificate: Certificate | null
}

let signer: Authority | null = null
const issued = new Map<Certificate, Pair>()

function authorityOfRun(): Authority {
  signer ??= authority('services')
  return signer
}

/** Both gateways are shown, and show, the same certificate. */
function pairOf(certificate: Certificate): Pair {
  const known = issued.get(certificate)
  if (known !== undefined) return known
  const pair = authorityOfRun().issue(certificate.subject, certificate.names)
  issued.set(certificate, pair)
  return pair
}

/** Of the listener. Without it Envoy's attributes have no server name. */
export const TLS_INSPECTOR = {
  name: 'envoy.filters.listener.tls_inspector',
  typed_config: { '@type': 'type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector' }
}

/** Of the filter chain. */
export function envoyTls({ certificate, clientCertificates }: ListenerTls): object {
  const { cert, key } = pairOf(certificate)
  const trusted = { trusted_ca: { inline_string: authorityOfRun().cert } }
  const context = {
    '@type': 'type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext',
    require_client_certificate: clientCertificates === 'required',
    common_tls_context: {
      alpn_protocols: ['h2', 'http/1.1'],
      tls_certificates: [{ certificate_chain: { inline_string: cert }, private_key: { inline_string: key } }],
      ...(clientCertificates === 'none' ? {} : { validation_context: trusted })
    }
  }
  return { transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: context } }
}

let folder: string | null = null
let files = 0

/** Its path. The folder goes with the process. */
function fileOf(text: string): string {
  if (folder === null) {
    const made = mkdtempSync(join(tmpdir(), 'weir-services-tls-'))
    process.once('exit', () => rmSync(made, { recursive: true }))
    folder = made
  }
  const path = join(folder, `${files++}.pem`)
  writeFileSync(path, text)
  return path
}

/** Of the listener. Weir reads certificates from files. */
export function weirTls({ certificate, clientCertificates }: ListenerTls): object {
  const { cert, key } = pairOf(certificate)
  const root = clientCertificates === 'none' ? {} : { root: fileOf(authorityOfRun().cert) }
  return { protocol: 'HTTPS', tls: { cert: fileOf(cert), key: fileOf(key), ...root } }
}

/** Certificates of the gateway have the names that a case is about, which are not always that of the host. */
export function clientTls({ serverName, certificate }: RequestTls): ConnectionOptions {
  const own = certificate === null ? {} : pairOf(certificate)
  return { ...own, servername: serverName, ca: authorityOfRun().cert, checkServerIdentity: () => undefined }
}
