/** Numbers of HTTP/2: RFC 9113 sections 3.4, 4.1, 6, 6.5.2 and 7, RFC 8441 section 3. */

/** What a client says first, before its SETTINGS (section 3.4). */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
/** So much of it no request of HTTP/1 begins with: its method is reserved (section 11.6). */
export const PREFACE_UNIQUE_BYTES = 'PRI '.length

export const FRAME_HEAD_BYTES = 9

export const DATA = 0
export const HEADERS = 1
export const PRIORITY = 2
export const RST_STREAM = 3
export const SETTINGS = 4
export const PUSH_PROMISE = 5
export const PING = 6
export const GOAWAY = 7
export const WINDOW_UPDATE = 8
export const CONTINUATION = 9

export const END_STREAM = 1
export const ACK = 1
export const END_HEADERS = 4
export const PADDED = 8
export const WITH_PRIORITY = 32

export const NO_ERROR = 0
export const PROTOCOL_ERROR = 1
export const INTERNAL_ERROR = 2
export const FLOW_CONTROL_ERROR = 3
export const STREAM_CLOSED = 5
export const FRAME_SIZE_ERROR = 6
export const REFUSED_STREAM = 7
export const CANCEL = 8
export const COMPRESSION_ERROR = 9
export const ENHANCE_YOUR_CALM = 11
export const HTTP_1_1_REQUIRED = 13

export const HEADER_TABLE_SIZE = 1
export const ENABLE_PUSH = 2
export const MAX_CONCURRENT_STREAMS = 3
export const INITIAL_WINDOW_SIZE = 4
export const MAX_FRAME_SIZE = 5
export const MAX_HEADER_LIST_SIZE = 6
export const ENABLE_CONNECT_PROTOCOL = 8

/** What holds until the peer's SETTINGS say otherwise. */
export const DEFAULT_WINDOW = 65_535
export const DEFAULT_FRAME_BYTES = 16_384
export const FRAME_BYTES_MAX = 16_777_215
export const DEFAULT_TABLE_BYTES = 4096
export const WINDOW_MAX = 0x7fffffff
export const STREAM_ID_MAX = 0x7fffffff
