/** What a peer's SETTINGS say (RFC 9113 section 6.5). */
import {
  DEFAULT_FRAME_BYTES,
  DEFAULT_TABLE_BYTES,
  DEFAULT_WINDOW,
  ENABLE_CONNECT_PROTOCOL,
  ENABLE_PUSH,
  FLOW_CONTROL_ERROR,
  FRAME_BYTES_MAX,
  HEADER_TABLE_SIZE,
  INITIAL_WINDOW_SIZE,
  MAX_CONCURRENT_STREAMS,
  MAX_FRAME_SIZE,
  MAX_HEADER_LIST_SIZE,
  NO_ERROR,
  PROTOCOL_ERROR,
  WINDOW_MAX
} from './protocol.ts'

export class PeerSettings {
  tableBytes = DEFAULT_TABLE_BYTES
  /** Of every stream, to send in. */
  windowBytes = DEFAULT_WINDOW
  frameBytes = DEFAULT_FRAME_BYTES
  /** Streams that we may open; more than there are identifiers until the peer says less. */
  streamsMax = WINDOW_MAX
  /** Advisory: bytes of a header list that the peer wants to see at most. */
  listBytes = Number.POSITIVE_INFINITY
  /** The peer takes extended CONNECT (RFC 8441). */
  hasConnectProtocol = false

  /** Takes the payload of one frame, in order: NO_ERROR, or the code of a connection error. */
  take(bytes: Buffer, start: number, end: number): number {
    for (let at = start; at < end; at += 6) {
      const code = this.#set((bytes[at]! << 8) | bytes[at + 1]!, bytes.readUInt32BE(at + 2))
      if (code !== NO_ERROR) return code
    }
    return NO_ERROR
  }

  #set(id: number, value: number): number {
    switch (id) {
      case HEADER_TABLE_SIZE:
        this.tableBytes = value
        return NO_ERROR
      case ENABLE_PUSH:
        return value > 1 ? PROTOCOL_ERROR : NO_ERROR
      case MAX_CONCURRENT_STREAMS:
        this.streamsMax = value
        return NO_ERROR
      case INITIAL_WINDOW_SIZE:
        this.windowBytes = value
        return value > WINDOW_MAX ? FLOW_CONTROL_ERROR : NO_ERROR
      case MAX_FRAME_SIZE:
        this.frameBytes = value
        return value < DEFAULT_FRAME_BYTES || value > FRAME_BYTES_MAX ? PROTOCOL_ERROR : NO_ERROR
      case MAX_HEADER_LIST_SIZE:
        this.listBytes = value
        return NO_ERROR
      case ENABLE_CONNECT_PROTOCOL:
        // Once on, it stays on (RFC 8441 section 3).
        if (value > 1 || (value === 0 && this.hasConnectProtocol)) return PROTOCOL_ERROR
        this.hasConnectProtocol = value === 1
        return NO_ERROR
      default:
        return NO_ERROR
    }
  }
}
