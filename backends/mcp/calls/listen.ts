/** The stream of what servers say unasked (GET): of one target as it comes, of several as one. */

import { passChallenge } from '#backends/mcp/authorization/challenge.ts'
import type { Reply } from '#backends/mcp/downstream/reply.ts'
import { relisted } from '#backends/mcp/lists/kinds.ts'
import { outwardMessage } from '#backends/mcp/names/messages.ts'
import { isFieldValue } from '#backends/mcp/protocol/field-values.ts'
import type { RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject } from '#backends/mcp/protocol/read-message.ts'
import type { Core } from '#backends/mcp/services.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { LinkFailure, Target } from '#backends/mcp/targets/target.ts'
import { isKept } from '#backends/mcp/targets/target-set.ts'
import type { McpItem } from '#engine/contract/mcp-use.ts'
import { encodePlaces, knowsPolling } from './stream-relay.ts'
import { restore } from './target-request.ts'

/** Of one session in one worker: each holds connections. */
const STREAMS_MAX = 16
/** An id of several targets' places comes back in one header line. */
const EVENT_ID_LENGTH_MAX = 4 * 1024
const ALLOWED = { headers: ['Allow', 'POST, DELETE'] }

export function listen(core: Core, reply: Reply, session: Session): void {
  if (session.streams >= STREAMS_MAX) {
    reply.refuse(429, -32_000, 'Too Many Requests: the session has too many open streams')
    return
  }
  const lastId = reply.ex.request.get('last-event-id') ?? null
  const places = placesOf(core, lastId)
  if (places === null) reply.refuse(400, -32_000, 'Bad Request: Last-Event-ID is not of this server')
  else new Listening(core, reply, session, places).start()
}

/** By target, where its stream broke off; null for the beginning. Null: the id is nobody's. */
function placesOf({ names, peers }: Core, lastId: string | null): Map<Target, string | null> | null {
  if (lastId === null || !names.isTagged) return new Map(peers.all.map((target) => [target, lastId]))
  const places = new Map<Target, string | null>()
  for (const [name, id] of Object.entries(decodePlaces(lastId) ?? {})) {
    // It becomes a field of a request, and the client has written it.
    const isFine = id === null || (typeof id === 'string' && isFieldValue(id))
    if (!isFine) return null
    if (names.targets.has(name)) places.set(peers.get(name), id)
  }
  return places.size === 0 ? null : places
}

function decodePlaces(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

class Listening {
  readonly #core: Core
  readonly #reply: Reply
  readonly #session: Session
  readonly #begins: ReadonlyMap<Target, string | null>
  /** How far each target's stream has come: of all that belong to this one, so that all go on together. */
  readonly #places: Record<string, string | null> = {}
  readonly #stops = new Map<Target, () => void>()
  readonly #opened = new Set<Target>()
  readonly #heard = new Set<Target>()
  /** Targets whose stream is open or may yet be. */
  #open: number
  #isOver = false

  constructor(core: Core, reply: Reply, session: Session, begins: ReadonlyMap<Target, string | null>) {
    this.#core = core
    this.#reply = reply
    this.#session = session
    this.#begins = begins
    this.#open = begins.size
  }

  start(): void {
    this.#session.streams++
    this.#reply.onGone = () => this.#end()
    this.#reply.onPulse = () => this.#core.sessions.use(this.#session, performance.now())
    for (const [target, from] of this.#begins) this.#places[target.name] = from
    for (const [target, from] of this.#begins) this.#listen(target, from, true)
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#session.streams--
    this.#core.sessions.use(this.#session, performance.now())
    for (const target of [...this.#heard]) this.#closes(target)
    for (const stop of this.#stops.values()) stop()
  }

  #listen(target: Target, from: string | null, mayRestore: boolean): void {
    const { peers } = this.#core
    const headers = peers.headersOf(this.#reply.ex)
    const asking = this.#core.asking(this.#session, target, headers, 0)
    if (!this.#session.seats.has(target.name)) {
      this.#ended(target, null)
      return
    }
    const stop = peers.link(this.#session, target, headers).listen(from, {
      opened: () => {
        this.#opens(target)
        this.#reply.open()
      },
      message: (message, eventId) => {
        this.#opens(target)
        this.#core.news.heard(target.name, message)
        const id = eventId === null ? null : this.#idOf(target, eventId)
        this.#reply.message(this.#outward(target, message), id)
      },
      mark: (eventId, retryMs) => {
        const id = eventId === null ? null : this.#idOf(target, eventId)
        if (knowsPolling(this.#session)) this.#reply.mark(id, retryMs)
      },
      ended: (failure) => {
        this.#closes(target)
        if (failure?.kind !== 'expired' || !mayRestore) this.#ended(target, failure)
        else {
          restore(asking, (lasting) => {
            if (this.#isOver) return
            if (lasting === null) this.#listen(target, null, false)
            else this.#ended(target, lasting)
          })
        }
      }
    })
    this.#stops.set(target, stop)
    // Nothing is asked of whoever has it open already.
    if (isKept(target)) {
      this.#hears(target)
      this.#reply.open()
    }
  }

  #opens(target: Target): void {
    this.#opened.add(target)
    this.#hears(target)
  }

  /** From here on changes of its lists are heard of. */
  #hears(target: Target): void {
    if (this.#isOver || this.#heard.has(target)) return
    this.#heard.add(target)
    this.#session.hear(target.name, 1)
  }

  #closes(target: Target): void {
    if (!this.#heard.delete(target)) return
    this.#session.hear(target.name, -1)
    this.#core.news.unheard(this.#session, target.name)
  }

  /** In the client's names. Responses come where the stream of a request goes on: what rules hide stays hidden. */
  #outward({ name }: Target, message: RpcMessage): RpcMessage {
    const told = outwardMessage(this.#core.names, name, message)
    if (!('result' in told)) return told
    const mayUse = (item: McpItem): boolean => this.#core.mayUse(this.#reply.ex, item)
    return { ...told, result: relisted(told.result, name, this.#core.names, mayUse) }
  }

  #idOf(target: Target, eventId: string): string | null {
    if (!this.#core.names.isTagged) return eventId
    this.#places[target.name] = eventId
    const id = encodePlaces(this.#places)
    return id.length <= EVENT_ID_LENGTH_MAX ? id : null
  }

  /** Of one target: the client hears of it when there is nothing more to hear of any. */
  #ended(target: Target, failure: LinkFailure | null): void {
    this.#stops.delete(target)
    if (--this.#open > 0 || this.#isOver) {
      // One that was there has broken off: the client comes back for it, and goes on with all (Last-Event-ID).
      if (failure !== null && this.#opened.has(target) && !this.#isOver) this.#close()
      return
    }
    if (this.#reply.isStream) this.#close()
    else {
      this.#end()
      if (failure === null) this.#reply.refuse(405, -32_000, 'Method Not Allowed: no server has a stream', ALLOWED)
      else if (failure.kind === 'expired') {
        this.#core.sessions.end(this.#session)
        this.#reply.refuse(404, -32_001, 'Session not found')
      } else if (!passChallenge(this.#core, this.#reply, null, failure))
        this.#reply.refuse(502, -32_603, `target ${target.name}: ${failure.message}`)
    }
  }

  #close(): void {
    this.#end()
    this.#reply.end()
  }
}
