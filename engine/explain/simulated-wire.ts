/** A connection without a socket: its owner reads the request from memory, and what the owner writes is kept. */
import { KnownEnds } from '#engine/socket/connection-ends.ts'
import { READ_BYTES, type ReadMemory } from '#engine/socket/memory.ts'
import { inTurn } from '#engine/socket/round.ts'
import { BULK_NONE, type Bulk, NO_OWNER, type Wire, type WireOwner } from '#engine/socket/wire.ts'

/** The rest of a longer answer is dropped. */
const KEPT_BYTES_MAX = 1024 * 1024

export class SimulatedWire implements Wire {
  owner: WireOwner = NO_OWNER
  /** Called with the bytes of each write of the owner. */
  onWritten: (bytes: Buffer) => void = () => {}
  bulk: Bulk = BULK_NONE
  readonly ends: KnownEnds
  readonly congested = false
  readonly handed = 0
  readonly waiting = 0
  isClosed = false
  readonly #memory: ReadMemory
  readonly #written: Buffer[] = []
  #writtenBytes = 0
  #unread: Buffer = Buffer.alloc(0)
  #isPaused = false

  constructor(from: string, memory: ReadMemory) {
    this.ends = new KnownEnds(from, 0, '')
    this.#memory = memory
  }

  /** All that the owner has written, up to a bound. */
  get written(): Buffer {
    return Buffer.concat(this.#written)
  }

  /** The owner has read all that the client has sent. */
  get isRead(): boolean {
    return this.#unread.length === 0
  }

  /** The client sends `bytes`. */
  feed(bytes: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, bytes])
    this.#deliver()
  }

  #deliver(): void {
    const { bytes, shared } = this.#memory
    while (this.#unread.length > 0 && !this.#isPaused && !this.isClosed) {
      const count = Math.min(READ_BYTES, this.#unread.length)
      this.#unread.copy(bytes, shared, 0, count)
      this.#unread = this.#unread.subarray(count)
      inTurn(() => this.owner.onRead(shared, shared + count, null))
    }
  }

  unsent(): null {
    return null
  }

  write(text: string): void {
    this.#keep(Buffer.from(text, 'latin1'))
  }

  writeBytes(chunk: Buffer, start: number, end: number): void {
    this.#keep(Buffer.from(chunk.subarray(start, end)))
  }

  #keep(bytes: Buffer): void {
    this.onWritten(bytes)
    if (this.#writtenBytes >= KEPT_BYTES_MAX) return
    this.#writtenBytes += bytes.length
    this.#written.push(bytes)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    // The owner that resumes it must not be read from inside its own call.
    setImmediate(() => this.#deliver())
  }

  finish(): void {}

  close(): void {
    this.isClosed = true
  }

  destroy(): void {
    this.isClosed = true
    this.owner = NO_OWNER
  }

  reset(): void {
    this.destroy()
  }
}
