/** Calls over gRPC (PROTOCOL-HTTP2.md): one message each way, or streams of them. */
import type { CallRequest } from '#engine/contract/in-process.ts'
import type {
  GrpcAnswer,
  GrpcCallOptions,
  GrpcStatus,
  GrpcStream,
  GrpcStreamEvents,
  ServiceFailure
} from '#engine/contract/service.ts'
import {
  GRPC_DEADLINE_EXCEEDED,
  GRPC_UNAVAILABLE,
  grpcStatusOf,
  isGrpcType,
  readGrpcMessage,
  readGrpcStatus
} from '#engine/http/grpc.ts'
import { type FramingFault, framed, MessageReader } from '#engine/http/grpc-framing.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { OpenCall, type ServiceDestination } from './destination.ts'

const protocol = (detail: string): ServiceFailure => ({ error: 'PROTOCOL', detail })

const FAULTS: Readonly<Record<FramingFault, ServiceFailure>> = {
  compressed: protocol('its message is compressed, which it was told not to do'),
  malformed: protocol('its message is not framed as gRPC frames messages'),
  'too large': { error: 'TOO_LARGE', detail: 'its message is longer than is taken' },
  'no room': { error: 'UNAVAILABLE', detail: 'there is no room for its message' }
}
const NOT_GRPC = protocol('its answer is not gRPC')
const NO_STATUS = protocol('its answer has no grpc-status')
const CUT_OFF = protocol('its answer ends within a message')
const LATE: ServiceFailure = { error: 'DEADLINE', detail: 'it says that the time is up' }
const NO_MESSAGE = protocol('its answer has no message')
const TWO_MESSAGES = protocol('its answer has several messages where one belongs')

/** Eight digits at most; milliseconds of a day and more are written in seconds. */
function grpcTimeout(ms: number): string {
  return ms < 100_000_000 ? `${Math.ceil(ms)}m` : `${Math.ceil(ms / 1000)}S`
}

function requestOf({ path, metadata, timeoutMs }: GrpcCallOptions, body: CallRequest['body']): CallRequest {
  const headers = new HeaderBlock()
  headers.receive('content-type', 'application/grpc')
  if (timeoutMs > 0) headers.receive('grpc-timeout', grpcTimeout(timeoutMs))
  headers.receive('grpc-accept-encoding', 'identity')
  metadata?.forEach((name, value) => {
    headers.receive(name, value)
  })
  return { method: 'POST', path, query: '', headers, body, timeoutMs, isGrpc: true }
}

/** The first value of `name` among trailer lines, or undefined. */
function trailer(lines: string, name: string): string | undefined {
  for (const line of lines.split('\r\n')) {
    const at = line.indexOf(':')
    if (at === name.length && line.slice(0, at).toLowerCase() === name) return line.slice(at + 1).trim()
  }
  return undefined
}

class GrpcCall extends OpenCall implements GrpcStream {
  readonly #events: GrpcStreamEvents
  readonly #reader: MessageReader
  /** grpc-status stands in the head: there is nothing else. */
  #trailersOnly: HeaderBlock | null = null
  /** The answer has ended, and messages still wait. */
  #heldTrailers: string | null = null
  readonly #isUnary: boolean
  #messages = 0

