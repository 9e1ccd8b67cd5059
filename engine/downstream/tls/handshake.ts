/** How the beginning of a connection of TLS ended: for metrics, the log, and the record of one with TCP behind it. */
import type { TcpReason } from '#engine/contract/tcp.ts'

/** A label of a metric, so there are few of them. */
export type HandshakeResult =
  | ('ok' | 'resumed' | 'client_gone' | 'timeout' | 'clear_text_http' | 'not_tls' | 'malformed')
  | ('no_listener' | 'client_certificate' | 'no_agreement' | 'cut' | 'failed')

export interface HandshakeReport {
  readonly port: number
  readonly result: HandshakeResult
  readonly seconds: number
  readonly remoteAddress: string
  /** '' when it is not known. */
  readonly serverName: string
  /** More words, or OpenSSL's code; '' for none. Never anything of a key. */
  readonly detail: string
}

/** What is recorded of a connection that would have been passed on; null: nothing. */
export const REASON_OF: Readonly<Record<HandshakeResult, TcpReason | null>> = {
  ok: null,
  resumed: null,
  client_gone: 'CLIENT_GONE',
  timeout: 'HEAD_TIMEOUT',
  clear_text_http: 'BAD_CLIENT_HELLO',
  not_tls: 'BAD_CLIENT_HELLO',
  malformed: 'BAD_CLIENT_HELLO',
  no_listener: 'LISTENER_NOT_FOUND',
  client_certificate: 'TLS_FAILURE',
  no_agreement: 'TLS_FAILURE',
  failed: 'TLS_FAILURE',
  cut: null
}

/** Ends of OpenSSL's codes that say that client and listener have nothing in common. */
const AGREEMENT = ['NO_APPLICATION_PROTOCOL', 'UNSUPPORTED_PROTOCOL', 'NO_SHARED_CIPHER', 'VERSION_TOO_LOW']

/** `code`: ERR_SSL_... of OpenSSL, a code of X.509, or that of a socket. */
export function resultOf(code: string): HandshakeResult {
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ETIMEDOUT') return 'client_gone'
  // Codes of X.509 (CERT_HAS_EXPIRED, ERROR_IN_CERT_...) and those of errno and OpenSSL (ERR_...) do not begin alike.
  if (!/^E(?!RROR_)/.test(code)) return 'client_certificate'
  if (code.endsWith('PEER_DID_NOT_RETURN_A_CERTIFICATE')) return 'client_certificate'
  return AGREEMENT.some((what) => code.endsWith(what)) ? 'no_agreement' : 'failed'
}
