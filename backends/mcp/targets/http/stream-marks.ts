/**
 * What a stream of events says besides its messages: the id that an event without data has (the first of a stream, in
 * 2025-11-25), and `retry`. They are passed on with the stream.
 */

import type { StreamEvents } from '#backends/mcp/targets/target.ts'
export type Marked = Pick<StreamEvents, 'mark'>

export class StreamMarks {
  readonly #events: Marked
  #id: string | null = null
  #retryMs: number | null = null

  constructor(events: Marked) {
    this.#events = events
  }

  /** The id goes on with a message. */
  onMessage(id: string | undefined): void {
    if (id !== undefined) this.#id = id
  }

  /** Behind an event without a message, or a piece: how far the stream has come, if that is new. */
  pass(lastId: string | null, retryMs: number | null): void {
    const id = lastId === this.#id ? null : lastId
    const retry = retryMs === this.#retryMs ? null : retryMs
    if (id === null && retry === null) return
    if (id !== null) this.#id = id
    if (retry !== null) this.#retryMs = retry
    this.#events.mark(id, retry)
  }
}
