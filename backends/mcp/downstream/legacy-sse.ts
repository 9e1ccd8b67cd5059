/**
 * Clients of revision 2024-11-05 (basic/transports, HTTP with SSE): one stream for everything that they are told,
 * begun by a GET whose path ends with /sse, and a POST for each message. The POST may arrive at any worker of the
 * process: the one that has the stream is told over a channel of threads. The session lives as long as the stream.
 */
import { createHash, randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { BroadcastChannel } from 'node:worker_threads'
import { tell } from '#backends/mcp/calls/client-messages.ts'
import { handle } from '#backends/mcp/calls/dispatch.ts'
import { listen } from '#backends/mcp/calls/listen.ts'
import { INVALID_REQUEST, type RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { isObject, isUnreadable, readMessage } from '#backends/mcp/protocol/read-message.ts'
import type { Core } from '#backends/mcp/services.ts'
import { callerOf } from '#backends/mcp/session/caller.ts'
import { initialize } from '#backends/mcp/session/initialize.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { newMcpUse } from '#engine/contract/mcp-use.ts'
import { enterTurn, leaveTurn } from '#engine/socket/round.ts'
import { type Outlet, Reply } from './reply.ts'

const CHANNEL = 'weir mcp sse'
const PARAMETER = 'sessionId'

/** What the POST of one worker tells the stream of another. */
interface Letter {
  readonly to: string
  readonly bytes: Uint8Array
}

export class LegacySse {
  readonly #core: Core
  readonly #seal: Seal
  /** Of the process: a stream is in one. */
  readonly #home: string
  readonly #streams = new Map<string, LegacyStream>()
  #channel: BroadcastChannel | null = null

  constructor(core: Core) {
    const { context, backend } = core
    this.#core = core
    this.#seal = new Seal(backend.session.key, context.secret, `sse ${context.name}`)
    this.#home = createHash('sha256').update('weir home').update(context.secret).digest('base64url')
  }

  /** Whether the request begins such a stream: newer clients name a session, or begin with a POST. */
  isBeginning({ path, request }: Exchange): boolean {
    return path.endsWith('/sse') && !request.has('mcp-session-id')
  }

  /** What the query names; null: it is not a message of such a client. */
  idOf({ query, request }: Exchange): string | null {
    return query.includes(PARAMETER) && !request.has('mcp-session-id')
      ? new URLSearchParams(query).get(PARAMETER)
      : null
  }

  begin(ex: Exchange, reply: Reply): void {
    // With the first stream: nobody else has letters to get.
    this.#channel ??= this.#listening()
    const id = randomBytes(16).toString('base64url')
    const stream = new LegacyStream(this.#core, reply)
    this.#streams.set(id, stream)
    reply.onGone = () => {
      this.#streams.delete(id)
      this.#core.context.revocations.revoke(markOf(id))
      stream.close()
      this.#hangUp()
    }
    const place = new URLSearchParams(ex.query)
    place.set(PARAMETER, this.#seal.close({ s: id, i: callerOf(ex), h: this.#home }))
    reply.open()
    reply.write(Buffer.from(`event: endpoint\ndata: ${ex.originalPath}?${place}\n\n`))
  }

  /** Takes a message for the stream that `given` names. */
  post(ex: Exchange, reply: Reply, given: string, bytes: Buffer): void {
    const sealed = this.#seal.open(given)
    const isFine = isObject(sealed) && typeof sealed.s === 'string' && sealed.i === callerOf(ex)
    const id = isFine && sealed.h === this.#home ? String(sealed.s) : null
    if (id === null || this.#core.context.revocations.isRevoked(markOf(id))) {
      reply.refuse(404, -32_001, 'Session not found')
      return
    }
    const message = readMessage(bytes)
    if (isUnreadable(message)) {
      reply.refuse(400, message.code, message.message, { id: message.id })
      return
    }
    reply.plain(202, null)
    const here = this.#streams.get(id)
    if (here !== undefined) here.take(message, bytes)
    else {
      const letter: Letter = { to: id, bytes }
      this.#channel ??= this.#listening()
      this.#channel.postMessage(letter)
      this.#hangUp()
    }
  }

  /** A channel is kept for streams: configurations that have been replaced would keep theirs for ever. */
  #hangUp(): void {
    if (this.#streams.size > 0) return
    this.#channel?.close()
    this.#channel = null
  }

  #listening(): BroadcastChannel {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = (event: unknown) => {
      const { to, bytes } = (event as { readonly data: Letter }).data
      const stream = this.#streams.get(to)
      if (stream === undefined) return
      const json = Buffer.from(bytes)
      const message = readMessage(json)
      enterTurn()
      if (!isUnreadable(message)) stream.take(message, json)
      leaveTurn()
    }
    channel.unref()
    return channel
  }
}

const markOf = (id: string): bigint => Buffer.from(id, 'base64url').readBigInt64LE()

/** One client, as long as its stream is open. */
class LegacyStream implements Outlet {
  readonly #core: Core
  readonly #reply: Reply
  /** For each message that is being answered; the stream itself for what servers say unasked. */
  readonly #replies = new Set<Reply>()
  #session: Session | null = null
  #isListening = false
  /** There is one session to a stream. */
  #isBegun = false

  constructor(core: Core, reply: Reply) {
    this.#core = core
    this.#reply = reply
  }

  take(message: RpcMessage, bytes: Buffer): void {
    const { ex } = this.#reply
    ex.mcp ??= newMcpUse()
    const reply = this.#answering()
    if ('method' in message && 'id' in message && message.method === 'initialize') {
      if (this.#isBegun) {
        reply.error(message.id, INVALID_REQUEST, 'this stream has its session already')
        return
      }
      this.#isBegun = true
      initialize(this.#core, reply, message)
      return
    }
    const session = this.#found()
    if (session === null) {
      if ('method' in message && 'id' in message) reply.error(message.id, INVALID_REQUEST, 'initialize comes first')
      else this.over(reply)
    } else if ('method' in message && 'id' in message) handle(this.#core, reply, session, message, bytes)
    else {
      tell(this.#core, reply, session, message)
      if ('method' in message && message.method === 'notifications/initialized') this.#listen(session)
    }
  }

  #answering(): Reply {
    const { context, pulse } = this.#core
    const reply = new Reply(this.#reply.ex, context, pulse, this)
    this.#replies.add(reply)
    return reply
  }

  #found(): Session | null {
    if (this.#session === null) return null
    return this.#core.sessions.find(this.#session.id!, this.#session.caller, performance.now())
  }

  #listen(session: Session): void {
    if (this.#isListening) return
    this.#isListening = true
    listen(this.#core, this.#answering(), session)
  }

  close(): void {
    for (const reply of this.#replies) reply.onGone?.()
    this.#replies.clear()
    if (this.#session !== null) this.#core.close(this.#session, this.#core.peers.headersOf(this.#reply.ex))
  }

  // --- what answers to messages say ---

  began(sessionId: string): void {
    this.#session = this.#core.sessions.find(sessionId, callerOf(this.#reply.ex), performance.now())
    if (this.#session !== null) this.#session.streams++
  }

  event(json: Buffer): void {
    this.#reply.write(Buffer.concat([Buffer.from('event: message\ndata: '), json, Buffer.from('\n\n')]))
  }

  over(reply: Reply): void {
    this.#replies.delete(reply)
  }
}
