/**
 * What a server may still send on a connection that many share. Each answer has a window of its own, so that one which
 * is not read takes so much of this one and no more; when many are not read, the others get what is left, new ones go
 * to another connection, and those that have not been read for longest give way.
 */
import { windowUpdateFrame } from '#engine/http2/frame-writer.ts'
import { ReceiveWindow } from '#engine/http2/receive-window.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { SlowClientEviction } from '#engine/upstream/slow-client-eviction.ts'
import type { Http2ConnectionOwner } from './connection-owner.ts'
import { CONNECTION_WINDOW, STREAM_WINDOW } from './settings.ts'
import type { Http2UpstreamStream } from './stream.ts'

export class ConnectionWindow {
  readonly #receive = new ReceiveWindow(CONNECTION_WINDOW)
  readonly #owner: Http2ConnectionOwner
  readonly #wire: Wire
  readonly #streams: () => Iterable<Http2UpstreamStream>
  #eviction: SlowClientEviction | null = null

  /** `streams`: those under way. */
  constructor(owner: Http2ConnectionOwner, wire: Wire, streams: () => Iterable<Http2UpstreamStream>) {
    this.#owner = owner
    this.#wire = wire
    this.#streams = streams
  }

  /** Answers that are not read have most of it: others are better off elsewhere. */
  get isScarce(): boolean {
    return this.#receive.free * 2 < CONNECTION_WINDOW
  }

  get #isUsedUp(): boolean {
    return this.#receive.free < STREAM_WINDOW
  }

  /** The server has sent `bytes`. False: more than it was allowed. */
  receive(bytes: number): boolean {
    if (!this.#receive.receive(bytes)) return false
    if (this.#isUsedUp) this.#evictSlowClients()
    return true
  }

  /** `bytes` have been passed on or dropped. `notifies`: the pool is told if that makes room. */
  release(bytes: number, notifies: boolean): void {
    const wasTight = notifies && this.isScarce
    const increment = this.#receive.release(bytes)
    if (increment > 0) this.#wire.write(windowUpdateFrame(0, increment))
    if (wasTight && !this.isScarce) this.#owner.capacityGrew()
  }

  #evictSlowClients(): void {
    this.#eviction ??= this.#owner.newEviction(
      () => this.#holders(),
      () => this.#waiting(),
      () => []
    )
    this.#eviction.request()
  }

  *#holders(): Generator<Http2UpstreamStream> {
    for (const stream of this.#streams()) if (stream.holdsWindow) yield stream
  }

  /** Answers that a larger window would let go on. */
  #waiting(): number {
    let count = 0
    if (this.#isUsedUp) for (const stream of this.#streams()) if (stream.idleSince === 0) count++
    return count
  }
}
