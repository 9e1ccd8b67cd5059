/**
 * Whether a server may be what it says: the chain is OpenSSL's judgement, the names are compared here (RFC 9525: those
 * of the extension subjectAltName only, never the common name). And what is wrong, in words for the log.
 */
import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'

/** `full`: chain and name. `chain`: the chain only. `none`: nothing at all. */
export type TlsVerify = 'full' | 'chain' | 'none'

/** Why there is no connection. `code` is OpenSSL's or Node's, or one of ours: TLS_NAME, TLS_CLOSED, TLS_PROTOCOL. */
export interface TlsFault {
  readonly code: string
  /** For logs: says nothing secret, but what the peer has shown is quoted. */
  readonly text: string
}

const UNKNOWN = 'its certificate comes from an unknown authority'

/** X509_V_ERR_* as Node names them. */
const CHAIN_TEXTS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate, or one of its chain, has expired',
  CERT_NOT_YET_VALID: 'its certificate, or one of its chain, is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: `${UNKNOWN}: it is self-signed`,
  SELF_SIGNED_CERT_IN_CHAIN: `${UNKNOWN}: its root is not one that is trusted`,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `${UNKNOWN}, or it does not send those between`,
  CERT_SIGNATURE_FAILURE: 'a signature in the chain of its certificate is wrong',
  INVALID_PURPOSE: 'its certificate is not one for servers (extended key usage)',
  INVALID_CA: 'a certificate of its chain may not sign others',
  CERT_REVOKED: 'its certificate has been revoked'
}

/** Names of a certificate that are quoted in messages. */
const NAMES_CHARS_MAX = 300

/** `code`: what OpenSSL says of the chain. `raw`: DER of the server's certificate, if there is one. */
export function chainFault(code: string, raw: Buffer | undefined): TlsFault {
  const text = CHAIN_TEXTS[code] ?? `its certificate is not valid (${code})`
  const dates = code.startsWith('CERT_') ? validity(raw) : ''
  return { code, text: `${text}${dates}` }
}

function validity(raw: Buffer | undefined): string {
  const certificate = parsed(raw)
  return certificate === null ? '' : `; the server's own: from ${certificate.validFrom} to ${certificate.validTo}`
}

/** Null: the certificate is for one of `names` (DNS names, addresses, URIs). */
export function nameFault(names: readonly string[], raw: Buffer | undefined): TlsFault | null {
  const certificate = parsed(raw)
  if (certificate === null) return { code: 'TLS_NAME', text: 'it has shown no certificate' }
  if (names.some((name) => isFor(certificate, name))) return null
  const shown = clean(certificate.subjectAltName ?? '').slice(0, NAMES_CHARS_MAX)
  const wanted = names.join(' or ')
  return { code: 'TLS_NAME', text: `its certificate is not for ${wanted}, but for ${shown === '' ? 'no name' : shown}` }
}

function parsed(raw: Buffer | undefined): X509Certificate | null {
  if (raw === undefined) return null
  try {
    return new X509Certificate(raw)
  } catch {
    // OpenSSL has parsed it already; what this cannot read has no names.
    return null
  }
}

function isFor(certificate: X509Certificate, name: string): boolean {
  if (isIP(name) !== 0) return certificate.checkIP(name) !== undefined
  if (isUri(name)) return urisOf(certificate.subjectAltName ?? '').includes(name)
  return certificate.checkHost(name, { subject: 'never', partialWildcards: false }) !== undefined
}

export function isUri(name: string): boolean {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(name)
}

/**
 * Entries with a comma, a quote or the like are JSON strings: a name cannot pass for two (CVE-2021-44532). Sticky:
 * behind what is not understood nothing is.
 */
const ENTRY = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)(?:, |$)/gy

export function urisOf(subjectAltName: string): string[] {
  return [...subjectAltName.matchAll(ENTRY)].flatMap(([, kind, value]) => {
    if (kind !== 'URI' || value === undefined) return []
    return [value.startsWith('"') ? unquoted(value) : value]
  })
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    // No JSON: then it is a name that is written like that, and none that is ever asked for.
    return ''
  }
}

const ALERTS: readonly (readonly [RegExp, string])[] = [
  [/CERTIFICATE_REQUIRED|PEER_DID_NOT_RETURN/, 'it wants a certificate of ours, and there is none (cert, key)'],
  [/ALERT_(?:BAD_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA|UNSUPPORTED_CERT|ACCESS_DENIED)/, 'it refuses our certificate'],
  [/UNRECOGNIZED_NAME/, 'it knows no server of that name (SNI)'],
  [/NO_APPLICATION_PROTOCOL/, 'it speaks none of the protocols that it was offered (ALPN)'],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH|HTTP_REQUEST|UNKNOWN_PROTOCOL/, 'it does not speak TLS'],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/, 'there is no version of TLS that both speak'],
  [/HANDSHAKE_FAILURE|NO_SHARED|NO_CIPHER|INSUFFICIENT_SECURITY/, 'there are no ciphers that both have']
]

/** What went wrong below certificates: an alert of the server, or bytes that are not TLS. */
export function protocolFault(code: string | undefined, message: string): TlsFault {
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ECONNABORTED') {
    return { code: 'TLS_CLOSED', text: 'it closed the connection during the handshake' }
  }
  // Some errors have no code but OpenSSL's own words.
  const what = `${code ?? ''} ${message.toUpperCase().replaceAll(' ', '_')}`
  const known = ALERTS.find(([pattern]) => pattern.test(what))
  return { code: code ?? 'EPROTO', text: known?.[1] ?? `the handshake failed (${clean(code ?? message)})` }
}

function clean(text: string): string {
  return text.replace(/[^ -~]/g, '?').slice(0, 2 * NAMES_CHARS_MAX)
}
