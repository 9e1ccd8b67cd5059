/**
 * Clients of revision 2024-11-05 (basic/transports, HTTP with SSE): one event stream, opened by a GET whose path ends
 * with /sse, and a POST for each message of the client. A POST may reach any worker of the process, which passes it to
 * the one with the stream over a BroadcastChannel. The session lives as long as the stream.
 */
import { createHash, randomBytes } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { BroadcastChannel } from 'node:worker_threads'
import { newCall } from '#backends/mcp/calls/call.ts'
import { deliver } from '#backends/mcp/calls/client-messages.ts'
import { dispatch } from '#backends/mcp/calls/dispatch.ts'
import { listen } from '#backends/mcp/calls/listen.ts'
import { INVALID_REQUEST, isObject, type RpcMessage } from '#backends/mcp/protocol/json-rpc.ts'
import { isInvalid, parseMessage } from '#backends/mcp/protocol/parse-message.ts'
import type { Services } from '#backends/mcp/services.ts'
import { callerOf } from '#backends/mcp/session/caller.ts'
import { initialize } from '#backends/mcp/session/initialize.ts'
import { Seal } from '#backends/mcp/session/seal.ts'
import type { Session } from '#backends/mcp/session/session.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { newMcpUse } from '#engine/contract/mcp-use.ts'
import { inTurn } from '#engine/socket/round.ts'
import { Reply, type ReplySink } from './reply.ts'

const CHANNEL = 'weir mcp sse'
const PARAMETER = 'sessionId'

/** A POST in one worker, for the stream in another. */
interface PostedMessage {
  readonly to: string
  readonly bytes: Uint8Array
}

export class LegacySse {
  readonly #services: Services
  readonly #seal: Seal
  /** Digest of the process secret: a stream is in one process. */
  readonly #processId: string
  readonly #streams = new Map<string, LegacyStream>()
  #channel: BroadcastChannel | null = null

  constructor(services: Services) {
    const { context, backend } = services
    this.#services = services
    this.#seal = new Seal(backend.session.key, context.secret, `sse ${context.name}`)
    this.#processId = createHash('sha256').update('weir home').update(context.secret).digest('base64url')
  }

  /** Whether the request opens such a stream: newer clients name a session, or begin with a POST. */
  isBeginning({ path, request }: Exchange): boolean {
    return path.endsWith('/sse') && !request.has('mcp-session-id')
  }

  /** The sealed stream id in the query; null: it is no message of such a client. */
  idOf({ query, request }: Exchange): string | null {
    return query.includes(PARAMETER) && !request.has('mcp-session-id')
      ? new URLSearchParams(query).get(PARAMETER)
      : null
  }

