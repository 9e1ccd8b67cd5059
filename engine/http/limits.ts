/**
 * What uWebSockets.js fixes and nobody can set: the limits within which a listener can be served by it.
 * Pure facts, so that the configuration loader and the transport refuse by the same list.
 * Where the numbers come from: docs/design/005-uws-transport.md.
 */

export const UWS = {
  /** Header fields per request; one more is answered 431 before we see the request. */
  headersMax: 98,
  /** Largest request head, if UWS_HTTP_MAX_HEADERS_SIZE was set to this before the binary was loaded. */
  headBytesMax: 64 * 1024,
  /** Largest request head without that variable. */
  headBytesDefault: 4096,
  /** An idle connection is closed after 10 s, counted in ticks of 4 s: after 12 s at the latest. */
  idleTimeoutMs: 12_000,
  /** The same clock runs while a head arrives. */
  headTimeoutMs: 12_000,
  /** A message from a client is collected whole before it is passed on; a larger one ends the WebSocket. */
  messageBytesMax: 16 * 1024 * 1024
} as const

/** The frontend settings that matter here; FrontendSettings of the Snapshot fits. */
export interface FrontendLimits {
  readonly http: {
    readonly headersMax: number
    readonly headBytesMax: number
    readonly idleTimeoutMs: number
    readonly headTimeoutMs: number
  }
  readonly tcp: { readonly keepalive: { readonly timeMs: number } }
  readonly proxyProtocol?: unknown
  readonly tls?: TlsLimits & { readonly handshakeTimeoutMs: number; readonly alpn: readonly string[] }
}

/** What is said of versions and suites, for all listeners or for one; null: nothing. */
interface TlsLimits {
  readonly minVersion: string | null
  readonly maxVersion: string | null
  readonly cipherSuites: readonly string[] | null
}

interface ListenerLimits {
  readonly protocol: string
  readonly hostname?: string
  readonly tls?: (TlsLimits & { readonly clientCa: string | null }) | null
}

/** A setting of TLS (as the file calls it) that could not be honoured, and what would happen instead. */
export interface Beyond {
  readonly key: string
  readonly value: string
  readonly fact: string
}

/** Of frontendPolicies.tls, for ports with HTTPS. */
export function tlsBeyondUws(tls: NonNullable<FrontendLimits['tls']>): Beyond[] {
  const found = versionsBeyondUws(tls)
  if (tls.alpn.join() !== 'http/1.1')
    found.push({ key: 'alpnProtocols', value: tls.alpn.join(), fact: 'it speaks HTTP/1.1 only: [http/1.1]' })
  if (tls.handshakeTimeoutMs !== UWS.headTimeoutMs) {
    const fact = `it waits ${UWS.headTimeoutMs}ms for a handshake`
    found.push({ key: 'handshakeTimeout', value: `${tls.handshakeTimeoutMs}ms`, fact })
  }
  return found
}

/** Of one listener of HTTPS. */
export function listenerBeyondUws({ hostname = '*', tls }: ListenerLimits): Beyond[] {
  const found = tls == null ? [] : versionsBeyondUws(tls)
  if (tls != null && tls.clientCa !== null)
    found.push({ key: 'root', value: 'given', fact: 'it asks no client for a certificate' })
  if (hostname !== '*' && hostname.includes('*'))
    found.push({ key: 'hostname', value: hostname, fact: 'its wildcards stand for one label' })
  return found
}

function versionsBeyondUws({ minVersion, maxVersion, cipherSuites }: TlsLimits): Beyond[] {
  const found: Beyond[] = []
  const fact = 'it speaks TLS 1.2 and 1.3, which cannot be set'
  if ((minVersion ?? '1.2') !== '1.2') found.push({ key: 'minimum version', value: String(minVersion), fact })
  if ((maxVersion ?? '1.3') !== '1.3') found.push({ key: 'maximum version', value: String(maxVersion), fact })
  if (cipherSuites !== null)
    found.push({ key: 'cipherSuites', value: cipherSuites.join(), fact: 'its suites of TLS 1.3 cannot be set' })
  return found
}

/**
 * The settings that a listener on uWebSockets.js could not honour, each as one clause that names the
 * setting, its value and what would happen instead. Empty: it can serve. `headBytesMax`: what the
 * loaded binary takes.
 */
export function beyondUws(
  frontend: FrontendLimits,
  listeners: readonly ListenerLimits[],
  headBytesMax: number = UWS.headBytesMax
): string[] {
  const { http, tcp } = frontend
  const found: string[] = []
  const refuse = (setting: string, value: string | number, fact: string) => found.push(`${setting} = ${value}: ${fact}`)
  if (http.headersMax > UWS.headersMax) {
    refuse('http1MaxHeaders', http.headersMax, `it takes at most ${UWS.headersMax} header fields`)
  }
  if (http.headBytesMax > headBytesMax) {
    refuse('headBytesMax', http.headBytesMax, `it takes request heads of at most ${headBytesMax} bytes`)
  }
  if (http.idleTimeoutMs !== UWS.idleTimeoutMs) {
    refuse('http1IdleTimeout', `${http.idleTimeoutMs}ms`, `it closes idle connections after ${UWS.idleTimeoutMs}ms`)
  }
  if (http.headTimeoutMs !== UWS.headTimeoutMs) {
    refuse('headTimeout', `${http.headTimeoutMs}ms`, `it waits ${UWS.headTimeoutMs}ms for a request head`)
  }
  if (tcp.keepalive.timeMs > 0) refuse('tcp.keepalives.time', `${tcp.keepalive.timeMs}ms`, 'it sends no TCP probes')
  if (frontend.proxyProtocol != null) refuse('proxyProtocol', 'on', 'it reads no PROXY headers')
  const isHttps = listeners.some(({ protocol }) => protocol === 'HTTPS')
  if (isHttps && frontend.tls !== undefined)
    for (const { key, value, fact } of tlsBeyondUws(frontend.tls)) refuse(`tls ${key}`, value, fact)
  for (const listener of listeners) {
    const { protocol } = listener
    if (protocol !== 'HTTP' && protocol !== 'HTTPS') refuse('protocol', protocol, 'it serves HTTP and HTTPS only')
    if (protocol === 'HTTPS') for (const { key, value, fact } of listenerBeyondUws(listener)) refuse(key, value, fact)
  }
  return found
}
