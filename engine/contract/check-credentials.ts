import type { Exchange } from './exchange.ts'

/** What active checks show a server of who asks. It is the gateway: they have no client. */
export interface CheckCredentials {
  /**
   * Shows it in ex.request; ex.upstreamHost is set. Null: done; a promise where something has to be fetched first: of
   * what then does it. Rejects when that fails.
   */
  show(ex: Exchange): Promise<() => void> | null
  /** The server answered 401 or 403. */
  refused(): void
}
