/**
 * Child processes that speak JSON-RPC, one message per line (MCP, stdio transport): the main thread has them, every
 * worker talks to them. One process per (what is run, key), whichever worker asks.
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
}

export interface ChildFailure {
  /**
   * `expired`: the process that was meant is gone, a new one may help. `refused`: a bound. `unreachable`: it cannot be
   * started. `broken`: it ended with the request under way. `tooLarge`: it said more than lineBytesMax at once.
   */
  readonly kind: 'expired' | 'refused' | 'unreachable' | 'broken' | 'tooLarge'
  /** In words for the client and the log; nothing that the process has said. */
  readonly message: string
}

export interface ChildRequest {
  /** JSON of an object without `id`: one that no other worker uses is put in. */
  readonly text: string
  /** As the conversation knows it: what a cancellation names. */
  readonly id: string | number
  /** `params._meta.progressToken`: its progress comes to this request. */
  readonly progressToken: string | number | null
  /** `initialize` is said once to a process: who says it again, in the same words, gets the first answer. */
  readonly isInitialize: boolean
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
}

export interface ChildLink {
  /** Names the very process that has answered; null: none has. */
  readonly instance: string | null
  /** Returns what gives it up: the process is told so, and nothing more comes. */
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
  /** `instance`: of a process that runs already; null: that of `key`, which is started when it is needed. */
  open(key: string, spec: ChildSpec, instance: string | null): ChildLink
}

/** Where configurations are only looked at: nothing is started. */
export const NO_CHILDREN: Children = {
  open() {
    throw new Error('nothing is served here')
  }
}
