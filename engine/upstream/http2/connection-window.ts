/**
 * What a server may still send on a connection that many share. Each answer has a window of its own, so that one which
 * is not read takes so much of this one and no more; when many are not read, the others get what is left, new ones go
 * to another connection, and those that have not been read for longest give way.
 */
import { windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { ReceiveWindow } from '#engine/http2/receive-window.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Relief } from '#engine/upstream/slow-client-eviction.ts'
import { CONNECTION_WINDOW, type Http2Home } from './connection-owner.ts'
import { type Http2Exchange, STREAM_WINDOW } from './stream.ts'

export class ConnectionWindow {
  readonly #receive = new ReceiveWindow(CONNECTION_WINDOW)
  readonly #home: Http2Home
  readonly #wire: Wire
  readonly #streams: () => Iterable<Http2Exchange>
  #relief: Relief | null = null

  /** `streams`: those under way. */
  constructor(home: Http2Home, wire: Wire, streams: () => Iterable<Http2Exchange>) {
    this.#home = home
    this.#wire = wire
    this.#streams = streams
  }

  /** Answers that are not read have most of it: others are better off elsewhere. */
  get isTight(): boolean {
    return this.#receive.free * 2 < CONNECTION_WINDOW
  }

  get #isUsedUp(): boolean {
    return this.#receive.free < STREAM_WINDOW
  }

  /** The server has sent `bytes`. False: more than it was allowed. */
  receive(bytes: number): boolean {
    if (!this.#receive.receive(bytes)) return false
    if (this.#isUsedUp) this.#makeRoom()
    return true
  }

  /** `bytes` have gone on, or nobody wants them. `tells`: who waits for the connection may hear of it. */
  release(bytes: number, tells: boolean): void {
    const wasTight = tells && this.isTight
    const increment = this.#receive.release(bytes)
    if (increment > 0) this.#wire.write(windowUpdateFrame(0, increment))
    if (wasTight && !this.isTight) this.#home.roomier()
  }

  #makeRoom(): void {
    this.#relief ??= this.#home.relief(
      () => this.#keepers(),
      () => this.#waiting(),
      () => []
    )
    this.#relief.wanted()
  }

  *#keepers(): Generator<Http2Exchange> {
    for (const stream of this.#streams()) if (stream.keepsWindow) yield stream
  }

  /** Answers that would go on if there was room. */
  #waiting(): number {
    let count = 0
    if (this.#isUsedUp) for (const stream of this.#streams()) if (stream.idleSince === 0) count++
    return count
  }
}
