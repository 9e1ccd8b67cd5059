/** How a server is spoken to (docs/specification.md#backend-connections). */
export interface BackendHttp {
  /** Null: by the rule of the specification, request by request. */
  readonly version: 'HTTP1' | 'HTTP2' | null
  /** For one attempt; 0: no limit of its own. */
  readonly requestTimeoutMs: number
}
