/**
 * Records of the journal as bytes. Each worker appends to segments of its own; a record says what was set aside for a
 * call, or what a call has cost. A frame: length of the payload (32 bits), its CRC-32, the payload; all little-endian.
 *
 * A payload begins with its kind:
 * 1 budget:  its number in this segment (32 bits), begin of the period (f64, ms), its id (UTF-8)
 * 2 reserve: number of the call (f64), time (f64, ms), count (8), count times: number of the budget (32), nanos (i64)
 * 3 settle:  number of the call (f64; 0: none was set aside), time (f64), nanos (i64), count (8), count times: number
 * (32)
 */
import { crc32 } from 'node:zlib'

const BUDGET = 1
const RESERVE = 2
const SETTLE = 3

const FRAME_BYTES = 8
/** An id has the names of an account, a period and a zone. */
export const PAYLOAD_BYTES_MAX = 4096
const PARTS_MAX = 255

export interface BudgetRecord {
  readonly kind: 'budget'
  readonly number: number
  readonly start: number
  readonly id: string
}

export interface ReserveRecord {
  readonly kind: 'reserve'
  readonly call: number
  readonly at: number
  readonly parts: readonly { readonly number: number; readonly taken: bigint }[]
}

export interface SettleRecord {
  readonly kind: 'settle'
  readonly call: number
  readonly at: number
  readonly cost: bigint
  readonly numbers: readonly number[]
}

export type JournalRecord = BudgetRecord | ReserveRecord | SettleRecord

/** Puts frames one behind the other into one buffer, which grows. */
export class RecordWriter {
  #bytes = Buffer.alloc(PAYLOAD_BYTES_MAX)
  #end = 0
  #start = 0

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end)
  }

  clear(): void {
    this.#end = 0
  }

  budget(number: number, start: number, id: string): void {
    this.#begin(BUDGET, 13 + Buffer.byteLength(id))
    this.#u32(number)
    this.#f64(start)
    this.#end += this.#bytes.write(id, this.#end)
    this.#finish()
  }

  /** Of `count` parts; each follows by `taken`. */
  reserve(call: number, at: number, count: number): void {
    this.#begin(RESERVE, 18 + 12 * count)
    this.#f64(call)
    this.#f64(at)
    this.#end = this.#bytes.writeUInt8(count, this.#end)
  }

  taken(number: number, nanos: bigint): void {
    this.#u32(number)
    this.#end = this.#bytes.writeBigInt64LE(nanos, this.#end)
  }

  /** Of `count` numbers; each follows by `of`. */
  settle(call: number, at: number, cost: bigint, count: number): void {
    this.#begin(SETTLE, 26 + 4 * count)
    this.#f64(call)
    this.#f64(at)
    this.#end = this.#bytes.writeBigInt64LE(cost, this.#end)
    this.#end = this.#bytes.writeUInt8(count, this.#end)
  }

  of(number: number): void {
    this.#u32(number)
  }

  /** Behind the last part of a record. */
  finish(): void {
    this.#finish()
  }

  #begin(kind: number, payload: number): void {
    const needed = this.#end + FRAME_BYTES + payload
    if (needed > this.#bytes.length) this.#bytes = Buffer.concat([this.bytes, Buffer.alloc(needed)])
    this.#start = this.#end
    this.#end = this.#bytes.writeUInt8(kind, this.#end + FRAME_BYTES)
  }

  #finish(): void {
    const payload = this.#bytes.subarray(this.#start + FRAME_BYTES, this.#end)
    this.#bytes.writeUInt32LE(payload.length, this.#start)
    this.#bytes.writeUInt32LE(crc32(payload), this.#start + 4)
  }

  #u32(value: number): void {
    this.#end = this.#bytes.writeUInt32LE(value, this.#end)
  }

  #f64(value: number): void {
    this.#end = this.#bytes.writeDoubleLE(value, this.#end)
  }
}

/** What a segment holds. */
export interface SegmentText {
  readonly records: readonly JournalRecord[]
  /** Bytes that are no part of a whole record: the last one was torn, or the file was damaged. */
  readonly lostBytes: number
}

/** Never throws, whatever the bytes are. Behind what is damaged it goes on with the next whole record. */
export function readSegment(bytes: Buffer): SegmentText {
  const records: JournalRecord[] = []
  let lostBytes = 0
  let at = 0
  while (at < bytes.length) {
    const record = recordAt(bytes, at)
    if (record === null) {
      at++
      lostBytes++
    } else {
      records.push(record)
      at += FRAME_BYTES + bytes.readUInt32LE(at)
    }
  }
  return { records, lostBytes }
}

function recordAt(bytes: Buffer, at: number): JournalRecord | null {
  if (bytes.length - at < FRAME_BYTES) return null
  const length = bytes.readUInt32LE(at)
  const end = at + FRAME_BYTES + length
  if (length === 0 || length > PAYLOAD_BYTES_MAX || end > bytes.length) return null
  const payload = bytes.subarray(at + FRAME_BYTES, end)
  return crc32(payload) === bytes.readUInt32LE(at + 4) ? readPayload(payload) : null
}

function readPayload(payload: Buffer): JournalRecord | null {
  const kind = payload[0]
  if (kind === BUDGET) return readBudget(payload)
  if (kind === RESERVE) return readReserve(payload)
  return kind === SETTLE ? readSettle(payload) : null
}

function readBudget(payload: Buffer): BudgetRecord | null {
  if (payload.length < 14) return null
  const start = payload.readDoubleLE(5)
  return isTime(start)
    ? { kind: 'budget', number: payload.readUInt32LE(1), start, id: payload.toString('utf8', 13) }
    : null
}

function readReserve(payload: Buffer): ReserveRecord | null {
  if (payload.length < 18) return null
  const [call, at, count] = [payload.readDoubleLE(1), payload.readDoubleLE(9), payload.readUInt8(17)]
  if (!isCall(call) || !isTime(at) || payload.length !== 18 + 12 * count) return null
  const parts = Array.from({ length: count }, (_, i) => ({
    number: payload.readUInt32LE(18 + 12 * i),
    taken: payload.readBigInt64LE(22 + 12 * i)
  }))
  return { kind: 'reserve', call, at, parts }
}

function readSettle(payload: Buffer): SettleRecord | null {
  if (payload.length < 26) return null
  const [call, at, count] = [payload.readDoubleLE(1), payload.readDoubleLE(9), payload.readUInt8(25)]
  if (!isCall(call) || !isTime(at) || payload.length !== 26 + 4 * count) return null
  const numbers = Array.from({ length: count }, (_, i) => payload.readUInt32LE(26 + 4 * i))
  return { kind: 'settle', call, at, cost: payload.readBigInt64LE(17), numbers }
}

const isCall = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
/** What a Date can be. */
const isTime = (value: number): boolean => value >= 0 && value <= 8.64e15

/** A record has room for no more parts. */
export const fits = (parts: number): boolean => parts <= PARTS_MAX
