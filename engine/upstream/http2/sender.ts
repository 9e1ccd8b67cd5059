/** What a connection of HTTP/2 sends: requests as frames, within the windows that the server has opened. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { isGrpc } from '#engine/http/grpc.ts'
import { HeaderBlock } from '#engine/http/headers.ts'
import { Allowance } from '#engine/http2/allowance.ts'
import { frameHead, headersFrame } from '#engine/http2/frame-writer.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import { DATA, DEFAULT_WINDOW, END_STREAM, ENHANCE_YOUR_CALM, NO_ERROR, WINDOW_MAX } from '#engine/http2/protocol.ts'
import type { PeerSettings } from '#engine/http2/settings.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Http2UpstreamStream } from './stream.ts'

/** Of DATA: long enough to be cheap, short enough that streams share the wire. */
const DATA_BYTES_MAX = 64 * 1024
/** Frames that ask for work and bring nothing: a burst, and then so many each second; useful frames earn more. */
const IDLE_FRAMES_MAX = 2000
const IDLE_FRAMES_PER_SECOND = 200
export const idleFramesFrom = (now: number) => new Allowance(IDLE_FRAMES_MAX, IDLE_FRAMES_PER_SECOND, now)
/** Frames without use (windows, answers to nothing) that one useful frame excuses. */
export const EARNED_PER_FRAME = 4
/** Requests and answers to frames that wait for a server that does not read. */
const UNREAD_MAX = 1000
/** A literal that no table keeps (RFC 7541 section 6.2.2): te: trailers, which gRPC servers insist on. */
const TE_TRAILERS = '\x00\x02te\x08trailers'

export class Http2Sender {
  readonly #wire: Wire
  readonly #peer: PeerSettings
  readonly #scheme: string
  /** What the server may send that brings nothing: it has to answer what we send. */
  readonly #idleFrames: Allowance
  readonly #encoder = new HpackEncoder()
  /** What the server takes on the connection. */
  #window = DEFAULT_WINDOW
  /** Streams that wait for that, or for the wire. */
  #queue: Http2UpstreamStream[] = []
  #unread = 0

  constructor(wire: Wire, peer: PeerSettings, scheme: 'http' | 'https', idleFrames: Allowance) {
    this.#idleFrames = idleFrames
    this.#wire = wire
    this.#peer = peer
    this.#scheme = scheme
  }

  /** Bytes of DATA that may go out now. */
  get window(): number {
    return this.#window
  }

  /** The wire takes no more at the moment. */
  get congested(): boolean {
    return this.#wire.congested
  }

  /** To be asked before each request: whether too much waits for a server that reads nothing. */
  isUnread(): boolean {
    this.#unread = this.#wire.congested ? this.#unread + 1 : 0
    return this.#unread > UNREAD_MAX
  }

  /** Answers a frame of the server: NO_ERROR, or why not. */
  reply(text: string): number {
    if (this.isUnread()) return ENHANCE_YOUR_CALM
    this.#wire.write(text)
    return NO_ERROR
  }

  /** `isWhole`: the request has no body. */
  request(ex: Exchange, stream: number, isWhole: boolean): void {
    const encoder = this.#encoder
    let block = encoder.begin() + encoder.field(':method', ex.method) + encoder.field(':scheme', this.#scheme)
    block += encoder.field(':path', ex.path + ex.query)
    block += encoder.field(':authority', ex.upstreamHost ?? ex.authority) + encoder.fields(ex.request)
    if (isGrpc(ex.method, ex.request)) block += TE_TRAILERS
    this.#wire.write(headersFrame(block, isWhole ? END_STREAM : 0, stream, this.#peer.frameBytes))
  }

  data(stream: number, chunk: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    const max = Math.min(this.#peer.frameBytes, DATA_BYTES_MAX)
    const wire = this.#wire
    this.#window -= end - start
    for (let at = start; at < end; at += max) {
      const stop = Math.min(end, at + max)
      wire.write(frameHead(stop - at, DATA, 0, stream))
      wire.writeBytes(chunk, at, stop, slot)
      this.#idleFrames.earn(EARNED_PER_FRAME)
    }
  }

  /** `trailers`: lines, each ended by CRLF, or ''. */
  end(stream: number, trailers: string): void {
    const fields = trailers === '' ? '' : this.#encoder.begin() + this.#encoder.fields(blockOf(trailers))
    const text =
      fields === ''
        ? frameHead(0, DATA, END_STREAM, stream)
        : headersFrame(fields, END_STREAM, stream, this.#peer.frameBytes)
    this.#wire.write(text)
  }

  /** `stream` is flushed when there is room on the connection. */
  waitForWindow(stream: Http2UpstreamStream): void {
    if (stream.isQueued) return
    stream.isQueued = true
    this.#queue.push(stream)
  }

  /** It is over: one that ends without having got its room must not be kept until somebody gets some. */
  forget(stream: Http2UpstreamStream): void {
    if (!stream.isQueued) return
    stream.isQueued = false
    const at = this.#queue.indexOf(stream)
    if (at >= 0) this.#queue.splice(at, 1)
  }

  /** The server's SETTINGS have come. */
  configure(): void {
    this.#encoder.resize(this.#peer.tableBytes)
  }

  /** False: the window is larger than one may be. */
  widen(increment: number): boolean {
    this.#window += increment
    if (this.#window > WINDOW_MAX) return false
    this.#shareRoom()
    return true
  }

  /** In turn, as far as it goes: a byte of room must not make us look at everybody who waits for it. */
  #shareRoom(): void {
    const queue = this.#queue
    let at = 0
    this.#queue = []
    while (at < queue.length && this.#window > 0) {
      const stream = queue[at++]!
      stream.isQueued = false
      if (!stream.isOver) stream.flush()
    }
    if (at < queue.length) this.#queue = queue.slice(at).concat(this.#queue)
  }

  /** The wire has drained. */
  flush(): void {
    const queue = this.#queue
    if (queue.length === 0) return
    this.#queue = []
    for (const stream of queue) {
      stream.isQueued = false
      if (!stream.isOver) stream.flush()
    }
  }
}

function blockOf(trailers: string): HeaderBlock {
  const block = new HeaderBlock()
  for (const line of trailers.split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) block.receive(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return block
}
