/** The connections of HTTP/2 to one address that take further streams, and how many. */
import type { Http2Upstream } from './connection.ts'
import type { Http2UpstreamStream } from './stream.ts'

export class OpenConnections {
  readonly #connections: Http2Upstream[] = []

  get isEmpty(): boolean {
    return this.#connections.length === 0
  }

  add(connection: Http2Upstream): void {
    this.#connections.push(connection)
  }

  remove(connection: Http2Upstream): void {
    const at = this.#connections.indexOf(connection)
    if (at >= 0) this.#connections.splice(at, 1)
  }

  has(connection: Http2Upstream): boolean {
    return this.#connections.includes(connection)
  }

  /** One that takes another stream. */
  first(): Http2Upstream | null {
    for (const connection of this.#connections) if (connection.capacity > 0) return connection
    return null
  }

  /** Streams that could begin now. */
  get left(): number {
    let left = 0
    for (const { capacity } of this.#connections) left += Math.max(capacity, 0)
    return left
  }

  get streams(): number {
    let streams = 0
    for (const connection of this.#connections) streams += connection.streams
    return streams
  }

  /** Connections without an exchange. */
  get idle(): number {
    let count = 0
    for (const { streams } of this.#connections) if (streams === 0) count++
    return count
  }

  closeIdle(): void {
    for (const connection of [...this.#connections]) if (connection.streams === 0) connection.closeIdle()
  }

  /** One without a stream takes none: the server serves no one at the moment. */
  get isRefused(): boolean {
    return this.#connections.some(({ streams, capacity }) => streams === 0 && capacity <= 0)
  }

  *exchanges(): Generator<Http2UpstreamStream> {
    for (const { exchanges } of this.#connections) yield* exchanges
  }
}
