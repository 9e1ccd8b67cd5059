/**
 * What a transport towards clients can honour of the configuration. Each transport exports one table; the checks of a
 * configuration and the transport itself refuse by it, so that no setting is read and then ignored.
 */

export interface TransportCapabilities {
  /** As the configuration and metrics call it. */
  readonly name: string
  /** Protocols that its listeners may have; null: all. */
  readonly protocols: readonly string[] | null
  /** It reads PROXY headers of clients. */
  readonly readsProxyHeaders: boolean
  /** It probes idle connections (TCP keepalive). */
  readonly sendsTcpProbes: boolean
  /** It knows the port of a client. */
  readonly knowsClientPort: boolean
  /** It knows the address that a client has connected to and, on a listener for every host, the name (SNI). */
  readonly knowsDestination: boolean
  /** Settings of HTTP that it fixes or bounds. */
  readonly http: readonly HttpLimit[]
  /** Settings of TLS that it could not honour: of all listeners, of one listener. */
  tlsFaults(
    tls: TlsVersions & { readonly handshakeTimeoutMs: number; readonly alpn: readonly string[] }
  ): SettingFault[]
  listenerFaults(listener: ListenerFacts): SettingFault[]
  /** A difference that does not show at run time and that the user has to know; null: none. */
  readonly warning: string | null
}

/** A setting of frontendPolicies.http that a transport fixes or bounds. */
export interface HttpLimit {
  /** As the file calls it. */
  readonly key: 'http1IdleTimeout' | 'http1HeaderTimeout' | 'http1MaxHeaders' | 'maxHeaderSize'
  /** As the Snapshot calls it. */
  readonly field: 'idleTimeoutMs' | 'headTimeoutMs' | 'headersMax' | 'headBytesMax'
  readonly honours: (value: number) => boolean
  /** What happens instead. */
  readonly fact: string
  readonly advice: string
}

/** Versions and cipher suites, for all listeners or for one; null: not set. */
export interface TlsVersions {
  readonly minVersion: string | null
  readonly maxVersion: string | null
  readonly cipherSuites: readonly string[] | null
}

export interface ListenerFacts {
  readonly hostname?: string
  readonly tls?: (TlsVersions & { readonly clientCa: string | null; readonly hasSeveralCertificates?: boolean }) | null
}

/** A setting of TLS, as the file calls it, that could not be honoured. */
export interface SettingFault {
  readonly key: string
  readonly value: string
  /** What happens instead. */
  readonly fact: string
}
