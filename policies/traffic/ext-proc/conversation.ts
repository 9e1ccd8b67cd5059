/** The stream of one exchange to the service: messages of its two sides, and the answers to them. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { GrpcService, GrpcStatus, GrpcStream, GrpcStreamEvents, ServiceFailure } from '#engine/contract/service.ts'
import {
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'
import { type Answer, type Failed, Lane, type LaneOptions } from './lane.ts'

/** As Envoy's remote_close_timeout_milliseconds. */
const CLOSE_MS = 1_000
const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

export interface ConversationOptions extends LaneOptions {
  readonly client: GrpcService
  /** Longest answer. */
  readonly messageBytesMax: number
  /** It is told without being asked: whatever it answers is passed over. */
  readonly ignoresAnswers: boolean
}

export interface ReplyListener {
  /** `response` is a StreamedImmediateResponse. False: no more until Conversation.resumeReply(). */
  replyPart(response: ProcessingResponse): boolean
  /** The service has ended the conversation, or is given up. */
  replyEnded(how: Failed | null): void
}

export class Conversation implements GrpcStreamEvents {
  readonly request: Lane
  readonly response: Lane
  /** The service takes more. */
  hasRoom = true
  /** Called when it does again. */
  onRoom: (() => void) | null = null
  /** Gets the parts of a reply that the service makes itself; null: there can be none. */
  reply: ReplyListener | null = null
  #isReplyFull = false
  /** Of the time that the service has to end the stream. */
  #stopClock: (() => void) | null = null
  readonly #options: ConversationOptions
  readonly #stream: GrpcStream
  /** How it has ended; undefined: it has not. */
  #ended: Failed | null | undefined = undefined

  /** `ex`: ends with it; null: ends when it is told to. */
  constructor(options: ConversationOptions, ex: Exchange | null) {
    this.#options = options
    const { client, messageBytesMax } = options
    const onLate = () => this.abandon(this.failure('it has not answered a message in time', true))
    this.request = new Lane(options, onLate)
    this.response = new Lane(options, onLate)
    const call = { path: PROCESS, metadata: null, timeoutMs: 0, messageBytesMax, ex }
    this.#stream = client.stream(call, this)
  }

  /** The one answer to `message`, which is of `lane`. */
  ask(lane: Lane, message: ProcessingRequest): Promise<Answer> {
    return new Promise((resolve) => {
      lane.next(resolve)
      this.send(lane, message)
    })
  }

  /** Its listener gets the answer. */
  send(lane: Lane, message: ProcessingRequest): void {
    const ended = this.#ended
    if (ended !== undefined) {
      queueMicrotask(() => lane.end(ended))
      return
    }
    lane.expectAnswer()
    this.write(message)
  }

  /** No answer is waited for. */
  write(message: ProcessingRequest): void {
    if (this.#ended === undefined) this.hasRoom = this.#stream.send(ProcessingRequest.encode(message).finish())
  }

  /** Nothing more is sent. A service that does not end the stream within `closeMs` has it reset. */
  finish(closeMs = CLOSE_MS): void {
    if (this.#ended !== undefined) return
    this.#ended = null
    this.#stream.finish()
    // Servers that bound resets (CVE-2023-44487) take many behind good exchanges for an attack.
    this.#stream.detach()
    this.#stopClock = this.#options.time.after(closeMs, () => this.#stream.cancel())
  }

  /** The same, and what the service still says is for nobody. */
  leave(): void {
    this.request.close()
    this.response.close()
    this.finish()
  }

  cancel(): void {
    this.request.close()
    this.response.close()
    this.#ended ??= null
    this.#stream.cancel()
  }

  /** The listener of `lane` had no room for answers, and has it again. */
  resume(lane: Lane): void {
    if (!lane.isFull) return
    lane.isFull = false
    if (!this.#isFull) this.#stream.resume()
  }

  resumeReply(): void {
    if (!this.#isReplyFull) return
    this.#isReplyFull = false
    if (!this.#isFull) this.#stream.resume()
  }

  get #isFull(): boolean {
    return this.request.isFull || this.response.isFull || this.#isReplyFull
  }

  // --- what comes ---

  message(bytes: Uint8Array): boolean {
    if (this.#ended !== undefined || this.#options.ignoresAnswers) return true
    const response = decoded(bytes)
    if (response === null) this.fail('its answer is no ProcessingResponse')
    else if (response.response === undefined && response.overrideMessageTimeout !== undefined) {
      const { seconds, nanos } = response.overrideMessageTimeout
      this.#waiting.extend(Number(seconds) * 1000 + nanos / 1e6)
    } else if (this.reply !== null && response.response?.$case === 'streamedImmediateResponse')
      this.#isReplyFull = !this.reply.replyPart(response)
    else if (!this.#laneOf(response).take(response)) this.fail('it answers what it was not asked')
    return !this.#isFull
  }

  writable(): void {
    this.hasRoom = true
    this.onRoom?.()
  }

  ended({ status }: GrpcStatus): void {
    this.#stopClock?.()
    this.#end(status === 0 ? null : this.failure(`it ends the stream with grpc-status ${status}`))
  }

  failed({ error, detail }: ServiceFailure): void {
    this.#stopClock?.()
    this.#end(this.failure(`${error}, ${detail}`))
  }

  #laneOf({ response }: ProcessingResponse): Lane {
    if (response?.$case.startsWith('request') === true) return this.request
    return response?.$case.startsWith('response') === true ? this.response : this.#waiting
  }

  /** Whose answer it is where that does not say so. */
  get #waiting(): Lane {
    return this.request.awaitsAnswer ? this.request : this.response
  }

  /** What it says cannot be taken: both sides are told. */
  fail(detail: string): void {
    this.abandon(this.failure(detail))
  }

  abandon(failed: Failed): void {
    this.#end(failed)
    this.#stream.cancel()
  }

  failure(detail: string, isLate = false): Failed {
    return { kind: 'failed', isLate, detail: `${this.#options.client.name}: ${detail}` }
  }

  #end(how: Failed | null): void {
    if (this.#ended !== undefined) return
    this.#ended = how
    this.reply?.replyEnded(how)
    this.request.end(how)
    this.response.end(how)
  }
}

function decoded(bytes: Uint8Array): ProcessingResponse | null {
  try {
    return ProcessingResponse.decode(bytes)
  } catch {
    // Whatever a service sends is an answer or none.
    return null
  }
}
