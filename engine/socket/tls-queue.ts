/** What a TLS wire is to send behind the write that is under way. Pieces of slots are lent, the others are copies. */
import type { ReadMemory, ReadSlot } from './memory.ts'

/** Shorter pieces leave together: a record, and a write, for each would cost more than copying them. */
const JOIN_BYTES = 16 * 1024

export class TlsQueue {
  /** Bytes that wait. */
  bytes = 0
  #pieces: Buffer[] = []
  #slots: (ReadSlot | null)[] = []
  readonly #memory: ReadMemory

  constructor(memory: ReadMemory) {
    this.#memory = memory
  }

  /** `bytes` stay as they are; in `slot` they do so until it is returned. */
  add(bytes: Buffer, slot: ReadSlot | null): void {
    if (slot !== null) slot.lent++
    this.#pieces.push(bytes)
    this.#slots.push(slot)
    this.bytes += bytes.length
  }

  /** Gives what the next write is to have. OpenSSL has copied it when `send` is over. */
  take(send: (bytes: Buffer) => void): void {
    const pieces = this.#pieces
    let count = 1
    let length = pieces[0]!.length
    while (count < pieces.length && length + pieces[count]!.length <= JOIN_BYTES) length += pieces[count++]!.length
    const taken = pieces.splice(0, count)
    const slots = this.#slots.splice(0, count)
    this.bytes -= length
    send(count === 1 ? taken[0]! : Buffer.concat(taken, length))
    for (const slot of slots) if (slot !== null) this.#memory.returned(slot)
  }

  /** It will never be sent. */
  clear(): void {
    for (const slot of this.#slots) if (slot !== null) this.#memory.returned(slot)
    this.#pieces = []
    this.#slots = []
    this.bytes = 0
  }
}
