/** How the gateway connects to a backend (docs/specification.md#backend-connections). */
import type { EndpointOptions } from '#engine/contract/endpoint.ts'
import type { Resilience } from '#engine/contract/resilience.ts'
import type { TlsSettings } from '#engine/socket/tls.ts'

/** Files read already. */
export interface BackendTls extends Omit<TlsSettings, 'serverName'> {
  /** In SNI and in the certificate, instead of the destination's own name; null: that. */
  readonly hostname: string | null
}

/** Milliseconds; null: that of the process, or of the system. */
export interface BackendTcp {
  readonly connectTimeoutMs: number | null
  /** Idle time before the first probe; 0: no probes. */
  readonly keepaliveMs: number | null
  /** The version of the PROXY header that plain servers get; null: they get none. */
  readonly proxyProtocol: 'v1' | 'v2' | null
}

export interface BackendTransport {
  /** Null: no policy; a destination with TLS of its own (https, a provider's own host) has it all the same. */
  readonly tls: BackendTls | null
  readonly tcp: BackendTcp | null
  /** Which of its addresses gets a request; absent: the default. */
  readonly resilience?: Resilience
}

interface Place {
  /** '' for a unix socket. */
  readonly host: string
  /** Its scheme or its kind says so. */
  readonly hasTls: boolean
}

type Base = Pick<EndpointOptions, 'guarded' | 'allow' | 'connectTimeoutMs'>

/** What a destination is dialled with. */
export function endpointOptions(
  { host, hasTls }: Place,
  { tls, tcp, resilience }: BackendTransport = PLAIN,
  base: Base
): EndpointOptions {
  const keepaliveMs = tcp?.keepaliveMs ?? null
  return {
    ...base,
    connectTimeoutMs: tcp?.connectTimeoutMs ?? base.connectTimeoutMs,
    ...(keepaliveMs === null ? {} : { keepaliveMs }),
    ...(resilience === undefined ? {} : { resilience }),
    tls: hasTls || tls !== null ? tlsSettings(host, tls) : null
  }
}

function tlsSettings(host: string, tls: BackendTls | null): TlsSettings {
  if (tls === null) return { serverName: host, ca: null }
  const { hostname, ...others } = tls
  return { serverName: hostname ?? host, ...others }
}

const PLAIN: BackendTransport = { tls: null, tcp: null }
