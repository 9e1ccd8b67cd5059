/** Defaults of TLS, HTTP/2 and the PROXY protocol (docs/specification.md#frontend-policies). */
import type { FrontendHttp2, FrontendSettings, FrontendTls } from './frontend.ts'
import type { Bind, Listener } from './snapshot.ts'

/** A listener of clear-text HTTP, as far as protocols are concerned. */
export const CLEAR_TEXT: Pick<Listener, 'protocol' | 'tls' | 'tcpRoutes'> = {
  protocol: 'HTTP',
  tls: null,
  tcpRoutes: []
}

const TLS: FrontendTls = {
  handshakeTimeoutMs: 15_000,
  alpn: ['h2', 'http/1.1'],
  minVersion: '1.2',
  maxVersion: '1.3',
  cipherSuites: null
}

const HTTP2: FrontendHttp2 = {
  windowBytes: 256 * 1024,
  connectionWindowBytes: 1024 * 1024,
  frameBytesMax: 16 * 1024,
  pingIntervalMs: 0,
  pingTimeoutMs: 20_000
}

export const PROTOCOL_DEFAULTS = { tls: TLS, http2: HTTP2, proxyProtocol: null } as const

/** What holds for the connections of one bind. */
export function frontendOf(frontend: FrontendSettings, bind: Bind | undefined): FrontendSettings {
  if (bind?.tunnelProtocol === undefined) return frontend
  const proxyProtocol =
    bind.tunnelProtocol === 'direct' ? null : (frontend.proxyProtocol ?? { version: 'v2', mode: 'strict' })
  return { ...frontend, proxyProtocol }
}
