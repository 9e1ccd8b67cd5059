/** The first frames for a server, and the limits that it gets. */
import { settingsFrame, windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { IdleFrames } from '#engine/http2/idle-frames.ts'
import {
  DEFAULT_WINDOW,
  ENABLE_PUSH,
  INITIAL_WINDOW_SIZE,
  MAX_HEADER_LIST_SIZE,
  PREFACE
} from '#engine/http2/protocol.ts'
import { LIST_BYTES_MAX } from './response-fields.ts'

/** SETTINGS_INITIAL_WINDOW_SIZE: what a client that does not read makes us keep of one answer. */
export const STREAM_WINDOW = 256 * 1024
/**
 * Of the whole connection. What clients have not read of their answers is at most this much: 128 of them, at 256 KiB
 * each. When half of it is kept by such clients, new exchanges go to another connection.
 */
export const CONNECTION_WINDOW = 32 * 1024 * 1024
/** The preface (RFC 9113 section 3.4), our SETTINGS and the connection's window. */
export const CONNECTION_PREFACE =
  PREFACE +
  settingsFrame([
    ...[ENABLE_PUSH, 0],
    ...[INITIAL_WINDOW_SIZE, STREAM_WINDOW],
    ...[MAX_HEADER_LIST_SIZE, LIST_BYTES_MAX]
  ]) +
  windowUpdateFrame(0, CONNECTION_WINDOW - DEFAULT_WINDOW)

const IDLE_FRAMES_MAX = 2000
const IDLE_FRAMES_PER_SECOND = 200
/** Idle frames that one useful frame excuses. */
export const EARNED_PER_FRAME = 4

export const idleFramesFrom = (now: number): IdleFrames =>
  new IdleFrames(IDLE_FRAMES_MAX, IDLE_FRAMES_PER_SECOND, EARNED_PER_FRAME, now)
