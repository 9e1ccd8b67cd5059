/** What one run of the generator is asked to do, and what it answers: both cross a process boundary as JSON. */

export interface Job {
  /**
   * closed: as fast as answers come; open: at a constant rate; hold: open connections and keep them idle; first: one
   * request after the other on one connection.
   */
  readonly mode: 'closed' | 'open' | 'hold' | 'first'
  readonly port: number
  readonly connections: number
  /** Over TLS, without verification; every connection has a whole handshake. */
  readonly hasTls: boolean
  /** A new connection for every request; the server is asked to close it, and must. */
  readonly fresh: boolean
  /** Whole requests as latin1 text, sent in turn. */
  readonly requests: readonly string[]
  readonly warmupMs: number
  /** Length of the measured window; ignored when `count` is set. */
  readonly windowMs: number
  /** closed: exactly this many requests instead of a window of time; first: as many; null otherwise. */
  readonly count: number | null
  /** open: requests per second. */
  readonly rate: number
  /** How long answers may still come after the window; with a count, how long the whole run may take. */
  readonly graceMs: number
}

/** Everything that can be wrong with an answer. Any of them fails the run. */
export type Fault =
  /** The connection was refused. */
  | 'connect'
  /** The connection broke or was closed before the answer was whole. */
  | 'closed'
  /** Not the expected status. */
  | 'status'
  /** Head, Content-Length or chunks that cannot be right. */
  | 'framing'
  /** Another body than the backend sent. */
  | 'body'
  /** Unexpected bytes. */
  | 'extra'
  /** No whole answer in time, or a connection that should have been closed and was not. */
  | 'timeout'

export type Faults = { [kind in Fault]?: number }

/** The expected answer. */
export interface Expected {
  readonly status: number
  readonly body: Buffer
  /** Parts of it that may be anything of that length, in order: [start, end). */
  readonly unlike?: readonly (readonly [start: number, end: number])[]
}

/** State of the observed processes at one moment. */
export interface Usage {
  /** CPU time of all threads so far, nanoseconds. */
  readonly cpuNs: number
  /** Resident bytes. */
  readonly rssBytes: number
}

/** Microseconds from the moment a request was due to the last byte of its answer; first: to the first of its body. */
export interface Latency {
  readonly p50Us: number
  readonly p99Us: number
  readonly p999Us: number
  readonly maxUs: number
}

export interface Outcome {
  /** Whole, correct answers within the measured window. */
  readonly answers: number
  /**
   * Body bytes received in the window over the bytes of one body: an answer that is under way at
   * either end of the window counts with its share. This is what CPU time is divided by.
   */
  readonly shares: number
  readonly seconds: number
  readonly faults: Faults
  /** CPU time of the observed processes over the window, microseconds. */
  readonly cpuUs: number
  /** Resident bytes of the observed processes at the end of the window. */
  readonly rssBytes: number
  /** Only of an open run, and of first. */
  readonly latency: Latency | null
}
