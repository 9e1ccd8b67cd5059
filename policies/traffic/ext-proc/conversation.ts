/** The stream of one exchange to the service: one message at a time, and its answer. */
import type { Exchange } from '#engine/contract/exchange.ts'
import type { GrpcService, GrpcStatus, GrpcStream, GrpcStreamEvents, ServiceFailure } from '#engine/contract/service.ts'
import type { Time } from '#engine/contract/time.ts'
import {
  ProcessingRequest,
  ProcessingResponse
} from '#engine/proto/generated/envoy/service/ext_proc/v3/external_processor.ts'

const PROCESS = '/envoy.service.ext_proc.v3.ExternalProcessor/Process'

export interface ConversationOptions {
  readonly client: GrpcService
  readonly time: Time
  readonly messageTimeoutMs: number
  readonly maxMessageTimeoutMs: number
  /** Longest answer. */
  readonly messageBytesMax: number
  /** It is told without being asked: whatever it answers is passed over. */
  readonly ignoresAnswers: boolean
}

/** The service has failed the exchange. */
export interface Failed {
  readonly kind: 'failed'
  readonly isLate: boolean
  readonly detail: string
}

/** Null: the service has ended the stream in good order, and the exchange goes on without it. */
export type Told = ProcessingResponse | Failed | null

export class Conversation implements GrpcStreamEvents {
  readonly #options: ConversationOptions
  readonly #stream: GrpcStream
  #done: ((told: Told) => void) | null = null
  #stopClock: (() => void) | null = null
  /** One extension for each message. */
  #isExtended = false
  /** How it has ended; undefined: it has not. */
  #ended: Failed | null | undefined = undefined

  /** `ex`: ends with it; null: ends when it is told to. */
  constructor(options: ConversationOptions, ex: Exchange | null) {
    this.#options = options
    const { client, messageBytesMax } = options
    const call = { path: PROCESS, metadata: null, timeoutMs: 0, messageBytesMax, ex }
    this.#stream = client.stream(call, this)
  }

  /** `done` is called once, later. */
  ask(message: ProcessingRequest, done: (told: Told) => void): void {
    const ended = this.#ended
    if (ended !== undefined) {
      queueMicrotask(() => done(ended))
      return
    }
    this.#done = done
    this.#isExtended = false
    this.#startClock(this.#options.messageTimeoutMs)
    this.tell(message)
  }

  /** No answer is waited for. */
  tell(message: ProcessingRequest): void {
    if (this.#ended === undefined) this.#stream.send(ProcessingRequest.encode(message).finish())
  }

  /** Nothing more is asked. */
  finish(): void {
    if (this.#ended !== undefined) return
    this.#ended = null
    this.#stream.finish()
  }

  cancel(): void {
    this.#end(null)
    this.#stream.cancel()
  }

  // --- what comes ---

  message(bytes: Uint8Array): boolean {
    if (this.#ended !== undefined || this.#options.ignoresAnswers) return true
    const response = decoded(bytes)
    if (response === null) this.#fail('its answer is no ProcessingResponse')
    else if (this.#done === null) this.#fail('it answers what it was not asked')
    else if (response.response === undefined && response.overrideMessageTimeout !== undefined) this.#extend(response)
    else this.#answer(response)
    return true
  }

  ended({ status }: GrpcStatus): void {
    this.#end(status === 0 ? null : this.#failure(`it ends the stream with grpc-status ${status}`))
  }

  failed({ error, detail }: ServiceFailure): void {
    this.#end(this.#failure(`${error}, ${detail}`))
  }

  /** What Envoy ignores is ignored: a second extension, and one that is longer than may be. */
  #extend({ overrideMessageTimeout }: ProcessingResponse): void {
    const { seconds, nanos } = overrideMessageTimeout!
    const ms = Number(seconds) * 1000 + nanos / 1e6
    if (this.#isExtended || ms < 1 || ms > this.#options.maxMessageTimeoutMs) return
    this.#isExtended = true
    this.#startClock(ms)
  }

  #startClock(ms: number): void {
    this.#stopClock?.()
    this.#stopClock = this.#options.time.after(ms, () => {
      this.#end({ ...this.#failure('it has not answered a message in time'), isLate: true })
      this.#stream.cancel()
    })
  }

  #fail(detail: string): void {
    this.#end(this.#failure(detail))
    this.#stream.cancel()
  }

  #failure(detail: string): Failed {
    return { kind: 'failed', isLate: false, detail: `${this.#options.client.name}: ${detail}` }
  }

  #end(how: Failed | null): void {
    if (this.#ended !== undefined) return
    this.#ended = how
    this.#answer(how)
  }

  #answer(told: Told): void {
    const done = this.#done
    this.#done = null
    this.#stopClock?.()
    this.#stopClock = null
    done?.(told)
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
