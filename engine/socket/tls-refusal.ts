/**
 * The alert for a client certificate that does not pass. Node lets every handshake come to its end and leaves the
 * judgement to the program, which can then only break off: a client would see a reset and not know why. But OpenSSL
 * tells of each secret as soon as it has it (as for SSLKEYLOGFILE), and one comes at the right moment: the client's
 * last message has been checked, and the server's answer to it has not left. What leaves instead is the alert: in
 * clear text by TLS 1.2 (RFC 5246 section 7.2.2), by TLS 1.3 as the first record under the server's traffic secret
 * (RFC 8446 sections 5.2 and 7.3). The secret is kept until then, for one handshake, and goes nowhere.
 */
import { createCipheriv, createHmac } from 'node:crypto'

/** OpenSSL reports one of these secrets after it has checked a certificate: with TLS 1.3, with TLS 1.2. */
const LAST_SECRETS = ['CLIENT_TRAFFIC_SECRET_0', 'CLIENT_RANDOM']

/** OpenSSL's code for a client that has shown none. */
export const NO_CERTIFICATE = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE'

const HANDSHAKE_FAILURE = 40
const BAD_CERTIFICATE = 42
const UNSUPPORTED_CERTIFICATE = 43
const CERTIFICATE_REVOKED = 44
const CERTIFICATE_EXPIRED = 45
const CERTIFICATE_UNKNOWN = 46
const UNKNOWN_CA = 48
const DECRYPT_ERROR = 51
const CERTIFICATE_REQUIRED = 116

/** As OpenSSL does it where it judges by itself (ssl_x509err2alert). */
const ALERTS: Readonly<Record<string, number>> = {
  CERT_HAS_EXPIRED: CERTIFICATE_EXPIRED,
  CERT_NOT_YET_VALID: BAD_CERTIFICATE,
  CERT_REJECTED: BAD_CERTIFICATE,
  CERT_REVOKED: CERTIFICATE_REVOKED,
  CERT_SIGNATURE_FAILURE: DECRYPT_ERROR,
  CERT_UNTRUSTED: BAD_CERTIFICATE,
  CERT_CHAIN_TOO_LONG: UNKNOWN_CA,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN_CA,
  ERROR_IN_CERT_NOT_AFTER_FIELD: BAD_CERTIFICATE,
  ERROR_IN_CERT_NOT_BEFORE_FIELD: BAD_CERTIFICATE,
  INVALID_CA: UNKNOWN_CA,
  INVALID_PURPOSE: UNSUPPORTED_CERTIFICATE,
  PATH_LENGTH_EXCEEDED: UNKNOWN_CA,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN_CA,
  UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY: BAD_CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN_CA,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN_CA,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN_CA
}

interface Suite {
  readonly aead: 'aes-128-gcm' | 'aes-256-gcm' | 'chacha20-poly1305'
  readonly hash: 'sha256' | 'sha384'
  readonly keyBytes: number
}

const SUITES: Readonly<Record<string, Suite>> = {
  TLS_AES_128_GCM_SHA256: { aead: 'aes-128-gcm', hash: 'sha256', keyBytes: 16 },
  TLS_AES_256_GCM_SHA384: { aead: 'aes-256-gcm', hash: 'sha384', keyBytes: 32 },
  TLS_CHACHA20_POLY1305_SHA256: { aead: 'chacha20-poly1305', hash: 'sha256', keyBytes: 32 }
}
const IV_BYTES = 12
const TAG_BYTES = 16

/** What is asked of a handshake that is under way. */
export interface Judged {
  /** Why the client does not get in, a code of X.509; null: it does. */
  refusal(): string | null
  /** 'TLSv1.2', 'TLSv1.3'. */
  protocol(): string | null
  /** OpenSSL's name of it. */
  cipher(): string | undefined
  /** Sends `record`, one character per byte, and nothing behind it. */
  refuse(code: string, record: string): void
}

/** To be called with each line of the key log (of NSS's format) of one handshake. */
export function refusingBy(handshake: Judged): (line: Buffer) => void {
  let secret: Buffer | null = null
  return (line) => {
    const [label = '', , hex = ''] = line.latin1Slice().trim().split(' ')
    if (label === 'SERVER_TRAFFIC_SECRET_0') secret = Buffer.from(hex, 'hex')
    if (!LAST_SECRETS.includes(label)) return
    const code = handshake.refusal()
    const record = code === null ? null : recordOf(alertOf(code, handshake.protocol()), handshake, secret)
    secret = null
    if (code !== null && record !== null) handshake.refuse(code, record)
  }
}

export function alertOf(code: string, protocol: string | null = null): number {
  if (code === NO_CERTIFICATE) return protocol === 'TLSv1.2' ? HANDSHAKE_FAILURE : CERTIFICATE_REQUIRED
  return Object.hasOwn(ALERTS, code) ? ALERTS[code]! : CERTIFICATE_UNKNOWN
}

/** A fatal alert; null where there is no saying it. */
function recordOf(alert: number, handshake: Judged, secret: Buffer | null): string | null {
  if (handshake.protocol() === 'TLSv1.2') return `\x15\x03\x03\x00\x02\x02${String.fromCharCode(alert)}`
  const suite = SUITES[handshake.cipher() ?? '']
  if (suite === undefined || secret === null) return null
  // Its kind stands behind it, inside; outside it is a record of data like all others.
  const inner = Buffer.from([2, alert, 0x15])
  const header = Buffer.from([0x17, 3, 3, 0, inner.length + TAG_BYTES])
  const key = expandLabel(suite, secret, 'key', suite.keyBytes)
  // Of the first record: what it is combined with is zero.
  const iv = expandLabel(suite, secret, 'iv', IV_BYTES)
  const cipher = createCipheriv(suite.aead as 'aes-128-gcm', key, iv, { authTagLength: TAG_BYTES })
  cipher.setAAD(header)
  return Buffer.concat([header, cipher.update(inner), cipher.final(), cipher.getAuthTag()]).latin1Slice()
}

/** HKDF-Expand-Label (RFC 8446 section 7.1) without context, for no more bytes than the hash has. */
function expandLabel({ hash }: Suite, secret: Buffer, label: string, bytes: number): Buffer {
  const name = `tls13 ${label}`
  const info = `\0${String.fromCharCode(bytes, name.length)}${name}\0\x01`
  return createHmac(hash, secret).update(info, 'latin1').digest().subarray(0, bytes)
}
