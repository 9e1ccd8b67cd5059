/**
 * Requests of servers that a client has not answered yet, of traced exchanges in this worker: a client answers with a
 * request of its own, and the spans end then.
 */
import type { RpcId } from '#backends/mcp/protocol/json-rpc.ts'

/** The oldest ones end without an answer: a server may ask without end. */
const OPEN_MAX = 64

export interface ServerRequest {
  readonly target: string
  /** By the server. */
  readonly id: RpcId
  /** What relays it to the client, for `endOf`. */
  readonly relay: object
  /** `errorType`: undefined when the answer is no error, or is not known. */
  end(errorType: string | undefined): void
}

export class ServerRequests {
  /** Few, so that finding one is a comparison or two. */
  #open: ServerRequest[] = []

  add(request: ServerRequest): void {
    if (this.#open.length === OPEN_MAX) this.#open.shift()!.end(undefined)
    this.#open.push(request)
  }

  /** The answer to one of them. Others may have been answered, or belong to another worker. */
  answered(target: string, id: RpcId, errorType: string | undefined): void {
    const index = this.#open.findIndex((one) => one.target === target && one.id === id)
    if (index >= 0) this.#open.splice(index, 1)[0]!.end(errorType)
  }

  /** What `relay` has relayed is over, whether it was answered or not. */
  endOf(relay: object): void {
    const over = this.#open.filter((one) => one.relay === relay)
    if (over.length > 0) this.#open = this.#open.filter((one) => one.relay !== relay)
    for (const one of over) one.end(undefined)
  }
}
