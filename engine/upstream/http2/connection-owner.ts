/** What a connection of HTTP/2 says first, and to whom it reports. */

import type { ErrorCode } from '#engine/contract/errors.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import { settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import {
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  INITIAL_WINDOW_SIZE,
  MAX_HEADER_LIST_SIZE,
  PREFACE
} from '#engine/http2/protocol.ts'
import type { TimerWheel } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import type { Repeat } from '#engine/upstream/http1/connection.ts'
import type { EvictionCandidate, SlowClientEviction } from '#engine/upstream/slow-client-eviction.ts'
import type { Http2Upstream } from './connection.ts'
import { LIST_BYTES_MAX } from './response-fields.ts'
import { type Http2UpstreamStream, STREAM_WINDOW } from './stream.ts'

/**
 * Of the whole connection. What clients have not read of their answers is at most this much: 128 of them, at 256 KiB
 * each. When half of it is kept by such clients, new exchanges go to another connection.
 */
export const CONNECTION_WINDOW = 32 * 1024 * 1024
/** The preface (RFC 9113 section 3.4), and room to answer in. */
export const CONNECTION_PREFACE =
  PREFACE +
  settingsFrame([
    ...[ENABLE_PUSH, 0],
    ...[INITIAL_WINDOW_SIZE, STREAM_WINDOW],
    ...[MAX_HEADER_LIST_SIZE, LIST_BYTES_MAX]
  ]) +
  windowUpdateFrame(0, CONNECTION_WINDOW - DEFAULT_WINDOW)

/** Where a connection belongs: its pool. */
export interface Http2ConnectionOwner {
  readonly events: ServerEvents
  readonly timers: TimerWheel
  readonly memory: ReadMemory
  /** 0: no limit. */
  readonly requestsPerConnectionMax: number
  /** For those that wait for what others of `held` keep. `waiting`: how many do. */
  newEviction(
    held: () => Iterable<EvictionCandidate>,
    waiting: () => number,
    keptByWaiting: () => readonly number[]
  ): SlowClientEviction
  /** The server's SETTINGS are there: exchanges may begin. */
  ready(connection: Http2Upstream): void
  /** It ended before that. `code`: of the system, or NOT_HTTP2. */
  refused(connection: Http2Upstream, code: string): void
  /** The exchange of `stream` is over. */
  freed(connection: Http2Upstream, stream: Http2UpstreamStream): void
  /** It may have room for more than before. */
  capacityGrew(): void
  /** It takes no further exchange; those under way go on. */
  retired(connection: Http2Upstream): void
  gone(connection: Http2Upstream): void
  failed(ex: Exchange, code: ErrorCode, repeat: Repeat): void
}
