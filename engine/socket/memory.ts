/**
 * The memory that the kernel reads into: llhttp's WebAssembly memory, so that parsing happens in
 * place and received bytes are forwarded from where they arrived.
 *
 * One shared read buffer serves every socket of a thread: a read is parsed and forwarded before the
 * next one starts. A socket in the middle of a large body gets a slot of its own, because a write
 * that the kernel does not take at once keeps pointing into the memory it was given.
 */
import { BULK_BODY, BULK_LONG, BULK_NONE, type Bulk } from './wire.ts'

declare global {
  interface Buffer {
    /** Node's own primitive behind toString('latin1'), without its dispatch on the encoding's name. */
    latin1Slice(start?: number, end?: number): string
    /** Likewise behind write(text, offset, 'latin1'). */
    latin1Write(text: string, offset: number): number
  }
}

/** Bytes of one read. 64 KiB is what the kernel gives at most per read on loopback and typical NICs. */
export const READ_BYTES = 64 * 1024
/** Bytes of one read into a private slot: a long body comes and goes with fewer system calls. */
const SLOT_BYTES = 512 * 1024
/** Private slots for bulk transfers; when all are taken, bodies are copied instead. */
const SLOTS_MAX = 64

/** A private read buffer. `lent` counts writes that still point into it. */
export class ReadSlot {
  readonly offset: number
  readonly view: Buffer
  lent = 0
  released = false
  constructor(offset: number, view: Buffer) {
    this.offset = offset
    this.view = view
  }
}

/** Stands for bytes that do not change any more: they need no copy, however long a write points to them. */
export const STILL = new ReadSlot(-1, Buffer.alloc(0))

export class ReadMemory {
  /** The whole memory as a Buffer: offsets that sockets and parsers exchange index into it. */
  readonly bytes: Buffer
  /** Where the shared read buffer lies. */
  readonly shared: number
  readonly sharedView: Buffer
  /** A region for bytes that were kept from earlier and must be parsed now (READ_BYTES long). */
  readonly scratch: number
  readonly #free: ReadSlot[] = []
  #text = ''
  #textStart = 0
  #textEnd = 0

  /** `base`: offset of at least ReadMemory.size bytes of `memory` that are not used otherwise. */
  constructor(memory: ArrayBuffer, base: number) {
    this.bytes = Buffer.from(memory)
    this.shared = base
    this.sharedView = Buffer.from(memory, base, READ_BYTES)
    this.scratch = base + READ_BYTES
    for (let i = 0; i < SLOTS_MAX; i++) {
      const offset = base + 2 * READ_BYTES + i * SLOT_BYTES
      this.#free.push(new ReadSlot(offset, Buffer.from(memory, offset, SLOT_BYTES)))
    }
  }

  static readonly size = 2 * READ_BYTES + SLOTS_MAX * SLOT_BYTES

  /** Bytes [start, end) as latin1 text, kept until forgetText(): parts of it cost next to nothing. */
  takeText(start: number, end: number): string {
    this.#text = this.bytes.latin1Slice(start, end)
    this.#textStart = start
    this.#textEnd = end
    return this.#text
  }

  /** The bytes that the text was made of are about to change. */
  forgetText(): void {
    this.#textEnd = 0
  }

  /** Bytes [start, end) of `chunk` as text if that has been made, else null. */
  textOf(chunk: Buffer, start: number, end: number): string | null {
    if (chunk !== this.bytes || end > this.#textEnd || start < this.#textStart) return null
    return this.#text.substring(start - this.#textStart, end - this.#textStart)
  }

  /** Slots in use, or lent to a write. */
  get busy(): number {
    return SLOTS_MAX - this.#free.length
  }

  /**
   * Where a wire reads next that has just read `count` bytes into `slot` (null: the shared buffer) and is in the middle
   * of `bulk`. Null: into the shared buffer.
   */
  slotAfter(slot: ReadSlot | null, count: number, bulk: Bulk, isPaused: boolean): ReadSlot | null {
    if (slot === null) {
      const isWorth = bulk === BULK_LONG || (bulk === BULK_BODY && count >= READ_BYTES / 2)
      return isWorth ? this.take() : null
    }
    if (bulk !== BULK_NONE && slot.lent === 0) return slot
    // The body is over, or a write still points into the slot: it must not change, whatever ends the pause.
    this.release(slot)
    if (bulk === BULK_NONE) return null
    // A pause may last: when slots are scarce it keeps none beside the one that is lent.
    return isPaused && this.#free.length < SLOTS_MAX / 2 ? null : this.take()
  }

  /** A slot for a bulk transfer, or null when none is free. */
  take(): ReadSlot | null {
    const slot = this.#free.pop()
    if (slot === undefined) return null
    slot.released = false
    return slot
  }

  /** Gives a slot back; it is reused once the last write from it is through. */
  release(slot: ReadSlot): void {
    slot.released = true
    if (slot.lent === 0) this.#free.push(slot)
  }

  /** A write that pointed into `slot` is through. */
  returned(slot: ReadSlot): void {
    slot.lent--
    if (slot.lent === 0 && slot.released) this.#free.push(slot)
  }
}
