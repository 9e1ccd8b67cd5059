/**
 * How many streams a server takes at a time. One that we have reset is open for the server until it reads that, so it
 * counts until a PING behind it has been answered (as in Go's net/http2). The PING is sent when another stream is
 * wanted. Some servers take longer: Node, with much to write, answers the next streams with ENHANCE_YOUR_CALM, and ends
 * the connection after a hundred. So a server that has refused a stream gets none until it has answered a PING, too.
 */
import { pingFrame } from '#engine/http2/frame-writer.ts'
import type { PeerSettings } from '#engine/http2/settings.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** Streams at a time, whatever more a server would take. */
const STREAMS_MAX = 1000
/** What a PING says: nothing. */
const OPAQUE = '\0'.repeat(8)

export class StreamLimit {
  readonly #peer: PeerSettings
  readonly #wire: Wire
  /** Fewer than the server's number after it has refused one; grows again. */
  #max = STREAMS_MAX
  /** Reset by us, and perhaps not known to the server. */
  #leaving = 0
  /** Those of them that the PING under way is about; -1: none is under way. */
  #pinged = -1
  /** It has refused one, and has not answered since. */
  #isShut = false
  /** Servers of gRPC end connections with PINGs between which they have sent neither HEADERS nor DATA. */
  #mayAsk = true

  constructor(peer: PeerSettings, wire: Wire) {
    this.#peer = peer
    this.#wire = wire
  }

  /** Further streams beside those `open`. */
  available(open: number): number {
    return this.#isShut ? 0 : Math.min(this.#peer.streamsMax, this.#max) - open - this.#leaving
  }

  /** The server has refused one beside those `open`, whatever its SETTINGS say. */
  refused(open: number): void {
    this.#max = Math.max(1, open)
    this.#isShut = this.#mayAsk
  }

  /** One that it had answered has ended. */
  ended(): void {
    if (this.#max < STREAMS_MAX) this.#max++
  }

  reset(): void {
    if (this.#mayAsk) this.#leaving++
  }

  /** HEADERS or DATA have come. */
  onResponse(): void {
    this.#mayAsk = true
  }

  /** Sends a PING if, beside those `open`, only streams that are being reset could make a place free. */
  sendPing(open: number): void {
    if (this.#pinged >= 0 || (this.#leaving === 0 && !this.#isShut) || this.available(open) > this.#leaving) return
    this.#pinged = this.#leaving
    this.#wire.write(pingFrame(false, OPAQUE))
  }

  /** A PING has been answered. True: more streams may be opened beside those `open`. */
  pingAnswered(open: number): boolean {
    if (this.#pinged < 0) return false
    this.#leaving -= this.#pinged
    this.#pinged = -1
    this.#isShut = false
    this.#mayAsk = false
    this.sendPing(open)
    return true
  }
}