  begin(ex: Exchange, reply: Reply): void {
    // Only a worker with streams has messages to receive.
    this.#channel ??= this.#openChannel()
    const id = randomBytes(16).toString('base64url')
    const stream = new LegacyStream(this.#services, reply)
    this.#streams.set(id, stream)
    reply.onGone = () => {
      this.#streams.delete(id)
      this.#services.context.revocations.revoke(endedKeyOf(id))
      stream.close()
      this.#closeIfUnused()
    }
    const query = new URLSearchParams(ex.query)
    query.set(PARAMETER, this.#seal.close({ s: id, i: callerOf(ex), h: this.#processId }))
    reply.open()
    reply.write(Buffer.from(`event: endpoint\ndata: ${ex.originalPath}?${query}\n\n`))
  }

  /** Takes a message for the stream whose id `sealedId` seals. */
  post(ex: Exchange, reply: Reply, sealedId: string, bytes: Buffer): void {
    const sealed = this.#seal.open(sealedId)
    const isFine = isObject(sealed) && typeof sealed.s === 'string' && sealed.i === callerOf(ex)
    const id = isFine && sealed.h === this.#processId ? String(sealed.s) : null
    if (id === null || this.#services.context.revocations.isRevoked(endedKeyOf(id))) {
      reply.refuse(404, -32_001, 'Session not found')
      return
    }
    const message = parseMessage(bytes)
    if (isInvalid(message)) {
      reply.refuse(400, message.code, message.message, { id: message.id })
      return
    }
    reply.plain(202, null)
    const here = this.#streams.get(id)
    if (here !== undefined) here.take(message, bytes)
    else {
      const posted: PostedMessage = { to: id, bytes }
      this.#channel ??= this.#openChannel()
      this.#channel.postMessage(posted)
      this.#closeIfUnused()
    }
  }

  /** The channel lives as long as there are streams: a replaced configuration must not keep it. */
  #closeIfUnused(): void {
    if (this.#streams.size > 0) return
    this.#channel?.close()
    this.#channel = null
  }

  #openChannel(): BroadcastChannel {
    const channel = new BroadcastChannel(CHANNEL)
    channel.onmessage = (event: unknown) => {
      const { to, bytes } = (event as { readonly data: PostedMessage }).data
      const stream = this.#streams.get(to)
      if (stream === undefined) return
      const json = Buffer.from(bytes)
      const message = parseMessage(json)
      if (!isInvalid(message)) inTurn(() => stream.take(message, json))
    }
    channel.unref()
    return channel
  }
}

const endedKeyOf = (id: string): bigint => Buffer.from(id, 'base64url').readBigInt64LE()

/** One client, as long as its stream is open. */
class LegacyStream implements ReplySink {
  readonly #services: Services
  readonly #reply: Reply
  /** One for each message that is being answered, and one for server-initiated messages. */
  readonly #replies = new Set<Reply>()
  #session: Session | null = null
  #isListening = false
  /** A stream has one session. */
  #isBegun = false

  constructor(services: Services, reply: Reply) {
    this.#services = services
    this.#reply = reply
  }

  take(message: RpcMessage, bytes: Buffer): void {
    const { ex } = this.#reply
    ex.mcp ??= newMcpUse()
    const reply = this.#newReply()
    if ('method' in message && 'id' in message && message.method === 'initialize') {
      if (this.#isBegun) {
        reply.error(message.id, INVALID_REQUEST, 'this stream has its session already')
        return
      }
      this.#isBegun = true
      initialize(this.#services, reply, message)
      return
    }
    const session = this.#findSession()
    if (session === null) {
      if ('method' in message && 'id' in message) reply.error(message.id, INVALID_REQUEST, 'initialize comes first')
      else this.over(reply)
    } else if ('method' in message && 'id' in message) dispatch(newCall(this.#services, reply, session, message, bytes))
    else {
      deliver(this.#services, reply, session, message)
      if ('method' in message && message.method === 'notifications/initialized') this.#listen(session)
    }
  }

  #newReply(): Reply {
    const { context, keepalive } = this.#services
    const reply = new Reply(this.#reply.ex, context, keepalive, this)
    this.#replies.add(reply)
    return reply
  }

  #findSession(): Session | null {
    if (this.#session === null) return null
    return this.#services.sessions.find(this.#session.id!, this.#session.caller, performance.now())
  }

  #listen(session: Session): void {
    if (this.#isListening) return
    this.#isListening = true
    listen(this.#services, this.#newReply(), session)
  }

  close(): void {
    for (const reply of this.#replies) reply.onGone?.()
    this.#replies.clear()
    if (this.#session !== null)
      this.#services.closeSession(this.#session, this.#services.forwardedHeaders(this.#reply.ex))
  }

  // --- ReplySink ---

  began(sessionId: string): void {
    this.#session = this.#services.sessions.find(sessionId, callerOf(this.#reply.ex), performance.now())
    if (this.#session !== null) this.#session.streams++
  }

  event(json: Buffer): void {
    this.#reply.write(Buffer.concat([Buffer.from('event: message\ndata: '), json, Buffer.from('\n\n')]))
  }

  over(reply: Reply): void {
    this.#replies.delete(reply)
  }
}
