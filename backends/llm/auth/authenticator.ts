/** Who the gateway is to a provider: what puts a key, a token or a signature into each request. */
import type { Exchange } from '#engine/contract/exchange.ts'

export interface Authenticator {
  /** Whether `client` is looked at. */
  readonly wantsClient: boolean
  /**
   * Shows in ex.request who asks, and nobody else. Method, path, query, host and body are what will be sent. Null:
   * done; a promise only where something has to be fetched first: of what then does it, for who still wants it (another
   * provider may be tried meanwhile, and must not be shown what was fetched for this one). Rejects when that fails.
   */
  readonly authorize: (ex: Exchange, client: ClientKeys) => Promise<() => void> | null
  /** The provider answered 401 or 403. */
  readonly refused: () => void
}

export interface ClientKeys {
  /** What stands in the request: no policy of the gateway has claimed it. */
  readonly inRequest: ClientKey
  /** What a policy of the gateway has taken out. */
  readonly consumed: ClientKey
}

export interface ClientKey {
  /** A key or token without its scheme; null: there is none. */
  readonly key: string | null
  /** An Authorization of another scheme than Bearer (Basic), as it came: no provider of models takes it for a key. */
  readonly other: string | null
}
