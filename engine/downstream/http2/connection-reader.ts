/**
 * The reading side of a connection of HTTP/2: its preface, then frames, as many in one poll as the connection's share
 * allows. What is left waits here, and the wire is not read meanwhile.
 */
import { type FrameHandler, FrameReader } from '#engine/http2/frame-reader.ts'
import { NO_ERROR, PREFACE, PROTOCOL_ERROR } from '#engine/http2/protocol.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { type Deferred, goOnLater, REQUEST_WORK, ReadShare } from '#engine/socket/read-share.ts'
import type { Wire } from '#engine/socket/wire.ts'

/** Bytes of a compressed header block that are one unit of work, as a power of two: a byte may stand for a field. */
const BLOCK_SHIFT = 2

/** The connection. */
export interface ReaderOwner extends FrameHandler {
  readonly wire: Wire
  readonly isClosed: boolean
  /** All that has come has been taken. */
  afterRead(): void
  /** There is more, and it is for later. */
  putOff(): void
  /** What has come breaks the connection. */
  broken(code: number): void
}

export interface ReaderLimits {
  readonly frameBytesMax: number
  readonly blockBytesMax: number
  /** Bytes of the preface that have been seen and taken away already. */
  readonly prefaceBytes: number
}

export class Http2ConnectionReader implements Deferred {
  /** Where the bytes at hand are, if they stay valid. */
  slot: ReadSlot | null = null
  /** Frames are being taken. */
  isRunning = false
  readonly #owner: ReaderOwner
  readonly #reader: FrameReader
  readonly #share = new ReadShare()
  /** Bytes of the preface that have come. */
  #prefaceBytes: number
  /** What has been put off. */
  #rest: Buffer | null = null

  constructor(owner: ReaderOwner, { frameBytesMax, blockBytesMax, prefaceBytes }: ReaderLimits) {
    this.#owner = owner
    this.#reader = new FrameReader(owner, frameBytesMax, blockBytesMax)
    this.#prefaceBytes = prefaceBytes
  }

  /** Something has begun to arrive that is of no use until it is whole, the first frame included. */
  get isWaiting(): boolean {
    return this.#reader.isWaiting || this.#reader.isFirst
  }

  /** Closing the connection now would lose something that has come. */
  get holdsBytes(): boolean {
    return this.#reader.isWaiting || this.#rest !== null
  }

  /** Bytes [start, end) have arrived. */
  take(bytes: Buffer, start: number, end: number, slot: ReadSlot | null): void {
    if (this.#rest !== null) {
      // Over TLS a paused wire still says what has been decrypted.
      this.#rest = Buffer.concat([this.#rest, bytes.subarray(start, end)])
      return
    }
    let at = start
    while (this.#prefaceBytes < PREFACE.length && at < end) {
      if (bytes[at++] === PREFACE.charCodeAt(this.#prefaceBytes)) this.#prefaceBytes++
      else {
        this.#owner.broken(PROTOCOL_ERROR)
        return
      }
    }
    this.#share.renew()
    this.#execute(bytes, at, end, slot, false)
  }

  /** A block of so many bytes is decoded, and what it asks for is done or refused. */
  spendBlock(bytes: number): void {
    this.#reader.work -= REQUEST_WORK + (bytes >> BLOCK_SHIFT)
  }

  goOn(): void {
    const rest = this.#rest
    const { wire, isClosed } = this.#owner
    this.#rest = null
    if (rest === null || isClosed) return
    this.#execute(rest, 0, rest.length, null, true)
    if (this.#rest === null && !this.#owner.isClosed) wire.resume()
  }

  /** Nothing more is read. */
  stop(): void {
    this.#reader.isOver = true
    this.#rest = null
  }

  #execute(bytes: Buffer, start: number, end: number, slot: ReadSlot | null, isOwn: boolean): void {
    const owner = this.#owner
    const reader = this.#reader
    this.slot = slot
    this.isRunning = true
    reader.work = this.#share.left
    const code = reader.execute(bytes, start, end)
    this.#share.left = reader.work
    this.isRunning = false
    this.slot = null
    if (owner.isClosed) return
    if (code !== NO_ERROR) owner.broken(code)
    else if (reader.stoppedAt === end) owner.afterRead()
    else {
      const rest = bytes.subarray(reader.stoppedAt, end)
      // What was put off before is in memory of its own already.
      this.#rest = isOwn ? rest : Buffer.from(rest)
      owner.wire.pause()
      owner.putOff()
      goOnLater(this, this.#share)
    }
  }
}
