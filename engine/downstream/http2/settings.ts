/** The first frames for a client: our SETTINGS (RFC 9113 section 6.5), and how large the connection's window is. */
import { settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import {
  DEFAULT_WINDOW,
  ENABLE_CONNECT_PROTOCOL,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE
} from '#engine/http2/protocol.ts'
import type { FrontendHttp2 } from '#engine/ir/frontend.ts'

/** Requests of one client at a time; browsers and gRPC are content with it. */
export const STREAMS_MAX = 100

/** The same text for every connection under the same settings. */
let text = ''
let madeOf: FrontendHttp2 | null = null
let madeFor = 0

/** `headBytesMax`: of a request's fields. */
export function initialSettings(http2: FrontendHttp2, headBytesMax: number): string {
  if (madeOf !== http2 || madeFor !== headBytesMax) {
    text = settingsFrame([
      ...[MAX_CONCURRENT_STREAMS, STREAMS_MAX, INITIAL_WINDOW_SIZE, http2.windowBytes],
      ...[MAX_FRAME_SIZE, http2.frameBytesMax, MAX_HEADER_LIST_SIZE, headBytesMax, ENABLE_CONNECT_PROTOCOL, 1]
    ])
    const { connectionWindowBytes: window } = http2
    if (window > DEFAULT_WINDOW) text += windowUpdateFrame(0, window - DEFAULT_WINDOW)
    madeOf = http2
    madeFor = headBytesMax
  }
  return text
}
