/**
 * Child processes that speak JSON-RPC, one message per line (MCP, stdio transport), and what stands for one: the main
 * thread has the conversations, every worker talks to them. One per (what is run, key), whichever worker asks.
 */

/** What is run, and its bounds. */
export interface ChildSpec {
  /** Of the Snapshot: with the target's name, the place that bounds and log lines are for. */
  readonly backend: string
  readonly target: string
  readonly cmd: string
  readonly args: readonly string[]
  /** Beside PATH, HOME, LANG, TERM, TMPDIR and USER, nothing else of the gateway's environment goes in. */
  readonly env: Readonly<Record<string, string>>
  /** Null: that of the gateway. */
  readonly cwd: string | null
  /** Of one message, from the process or to it. */
  readonly lineBytesMax: number
  /** Milliseconds without a message or a listener after which the process is ended; 0: never. */
  readonly idleMs: number
  /**
   * What stands for a process: the worker that needs it first has it, and gives it up with its life; the hub has the
   * conversation.
   */
  readonly start?: (events: ChannelEvents) => ChildChannel
}

/** A process, or what stands for one: takes lines and gives lines. */
export interface ChildChannel {
  /** 0: it has none. */
  readonly pid: number
  /** Bytes that have not been taken. */
  readonly queuedBytes: number
  /** Resolves when nothing of it is left. */
  readonly gone: Promise<void>
  write(line: string, delivery: Delivery): void
  pause(): void
  resume(): void
  /** Politely, and step by step what does not leave. */
  end(): void
  /** At once. */
  kill(): void
}

export interface Delivery {
  /** Nothing that is written later may overtake it. */
  readonly isFirst: boolean
  /** ChildRequest.extra or ChildNotice.extra. */
  readonly extra: unknown
  /** It has arrived; what a process reads shows in its answers. */
  readonly taken?: () => void
  /** It has not. */
  readonly lost: (failure: ChildFailure) => void
}

export interface ChannelEvents {
  line(text: string): void
  /** A line longer than the bound was left out. */
  tooLong(): void
  /** Something for the log. */
  log(text: string): void
  /** It takes more again. */
  drained(): void
  /** Once: in words. */
  ended(why: string): void
}

export interface ChildFailure {
  /**
   * `expired`: the process that was meant is gone, a new one may help. `refused`: a bound. `unreachable`: it cannot be
   * started. `broken`: it ended with the request under way. `tooLarge`: it said more than lineBytesMax at once.
   */
  readonly kind: 'expired' | 'refused' | 'unreachable' | 'broken' | 'tooLarge'
  /** A reason for the client and the log, without anything that the process has written. */
  readonly message: string
  /** HTTP status, where one came. */
  readonly status?: number
}

export interface ChildRequest {
  /** JSON of an object without `id`: one that no other worker uses is put in. */
  readonly text: string
  /** As the conversation knows it: what a cancellation names. */
  readonly id: string | number
  /** `params._meta.progressToken`: its progress comes to this request. */
  readonly progressToken: string | number | null
  /** A process gets `initialize` once: a later one with the same content gets the first answer. */
  readonly isInitialize: boolean
  /** For ChildSpec.start: handed on as a structured clone. */
  readonly extra?: unknown
}

export interface ChildRequestEvents {
  /** A notification, or a request of the server, as it came but checked: a JSON-RPC message. */
  message(text: string): void
  /** The response, with the id that it had on the wire. */
  answered(text: string): void
  failed(failure: ChildFailure): void
}

export interface ChildNotice {
  /** JSON of a notification or a response. */
  readonly text: string
  /** Of a notification. */
  readonly method: string | null
  /** Of `notifications/cancelled`: ChildRequest.id; on the wire it has another name. */
  readonly cancels: string | number | null
  readonly extra?: unknown
}

export interface ChildLink {
  /** Names the very process that has answered; null: none has. */
  readonly instance: string | null
  /** Returns a function that cancels it: the process gets a cancellation, and no event follows. */
  request(request: ChildRequest, events: ChildRequestEvents): () => void
  /** Null: it is on its way. */
  send(notice: ChildNotice): Promise<ChildFailure | null>
  /** What belongs to no request. `ended`: the process is gone. Returns what ends it. */
  listen(events: { message(text: string): void; ended(failure: ChildFailure): void }): () => void
  /** Ends the process, for everybody. */
  close(): void
  /** Not needed any more, here. */
  release(): void
}

export interface Children {
  /**
   * `instance`: of a process that runs already; null: that of `key`, which is started when it is needed. `party`: who
   * has it started, who must not have all that may run.
   */
  open(key: string, spec: ChildSpec, instance: string | null, party?: string): ChildLink
}

/** Where configurations are only looked at: nothing is started. */
export const NO_CHILDREN: Children = {
  open() {
    throw new Error('nothing is served here')
  }
}
