/** Records on the stream between a controller and a data plane: 4 bytes of length, then MessagePack. */
import { Packr } from 'msgpackr/pack'

/** Of Snapshots: 5,000 routes are some 5 MB. */
export const SNAPSHOT_BYTES_MAX = 256 * 1024 * 1024
/** Of what data planes say. */
export const ANSWER_BYTES_MAX = 16 * 1024
const LENGTH_BYTES = 4
const KEPT_BYTES_MAX = 64 * 1024

/** Plain MessagePack, no records of msgpackr's own: each side may be of another version. */
const packr = new Packr({ useRecords: false })

export function encodeRecord(value: unknown): Buffer {
  const body = packr.pack(value)
  const record = Buffer.allocUnsafe(LENGTH_BYTES + body.length)
  record.writeUInt32BE(body.length)
  body.copy(record, LENGTH_BYTES)
  // It would keep the memory of the largest record for good.
  if (body.length > KEPT_BYTES_MAX) packr.useBuffer(Buffer.allocUnsafeSlow(KEPT_BYTES_MAX))
  return record
}

/** The value of a whole record. */
export function decodeRecord(record: Buffer): unknown {
  return decode(record.subarray(LENGTH_BYTES))
}

/** The peer does not keep to the protocol; nothing more can be read from it. */
export class RecordError extends Error {}

export class RecordReader {
  readonly #bytesMax: number
  readonly #onRecord: (value: unknown) => void
  #chunks: Buffer[] = []
  #bytes = 0
  /** Of the record that has begun; -1: its length is not known yet. */
  #length = -1

  constructor(bytesMax: number, onRecord: (value: unknown) => void) {
    this.#bytesMax = bytesMax
    this.#onRecord = onRecord
  }

  /** Throws a RecordError, and what onRecord throws. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    for (;;) {
      if (this.#length < 0) {
        if (this.#bytes < LENGTH_BYTES) return
        this.#length = this.#take(LENGTH_BYTES).readUInt32BE()
        if (this.#length > this.#bytesMax) {
          throw new RecordError(`a record of ${this.#length} bytes; the limit is ${this.#bytesMax}`)
        }
      }
      if (this.#bytes < this.#length) return
      const body = this.#take(this.#length)
      this.#length = -1
      this.#onRecord(decode(body))
    }
  }

  /** There are at least `count`. */
  #take(count: number): Buffer {
    const [first] = this.#chunks
    // Records of many chunks are put together once, and not with each chunk.
    const all = this.#chunks.length === 1 ? first! : Buffer.concat(this.#chunks, this.#bytes)
    this.#bytes -= count
    this.#chunks = this.#bytes === 0 ? [] : [all.subarray(count)]
    return all.subarray(0, count)
  }
}

function decode(body: Buffer): unknown {
  try {
    return packr.unpack(body)
  } catch (error) {
    throw new RecordError(`a record that is no MessagePack: ${(error as Error).message}`)
  }
}
