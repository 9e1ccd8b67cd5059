/**
 * Bytes that wait, in the order in which they came. Short pieces become part of the one before: a peer that sends a
 * byte at a time must not make us keep an object for each (measured: 110 bytes and more; 20 MB of such bodies, kept
 * for a retry, were 2.5 GB and ten seconds of garbage collection).
 */

/** A piece that is longer takes no more. */
const PIECE_BYTES_MAX = 16 * 1024
const BLOCK_BYTES_MIN = 256

export class Pieces {
  readonly #pieces: Buffer[] = []
  /** Room of which the last piece is the beginning; null: it has none. */
  #block: Buffer | null = null

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  get isSingle(): boolean {
    return this.#pieces.length === 1
  }

  /** Bytes in all. */
  get bytes(): number {
    return this.#pieces.reduce((sum, piece) => sum + piece.length, 0)
  }

  /** All of them, in a list of the caller's own; what comes later does not change them. */
  get list(): Buffer[] {
    return [...this.#pieces]
  }

  /** All bytes in one; without a copy when they are one piece. */
  get whole(): Buffer {
    return this.isSingle ? this.first : Buffer.concat(this.#pieces)
  }

  get first(): Buffer {
    return this.#pieces[0]!
  }

  /** Keeps a copy of [start, end). */
  push(chunk: Buffer, start: number, end: number): void {
    const last = this.#pieces.at(-1)
    const total = (last?.length ?? 0) + end - start
    if (last === undefined || total > PIECE_BYTES_MAX) {
      this.#block = null
      this.#pieces.push(Buffer.from(chunk.subarray(start, end)))
      return
    }
    let block = this.#block
    if (block === null || block.length < total) {
      block = Buffer.allocUnsafeSlow(Math.max(2 * total, BLOCK_BYTES_MIN))
      last.copy(block)
      this.#block = block
    }
    chunk.copy(block, last.length, start, end)
    this.#pieces[this.#pieces.length - 1] = block.subarray(0, total)
  }

  /** Takes `piece` itself, which must not be changed any more. */
  adopt(piece: Buffer): void {
    this.#block = null
    this.#pieces.push(piece)
  }

  /** The first one, which waits no more. */
  shift(): Buffer {
    const first = this.#pieces.shift()!
    if (this.isEmpty) this.#block = null
    return first
  }

  drop(): void {
    this.#pieces.length = 0
    this.#block = null
  }

  /** So many bytes of the first one have gone, and some of it are left. */
  cut(bytes: number): void {
    this.#pieces[0] = this.#pieces[0]!.subarray(bytes)
    if (this.#pieces.length === 1) this.#block = null
  }
}

/** Of lists that keepPiece has made longer: the room of which their last piece is the beginning. */
const rooms = new WeakMap<Buffer[], Buffer>()

/** As Pieces.push, for a plain list, which has one piece as a rule: returns it, or a new one for null. */
export function keepPiece(pieces: Buffer[] | null, chunk: Buffer, start: number, end: number): Buffer[] {
  const last = pieces?.at(-1)
  if (pieces === null || last === undefined || last.length + end - start > PIECE_BYTES_MAX) {
    const piece = Buffer.from(chunk.subarray(start, end))
    if (pieces === null) return [piece]
    pieces.push(piece)
    return pieces
  }
  const total = last.length + end - start
  let room = rooms.get(pieces)
  if (room === undefined || room.buffer !== last.buffer || room.length < total) {
    room = Buffer.allocUnsafeSlow(Math.max(2 * total, BLOCK_BYTES_MIN))
    last.copy(room)
    rooms.set(pieces, room)
  }
  chunk.copy(room, last.length, start, end)
  pieces[pieces.length - 1] = room.subarray(0, total)
  return pieces
}
