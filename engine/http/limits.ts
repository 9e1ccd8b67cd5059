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
}

/**
 * The settings that a listener on uWebSockets.js could not honour, each as one clause that names the
 * setting, its value and what would happen instead. Empty: it can serve. `headBytesMax`: what the
 * loaded binary takes.
 */
export function beyondUws(
  frontend: FrontendLimits,
  listeners: readonly { readonly protocol: string }[],
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
  for (const { protocol } of listeners) {
    if (protocol !== 'HTTP') refuse('protocol', protocol, 'only clear-text HTTP is served through it')
  }
  return found
}
