/** Settings for tests over the transports towards clients. */

/** What of HTTP uWebSockets.js can honour. */
export const UWS_HTTP = { headersMax: 98, idleTimeoutMs: 12_000, headTimeoutMs: 12_000 } as const

export const UWS_STACK = { transport: 'uws', http: UWS_HTTP, tcp: { keepalive: { timeMs: 0 } } } as const
