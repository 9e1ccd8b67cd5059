/** What a connection of HTTP/2 reports to. */
import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { Repeat } from '#engine/upstream/http1/connection.ts'
import type { UpstreamShared } from '#engine/upstream/shared.ts'
import type { EvictionCandidate, SlowClientEviction } from '#engine/upstream/slow-client-eviction.ts'
import type { Http2Upstream } from './connection.ts'
import type { Http2UpstreamStream } from './stream.ts'

/** Its pool. */
export interface Http2ConnectionOwner {
  readonly shared: UpstreamShared
  /** Evicts slow clients among `connections` for those that wait. `waiting`: how many do. */
  newEviction(
    connections: () => Iterable<EvictionCandidate>,
    waiting: () => number,
    keptByWaiting: () => readonly number[]
  ): SlowClientEviction
  /** The server's SETTINGS are there: exchanges may begin. */
  ready(connection: Http2Upstream): void
  /** It ended before that. `code`: of the system, or NOT_HTTP2. */
  refused(connection: Http2Upstream, code: string): void
  /** The exchange of `stream` is over. */
  freed(connection: Http2Upstream, stream: Http2UpstreamStream): void
  /** It may take more streams than before. */
  capacityGrew(): void
  /** It takes no further exchange; those under way go on. */
  retired(connection: Http2Upstream): void
  gone(connection: Http2Upstream): void
  failed(ex: Exchange, code: ErrorCode, repeat: Repeat): void
}
