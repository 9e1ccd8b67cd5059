/** How connections of clients are treated: TLS, HTTP, TCP (docs/specification.md#frontend-policies). */
import type { RequestIdRules } from '#engine/contract/request-id.ts'
import type { Secret } from '#engine/kit/secret.ts'

/** The server's side of TLS, files read already (the watcher reads them again when they change). */
export interface ListenerTls {
  /** PEM: the chain, the server's own certificate first. */
  readonly cert: string
  readonly key: Secret
  /** PEM: authorities that clients' certificates must come from; null: none is asked for. */
  readonly clientCa: string | null
  /** A client that has no certificate of them is let in nevertheless, as one that shows none. Absent: no. */
  readonly allowsUnverified?: boolean
  /** Shown in place of `cert` where they fit the name that a client asks for better, or its keys. */
  readonly additionalCertificates?: readonly { readonly cert: string; readonly key: Secret }[]
  /** Instead of those of frontendPolicies.tls; null: those. */
  readonly minVersion: TlsVersion | null
  readonly maxVersion: TlsVersion | null
  readonly cipherSuites: readonly string[] | null
}

export type TlsVersion = '1.2' | '1.3'

/** Connection-level settings (docs/specification.md#frontend-policies); units are milliseconds and bytes. */
export interface FrontendSettings {
  readonly http: {
    readonly maxBufferBytes: number
    readonly headersMax: number
    readonly idleTimeoutMs: number
    /** From the first byte of a head to its end. */
    readonly headTimeoutMs: number
    /** Longest pause between two pieces of a request body. */
    readonly bodyTimeoutMs: number
    /** Longest time without progress while a client does not read its response. */
    readonly sendTimeoutMs: number
    /** Largest head, start line included. */
    readonly headBytesMax: number
    /** Longest request target. */
    readonly uriBytesMax: number
    /** Largest request body; 0: unlimited. */
    readonly bodyBytesMax: number
    /** Absent: the defaults. */
    readonly requestId?: RequestIdRules
  }
  readonly tcp: {
    readonly keepalive: { readonly timeMs: number }
    /** After so long without a byte a connection that is passed on unread is closed; absent: an hour. */
    readonly idleTimeoutMs?: number
  }
  readonly tls: FrontendTls
  readonly http2: FrontendHttp2
  /** A PROXY header before everything else on every connection; null: none is read. */
  readonly proxyProtocol: { readonly version: 'v1' | 'v2' | 'all'; readonly mode: 'strict' | 'optional' } | null
}

/** docs/specification.md#frontend-tls. */
export interface FrontendTls {
  /** From the first byte of the connection to the end of the handshake. */
  readonly handshakeTimeoutMs: number
  /** The preferred first. */
  readonly alpn: readonly string[]
  readonly minVersion: TlsVersion
  readonly maxVersion: TlsVersion
  /** Names of docs/specification.md#frontend-tls; null: OpenSSL's own choice of them. */
  readonly cipherSuites: readonly string[] | null
}

/** Settings of HTTP/2 (RFC 9113; docs/specification.md#frontend-policies). Bytes and milliseconds. */
export interface FrontendHttp2 {
  /** SETTINGS_INITIAL_WINDOW_SIZE. */
  readonly windowBytes: number
  readonly connectionWindowBytes: number
  /** SETTINGS_MAX_FRAME_SIZE. */
  readonly frameBytesMax: number
  /** Between PINGs on a connection that says nothing; 0: none are sent. */
  readonly pingIntervalMs: number
  /** For the answer to a PING. */
  readonly pingTimeoutMs: number
}
