/** What a connection of HTTP/2 sends to a server: requests, and answers to its frames. */
import type { Exchange } from '#engine/contract/exchange.ts'
import { isGrpc } from '#engine/http/grpc.ts'
import { DataSender } from '#engine/http2/data-sender.ts'
import { frameHead, headersFrame } from '#engine/http2/frame-writer.ts'
import { HpackEncoder } from '#engine/http2/hpack-encoder.ts'
import { DATA, END_STREAM, ENHANCE_YOUR_CALM, NO_ERROR } from '#engine/http2/protocol.ts'
import type { PeerSettings } from '#engine/http2/settings.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** Requests and answers to frames that wait for a server that does not read. */
const UNREAD_MAX = 1000
/** A literal that no table keeps (RFC 7541 section 6.2.2): te: trailers, which gRPC servers insist on. */
const TE_TRAILERS = '\x00\x02te\x08trailers'

export class Http2RequestSender {
  readonly data: DataSender
  readonly #wire: Wire
  readonly #peer: PeerSettings
  readonly #scheme: string
  readonly #encoder = new HpackEncoder()
  #unread = 0

  constructor(wire: Wire, peer: PeerSettings, scheme: 'http' | 'https') {
    // Some servers open their windows by what they have just read, however little: all of their updates are answers.
    this.data = new DataSender(wire, 1)
    this.#wire = wire
    this.#peer = peer
    this.#scheme = scheme
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

  /** `trailers`: lines, each ended by CRLF, or ''. */
  end(stream: number, trailers: string): void {
    const encoder = this.#encoder
    const text =
      trailers === ''
        ? frameHead(0, DATA, END_STREAM, stream)
        : headersFrame(encoder.begin() + encoder.lines(trailers), END_STREAM, stream, this.#peer.frameBytes)
    this.#wire.write(text)
  }

  /** The server's SETTINGS have come. */
  configure(): void {
    this.#encoder.resize(this.#peer.tableBytes)
    this.data.frameBytes = this.#peer.frameBytes
  }
}
