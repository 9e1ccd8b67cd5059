import type { Exchange, ResponseTap } from '#engine/contract/exchange.ts'
import type { SpliceEnd } from '#engine/contract/transport.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'

/** After a 101: both connections become one pipe. `over` is called when both ends are gone and counted. */
export function spliceExchange(ex: Exchange, over: () => void): void {
  const server = ex.server!.splice()
  const client = ex.client.splice(ex)
  ex.server = null
  let open = 2
  const closed = () => {
    if (--open > 0) return
    ex.bytesReceived = client.bytes
    ex.bytesSent = server.bytes
    over()
  }
  client.join(server, closed)
  server.join(ex.tap === null ? client : new Heard(client, ex, ex.tap), closed)
}

/** The client's end, for a server whose bytes are read by a tap. */
class Heard implements SpliceEnd {
  readonly #client: SpliceEnd
  readonly #ex: Exchange
  readonly #tap: ResponseTap

  constructor(client: SpliceEnd, ex: Exchange, tap: ResponseTap) {
    this.#client = client
    this.#ex = ex
    this.#tap = tap
  }

  get bytes(): number {
    return this.#client.bytes
  }

  join(peer: SpliceEnd, closed: () => void): void {
    this.#client.join(peer, closed)
  }

  send(chunk: Buffer, start: number, end: number, slot: ReadSlot | null): boolean {
    this.#tap.body(this.#ex, chunk, start, end)
    return this.#client.send(chunk, start, end, slot)
  }

  finish(): void {
    this.#client.finish()
  }

  abort(): void {
    this.#client.abort()
  }

  resume(): void {
    this.#client.resume()
  }
}
