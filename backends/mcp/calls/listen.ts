/** Server-initiated messages (GET): the streams of all targets as one stream. */

import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { listsForClient } from '#backends/mcp/lists/kinds.ts'
import { messageForClient } from '#backends/mcp/names/messages.ts'
import { isFieldValue } from '#backends/mcp/protocol/field-values.ts'
import { isObject, type RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import type { Services } from '#backends/mcp/services.ts'
import { restore } from '#backends/mcp/session/restore.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { encodeResumePoints, knowsPolling } from './stream-relay.ts'
import { type TracedMessages, tracedMessages } from './traced-messages.ts'

/** Of one session in one worker: each holds connections. */
const STREAMS_MAX = 16
/** Longest id of several resume points: it comes back in a header field. */
const EVENT_ID_LENGTH_MAX = 4 * 1024
const ALLOWED = { headers: ['Allow', 'POST, DELETE'] }

export function listen(services: Services, reply: Reply, session: Session): void {
  if (session.streams >= STREAMS_MAX) {
    reply.refuse(429, -32_000, 'Too Many Requests: the session has too many open streams')
    return
  }
  const lastId = reply.ex.request.get('last-event-id') ?? null
  const points = resumePointsOf(services, lastId)
  if (points === null) reply.refuse(400, -32_000, 'Bad Request: Last-Event-ID is not of this server')
  else new ServerStreams(services, reply, session, points).start()
}

/** Event ids to resume after, by target; null: the beginning. Null: the id is not one of ours. */
function resumePointsOf({ names, targets }: Services, lastId: string | null): Map<Target, string | null> | null {
  if (lastId === null || !names.isMultiplexed) return new Map(targets.all.map((target) => [target, lastId]))
  const points = new Map<Target, string | null>()
  for (const [name, id] of Object.entries(decodeResumePoints(lastId) ?? {})) {
    // The client wrote it, and it becomes a header field.
    const isFine = id === null || (typeof id === 'string' && isFieldValue(id))
    if (!isFine) return null
    if (names.targets.has(name)) points.set(targets.get(name), id)
  }
  return points.size === 0 ? null : points
}

function decodeResumePoints(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

class ServerStreams {
  readonly #services: Services
  readonly #reply: Reply
  readonly #session: Session
  readonly #startPoints: ReadonlyMap<Target, string | null>
  /** Last event id by target: the id of an event holds all of them, so that all streams resume together. */
  readonly #resumePoints: Record<string, string | null> = {}
  readonly #stops = new Map<Target, () => void>()
  readonly #opened = new Set<Target>()
  readonly #counted = new Set<Target>()
  /** Targets whose stream is open, or may still open. */
  #open: number
  #isOver = false
  readonly #traced: TracedMessages | null

  constructor(services: Services, reply: Reply, session: Session, startPoints: ReadonlyMap<Target, string | null>) {
    this.#services = services
    this.#reply = reply
    this.#session = session
    this.#startPoints = startPoints
    this.#open = startPoints.size
    this.#traced = tracedMessages(reply.ex, session)
  }

  start(): void {
    this.#session.streams++
    this.#reply.onGone = () => this.#end()
    this.#reply.onKeepalive = () => this.#services.sessions.use(this.#session, performance.now())
    for (const [target, from] of this.#startPoints) this.#resumePoints[target.name] = from
    for (const [target, from] of this.#startPoints) this.#listen(target, from, true)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#session.streams--
    this.#services.sessions.use(this.#session, performance.now())
    for (const target of [...this.#counted]) this.#onClose(target)
    for (const stop of this.#stops.values()) stop()
    this.#traced?.close()
  }

  #listen(target: Target, from: string | null, mayRestore: boolean): void {
    const { targets } = this.#services
    const headers = this.#services.forwardedHeaders(this.#reply.ex)
    if (!this.#session.targetSessions.has(target.name)) {
      this.#onEnd(target, null)
      return
    }
    const stop = targets.link(this.#session, target, headers).listen(from, {
      opened: () => {
        this.#onOpen(target)
        this.#reply.open()
      },
      message: (message, eventId) => {
        this.#onOpen(target)
        this.#services.listChanges.onMessage(target.name, message)
        const id = eventId === null ? null : this.#idOf(target, eventId)
        const relayed = this.#traced === null ? message : this.#traced.relay(target.name, message)
        this.#reply.message(this.#forClient(target, relayed), id)
      },
      mark: (eventId, retryMs) => {
        const id = eventId === null ? null : this.#idOf(target, eventId)
        if (knowsPolling(this.#session)) this.#reply.mark(id, retryMs)
      },
      ended: (failure) => {
        this.#onClose(target)
        if (failure?.kind !== 'expired' || !mayRestore) this.#onEnd(target, failure)
        else {
          restore({ services: this.#services, session: this.#session, target, headers }, (lasting) => {
            if (this.#isOver) return
            if (lasting === null) this.#listen(target, null, false)
            else this.#onEnd(target, lasting)
          })
        }
      }
    })
    this.#stops.set(target, stop)
    // A kept link has its stream open already.
    if (target.traits.keepsLink) {
      this.#count(target)
      this.#reply.open()
    }
  }

  #onOpen(target: Target): void {
    this.#opened.add(target)
    this.#count(target)
  }

  /** From now on the stream announces changes of lists. */
  #count(target: Target): void {
    if (this.#isOver || this.#counted.has(target)) return
    this.#counted.add(target)
    this.#session.countStream(target.name, 1)
  }

  #onClose(target: Target): void {
    if (!this.#counted.delete(target)) return
    this.#session.countStream(target.name, -1)
    this.#services.listChanges.dropWatched(this.#session, target.name)
  }

  /** Under the client's names. Resumed streams of requests bring responses: their lists are filtered by rules. */
  #forClient({ name }: Target, message: RpcMessage): RpcMessage {
    const changed = messageForClient(this.#services.names, name, message)
    if (!('result' in changed)) return changed
    const mayUse = (item: McpItem): boolean => this.#services.mayUse(this.#reply.ex, item)
    return { ...changed, result: listsForClient(changed.result, name, this.#services.names, mayUse) }
  }

  #idOf(target: Target, eventId: string): string | null {
    if (!this.#services.names.isMultiplexed) return eventId
    this.#resumePoints[target.name] = eventId
    const id = encodeResumePoints(this.#resumePoints)
    return id.length <= EVENT_ID_LENGTH_MAX ? id : null
  }

  /** The stream of one target has ended: the client's ends with the last one. */
  #onEnd(target: Target, failure: LinkFailure | null): void {
    this.#stops.delete(target)
    if (--this.#open > 0 || this.#isOver) {
      // One that was open has broken off: the client resumes all of them with Last-Event-ID.
      if (failure !== null && this.#opened.has(target) && !this.#isOver) this.#close()
      return
    }
    if (this.#reply.isStream) this.#close()
    else {
      this.#end()
      if (failure === null) this.#reply.refuse(405, -32_000, 'Method Not Allowed: no server has a stream', ALLOWED)
      else if (failure.kind === 'expired') {
        this.#services.sessions.end(this.#session)
        this.#reply.refuse(404, -32_001, 'Session not found')
      } else if (!passChallenge(this.#services, this.#reply, null, failure))
        this.#reply.refuse(502, -32_603, `target ${target.name}: ${failure.message}`)
    }
  }

  #close(): void {
    this.#end()
    this.#reply.end()
  }
}
