/** A way between two programs that can be cut, and led elsewhere: loopback has none that breaks. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class Link {
  readonly #server: Server
  readonly #open = new Set<Socket>()
  #targets: readonly number[]
  #count = 0
  /** Connections that were opened to it, also while it is cut. */
  get count(): number {
    return this.#count
  }

  private constructor(targets: readonly number[]) {
    this.#targets = targets
    this.#server = createServer((socket) => this.#join(socket))
  }

  /** `targets`: ports on loopback; connections go to them in turns, as behind a Service. None: it is cut. */
  static async to(targets: readonly number[]): Promise<Link> {
    const link = new Link(targets)
    link.#server.listen(0, '127.0.0.1')
    await once(link.#server, 'listening')
    return link
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that are there are cut. */
  lead(targets: readonly number[]): void {
    this.#targets = targets
    for (const socket of this.#open) socket.destroy()
  }

  close(): void {
    this.lead([])
    this.#server.close()
  }

  #join(client: Socket): void {
    const port = this.#targets[this.#count % this.#targets.length]
    this.#count++
    if (port === undefined) {
      client.destroy()
      return
    }
    const server = connect(port, '127.0.0.1')
    for (const [socket, other] of [
      [client, server],
      [server, client]
    ] as const) {
      this.#open.add(socket)
      // A connection that breaks ends on both sides, whatever the reason was.
      socket.on('error', () => other.destroy())
      socket.on('close', () => {
        this.#open.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }
}
