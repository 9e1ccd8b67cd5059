/** One watch at the double, with the faults that a test wants of it. */
import type { ServerResponse } from 'node:http'
import type { ApiCall } from './call.ts'
import { selects } from './selector.ts'
import type { ApiStore, StoredEvent } from './store.ts'

export interface WatchFault {
  /** The connection is cut after so many bytes of events. */
  readonly bytesMax?: number
  /** Sent first, as it is. */
  readonly text?: string
  /** No event is sent. */
  readonly isSilent?: boolean
}

export class ApiWatch {
  readonly call: ApiCall
  readonly #store: ApiStore
  readonly #response: ServerResponse
  readonly #fault: WatchFault
  readonly #forget: () => void
  #bytes = 0

  constructor(store: ApiStore, call: ApiCall, response: ServerResponse, fault: WatchFault) {
    this.#store = store
    this.call = call
    this.#response = response
    this.#fault = fault
    this.#forget = store.listen((event) => this.#tell(event))
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    if (fault.text !== undefined) this.#write(fault.text)
    const events = store.since(Number(call.query.get('resourceVersion')))
    if (events === null) {
      const message = 'too old resource version'
      this.#send('ERROR', {
        kind: 'Status',
        apiVersion: 'v1',
        status: 'Failure',
        message,
        reason: 'Expired',
        code: 410
      })
      this.end()
    } else for (const event of events) this.#tell(event)
  }

  bookmark(): void {
    const { kind, apiVersion } = this.call.kind
    this.#send('BOOKMARK', { kind, apiVersion, metadata: { resourceVersion: `${this.#store.version}` } })
  }

  end(): void {
    this.#forget()
    this.#response.end()
  }

  /** What leaves the selector is deleted for this watch, and what comes into it is added. */
  #tell({ type, plural, object, before }: StoredEvent): void {
    const { kind, namespace, query } = this.call
    const isWanted = plural === kind.plural && (namespace === '' || object.metadata.namespace === namespace)
    if (!isWanted) return
    const selector = query.get('labelSelector') ?? ''
    const isSelected = type !== 'DELETED' && selects(selector, object.metadata.labels)
    const wasSelected = before !== null && selects(selector, before.metadata.labels)
    if (isSelected) this.#send(wasSelected ? type : 'ADDED', object)
    else if (wasSelected) this.#send('DELETED', object)
  }

  #send(type: string, object: unknown): void {
    if (this.#fault.isSilent !== true) this.#write(`${JSON.stringify({ type, object })}\n`)
  }

  #write(text: string): void {
    const { bytesMax = Infinity } = this.#fault
    const bytes = Buffer.from(text)
    const left = bytesMax - this.#bytes
    this.#bytes += bytes.length
    if (left < 0) return
    this.#response.write(bytes.subarray(0, Math.min(left, bytes.length)))
    // What was written goes out before the end of the connection.
    if (bytes.length >= left) this.#response.socket?.destroySoon()
  }
}
