/**
 * Appends the records of one worker to its segments. A record is one write: when it returns, the kernel has it, and the
 * end of this process, by kill -9 too, loses nothing of it. What a loss of power may take is said by `fsync`.
 */
import { closeSync, fdatasync, fdatasyncSync, ftruncateSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Fsync } from '#engine/contract/accounts.ts'
import { fits, RecordWriter } from './records.ts'

/** Then the next segment begins, and the main thread folds this one into the totals. */
const SEGMENT_BYTES_MAX = 4 * 1024 * 1024
const SYNC_MS = 1_000
/** Of what could not be written: the reservations are in the journal, so what is dropped counts as spent. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024
/** Owner only: they name keys and what those spend. */
const FILE_MODE = 0o600

export interface JournalPlace {
  readonly folder: string
  /** Of this worker thread, in this process: no other segment begins with it. */
  readonly name: string
  readonly fsync: Fsync
}

export interface BookedPart {
  /** In the shared books. */
  readonly row: number
  readonly taken: bigint
  readonly budget: { readonly id: string }
  /** Begin of its period. */
  readonly start: number
}

type Log = (level: 'error' | 'info', message: string) => void

export class JournalWriter {
  readonly #place: JournalPlace
  readonly #log: Log
  readonly #records = new RecordWriter()
  #fd = -1
  #sequence = 0
  #length = 0
  #call = 0
  /** What the segment at hand calls each row. */
  #known = new Map<number, { readonly id: string; readonly start: number }>()
  /** Whole records that could not be written. */
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #isBroken = false
  #isDirty = false
  #timer: NodeJS.Timeout | null = null

  constructor(place: JournalPlace, log: Log) {
    this.#place = place
    this.#log = log
  }

  /** The number of the call; 0: it could not be written, and the call must not be made. */
  reserve(at: number, parts: readonly BookedPart[]): number {
    if (!fits(parts.length)) return 0
    const call = ++this.#call
    this.#records.clear()
    this.#define(parts)
    this.#records.reserve(call, at, parts.length)
    for (const { row, taken } of parts) this.#records.taken(row, taken)
    this.#records.finish()
    if (this.#append()) return call
    this.#known.clear()
    return 0
  }

  /** `call`: 0 where nothing was set aside. What cannot be written now is written when that is possible again. */
  settle(call: number, at: number, cost: bigint, parts: readonly BookedPart[]): void {
    this.#records.clear()
    this.#define(parts)
    this.#records.settle(call, at, cost, parts.length)
    for (const { row } of parts) this.#records.of(row)
    this.#records.finish()
    if (!this.#append()) this.#keep(Buffer.from(this.#records.bytes))
  }

  /** Writes what waits, and closes. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#flushWaiting()
    if (this.#fd < 0) return
    if (this.#isDirty && this.#place.fsync !== 'no') this.#quietly(() => fdatasyncSync(this.#fd))
    closeSync(this.#fd)
    this.#fd = -1
  }

  #define(parts: readonly BookedPart[]): void {
    if (this.#length > SEGMENT_BYTES_MAX && this.#flushWaiting()) this.#nextSegment()
    for (const { row, budget, start } of parts) {
      const known = this.#known.get(row)
      if (known !== undefined && known.id === budget.id && known.start === start) continue
      this.#records.budget(row, start, budget.id)
      this.#known.set(row, { id: budget.id, start })
    }
  }

  #append(): boolean {
    if (!this.#flushWaiting()) return false
    return this.#write(this.#records.bytes)
  }

  #flushWaiting(): boolean {
    while (this.#waiting.length > 0) {
      if (!this.#write(this.#waiting[0]!)) return false
      this.#waitingBytes -= this.#waiting.shift()!.length
    }
    return true
  }

  #keep(bytes: Buffer): void {
    if (this.#waitingBytes + bytes.length > WAITING_BYTES_MAX) {
      // What it calls the budgets is lost with it.
      this.#known.clear()
      return
    }
    this.#waiting.push(bytes)
    this.#waitingBytes += bytes.length
  }

  #write(bytes: Buffer): boolean {
    try {
      if (this.#fd < 0) this.#open()
      let written = 0
      while (written < bytes.length) written += writeSync(this.#fd, bytes, written)
      this.#length += bytes.length
      if (this.#place.fsync === 'always') fdatasyncSync(this.#fd)
      else this.#syncSoon()
      if (this.#isBroken) this.#log('info', 'the journal of budgets can be written again')
      this.#isBroken = false
      return true
    } catch (error) {
      if (!this.#isBroken) this.#log('error', `the journal of budgets cannot be written: ${(error as Error).message}`)
      this.#isBroken = true
      // Half a record would hide the next one.
      if (this.#fd >= 0) this.#quietly(() => ftruncateSync(this.#fd, this.#length))
      return false
    }
  }

  #open(): void {
    const { folder, name } = this.#place
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.#fd = openSync(join(folder, `${name}-${++this.#sequence}.journal`), 'ax', FILE_MODE)
    this.#length = 0
  }

  #nextSegment(): void {
    this.close()
    this.#length = 0
    this.#known = new Map()
  }

  #syncSoon(): void {
    this.#isDirty = true
    if (this.#place.fsync !== 'everysec' || this.#timer !== null) return
    this.#timer = setInterval(() => {
      if (!this.#isDirty || this.#fd < 0) return
      this.#isDirty = false
      fdatasync(this.#fd, (error) => {
        if (error !== null) this.#isDirty = true
      })
    }, SYNC_MS)
    this.#timer.unref()
  }

  #quietly(act: () => void): void {
    try {
      act()
    } catch {
      // The next write says what is wrong with the disk.
    }
  }
}
