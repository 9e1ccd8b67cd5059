/** The controller's end of one data plane's stream. What a slow reader has not taken is one record at most. */
import type { ServerHttp2Stream } from 'node:http2'
import type { Time } from '#engine/contract/time.ts'
import { readToController, type ToController } from './messages.ts'
import type { Published } from './published.ts'
import { ANSWER_BYTES_MAX, RecordError, RecordReader } from './records.ts'

/** A data plane that takes nothing for so long is gone. */
const STALLED_MS = 60_000

/** What a data plane has made of drafts. */
export interface Outcome {
  /** The newest version that it has put in force; 0: none of this controller's. */
  readonly inForce: number
  /** What it has refused, when that is newer than what is in force. */
  readonly refused: { readonly version: number; readonly reason: string } | null
}

export interface StreamParts {
  readonly published: Published
  readonly time: Pick<Time, 'after'>
  /** The outcome is another one. */
  readonly onOutcome: () => void
  /** The data plane does not keep to the protocol; it is cut off. */
  readonly onFault: (message: string) => void
}

export class DataPlaneStream {
  outcome: Outcome = { inForce: 0, refused: null }
  readonly #stream: ServerHttp2Stream
  readonly #parts: StreamParts
  /** Versions that were sent last; null: it has not said yet what it holds. */
  #sent: { snapshot: number; endpoints: number } | null = null
  #callOffStall: (() => void) | null = null

  constructor(stream: ServerHttp2Stream, parts: StreamParts) {
    this.#stream = stream
    this.#parts = parts
    const reader = new RecordReader(ANSWER_BYTES_MAX, (value) => this.#receive(readToController(value)))
    stream.on('data', (chunk: Buffer) => {
      try {
        reader.push(chunk)
      } catch (error) {
        if (!(error instanceof RecordError)) throw error
        parts.onFault(error.message)
        stream.destroy()
      }
    })
    stream.on('drain', () => this.#drained())
    stream.on('close', () => this.#callOffStall?.())
    // A data plane that ends its side has left.
    stream.on('end', () => stream.destroy())
  }

  /** Sends what it does not hold yet, unless it still reads: then that is done when it has read. */
  send(): void {
    const { published } = this.#parts
    const sent = this.#sent
    if (sent === null || published.version === 0 || this.#stream.destroyed) return
    // Endpoints go first: what a draft asks for is there when it comes into force.
    if (this.#callOffStall === null && sent.endpoints !== published.endpointsVersion) {
      const bytes = published.endpointsSince(sent.endpoints)
      sent.endpoints = published.endpointsVersion
      this.#write(bytes)
    }
    if (this.#callOffStall === null && sent.snapshot !== published.version) {
      const bytes = published.snapshotSince(sent.snapshot)
      sent.snapshot = published.version
      this.#write(bytes)
    }
  }

  #write(bytes: Buffer): void {
    if (this.#stream.write(bytes)) return
    this.#callOffStall = this.#parts.time.after(STALLED_MS, () => this.#stream.destroy())
  }

  #drained(): void {
    this.#callOffStall?.()
    this.#callOffStall = null
    this.send()
  }

  #receive(message: ToController): void {
    const { published } = this.#parts
    const isOwn = published.isOwn(message.epoch)
    if (message.kind === 'hello') {
      if (this.#sent !== null) throw new RecordError('it has said before what it holds')
      this.#sent = isOwn ? { snapshot: message.snapshot, endpoints: message.endpoints } : { snapshot: 0, endpoints: 0 }
      this.send()
      return
    }
    const { version, reason } = message
    const { inForce, refused } = this.outcome
    // Versions are answered in order, each once. What is said again counts for nothing.
    if (!isOwn || version <= Math.max(inForce, refused?.version ?? 0) || version > published.version) return
    this.outcome = reason === null ? { inForce: version, refused: null } : { inForce, refused: { version, reason } }
    this.#parts.onOutcome()
  }
}
