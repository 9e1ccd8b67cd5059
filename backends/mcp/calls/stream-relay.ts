/**
 * A stream that a server answers a request with, as a stream of the client. Its ids, in the client's words, say where
 * to go on; what comes on it has been put into the client's names before, also when it is taken up again (listen.ts).
 */

import type { Reply } from '#backends/mcp/downstream/reply.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { StreamEvents } from '#backends/mcp/targets/target.ts'

/** Since then streams may begin with an id alone, and end before the answer (2025-11-25, changelog; SEP-1699). */
const POLLING = '2025-11-25'

/** Clients of older revisions take an event without a message for a broken one. */
export const knowsPolling = ({ version }: Session): boolean => version >= POLLING

export class StreamRelay implements StreamEvents {
  readonly #reply: Reply
  /** Null: there is one. */
  readonly #target: string | null
  readonly #finish: () => void
  /** The client can come back for it: it has a session, and this answer a stream of its own. */
  readonly #isResumable: boolean
  readonly #mayPoll: boolean
  /** The client knows where to go on. */
  #hasId = false

  /** `target`: its name, where the client has several. `finish`: nothing of the request runs here any more. */
  constructor(reply: Reply, session: Session, target: string | null, finish: () => void) {
    this.#reply = reply
    this.#target = target
    this.#finish = finish
    this.#isResumable = session.id !== null && reply.hasOwnStream
    this.#mayPoll = this.#isResumable && knowsPolling(session)
  }

  /** The id of an event, as the client sees it. */
  idOf(eventId: string | null | undefined): string | null {
    if (eventId == null || !this.#isResumable) return null
    this.#hasId = true
    return this.#target === null ? eventId : encodeResumePoints({ [this.#target]: eventId })
  }

  started(): void {
    this.#reply.isEvents = true
  }

  mark(eventId: string | null, retryMs: number | null): void {
    if (this.#mayPoll) this.#reply.mark(this.idOf(eventId), retryMs)
  }

  /** The server gets the request again when the client comes back for the answer. */
  closed(): boolean {
    if (!this.#mayPoll || !this.#hasId || !this.#reply.isStream) return false
    this.#finish()
    this.#reply.end()
    return true
  }
}

/** Places in the streams of several targets, as one id. */
export const encodeResumePoints = (places: Readonly<Record<string, string | null>>): string =>
  Buffer.from(JSON.stringify(places)).toString('base64url')