  constructor(destination: ServiceDestination, options: GrpcCallOptions, events: GrpcStreamEvents, isUnary: boolean) {
    super(destination, options)
    this.#events = events
    this.#isUnary = isUnary
    this.#reader = new MessageReader(
      options.messageBytesMax,
      (message) => this.#take(message),
      (bytes) => this.call?.keeps(bytes) !== false
    )
  }

  // --- the request ---

  send(message: Uint8Array): boolean {
    return this.isOver || this.call === null || this.call.write(framed(message))
  }

  finish(): void {
    if (!this.isOver) this.call?.finish()
  }

  writable(): void {
    if (!this.isOver) this.#events.writable?.()
  }

  // --- the answer ---

  #take(message: Uint8Array): boolean {
    // The one before may have ended the call.
    if (this.isOver) return true
    if (++this.#messages === 1 || !this.#isUnary) return this.#events.message(message)
    this.fail(TWO_MESSAGES)
    return true
  }

  head(status: number, headers: HeaderBlock): void {
    if (this.isOver) return
    const grpcStatus = headers.get('grpc-status')
    if (grpcStatus !== undefined) this.#trailersOnly = headers
    else if (status !== 200) {
      const isAway = grpcStatusOf(status) === GRPC_UNAVAILABLE
      this.fail({ error: isAway ? 'UNAVAILABLE' : 'PROTOCOL', detail: `it answers with HTTP status ${status}` })
    } else if (!isGrpcType(headers.get('content-type') ?? '')) this.fail(NOT_GRPC)
    else this.#events.head?.(headers)
  }

  body(chunk: Buffer, start: number, end: number): boolean {
    if (this.isOver) return true
    if (this.#trailersOnly !== null) this.fail(NOT_GRPC)
    else this.#judge(this.#reader.push(chunk, start, end))
    return this.isOver || !this.#reader.isFull
  }

  resume(): void {
    if (this.isOver || !this.#reader.isFull) return
    this.#judge(this.#reader.resume())
    if (this.isOver || this.#reader.isFull) return
    if (this.#heldTrailers === null) this.call?.resume()
    else this.end(this.#heldTrailers)
  }

  #judge(fault: FramingFault | null): void {
    if (fault !== null) this.fail(FAULTS[fault])
  }

  end(trailers: string): void {
    if (this.isOver) return
    if (this.#reader.isFull) {
      this.#heldTrailers = trailers
      return
    }
    const head = this.#trailersOnly
    const lines = head === null ? trailers : head.lines()
    const status = readGrpcStatus(trailer(lines, 'grpc-status'))
    if (!this.#reader.isBetween) this.fail(CUT_OFF)
    else if (status < 0) this.fail(NO_STATUS)
    else if (status === GRPC_DEADLINE_EXCEEDED) this.fail(LATE)
    else if (status === 0 && this.#isUnary && this.#messages === 0) this.fail(NO_MESSAGE)
    else {
      this.close(status === 0 ? 'ok' : 'status')
      this.#events.ended({ status, message: readGrpcMessage(trailer(lines, 'grpc-message') ?? ''), trailers: lines })
    }
  }

  protected tell(failure: ServiceFailure): void {
    this.#events.failed(failure)
  }
}

export function openStream(
  destination: ServiceDestination,
  options: GrpcCallOptions,
  events: GrpcStreamEvents
): GrpcStream {
  return new GrpcCall(destination, options, events, false).begin(requestOf(options, 'stream'))
}

/** The answer of a call with one message each way. */
class UnaryAnswer implements GrpcStreamEvents {
  readonly #done: (answer: GrpcAnswer | ServiceFailure) => void
  #metadata: HeaderBlock | null = null
  #bytes: Uint8Array | null = null

  constructor(done: (answer: GrpcAnswer | ServiceFailure) => void) {
    this.#done = done
  }

  head(metadata: HeaderBlock): void {
    this.#metadata = metadata
  }

  message(bytes: Uint8Array): boolean {
    this.#bytes = bytes
    return true
  }

  ended({ status, message, trailers }: GrpcStatus): void {
    const bytes = status === 0 ? this.#bytes : null
    this.#done({ error: null, status, message, trailers, bytes, metadata: this.#metadata ?? new HeaderBlock() })
  }

  failed(failure: ServiceFailure): void {
    this.#done(failure)
  }
}

export function callUnary(
  destination: ServiceDestination,
  options: GrpcCallOptions,
  message: Uint8Array,
  done: (answer: GrpcAnswer | ServiceFailure) => void
): GrpcStream {
  const call = new GrpcCall(destination, options, new UnaryAnswer(done), true)
  return call.begin(requestOf(options, framed(message)))
}
