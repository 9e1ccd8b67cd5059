/**
 * Writes log lines to a file descriptor, in batches and without blocking the event loop.
 *
 * Several workers share one descriptor. On a regular file one write is one piece, however long. On a
 * pipe, socket or terminal only writes up to PIPE_BUF bytes are (POSIX write(2)), so there a batch
 * goes out in runs of whole lines of at most that size: a line of one worker never splits another's.
 */
import * as fs from 'node:fs'

/** A batch is written when it is this old or this large, whichever comes first. */
const FLUSH_MS = 100
const FLUSH_BYTES = 64 * 1024
/** Accepted and not yet written; when the reader of the output is slower than that, lines are dropped. */
const BACKLOG_BYTES_MAX = 4 * 1024 * 1024
/** PIPE_BUF of Linux; POSIX guarantees 512, the BSDs and macOS have 512 and pay with rare torn lines. */
export const ATOMIC_BYTES = 4096
const RETRY_MS = 5
/** Longest wait for a full pipe when the process exits. */
const EXIT_WAIT_MS = 1000

export type WriteDone = (error: NodeJS.ErrnoException | null, written: number) => void
/** The one system call that a sink makes; tests bring a descriptor that is full or short of space. */
export type Write = (fd: number, bytes: Buffer, offset: number, length: number, done: WriteDone) => void

export interface LineSinkOptions {
  readonly fd: number
  /** Lines were lost: the backlog is full ("backlog") or the write failed (its error code). */
  readonly onDropped: (lines: number, why: string) => void
  readonly write?: Write
  /** Bytes of one write; by default decided from the kind of descriptor. */
  readonly pieceBytesMax?: number
}

interface Waiter {
  readonly until: number
  readonly done: () => void
}

export class LineSink {
  readonly #fd: number
  readonly #onDropped: (lines: number, why: string) => void
  readonly #write: Write
  readonly #pieceBytesMax: number
  /** Lines that no write has taken yet. ASCII, so its length is its size in bytes. */
  #text = ''
  /** The batch that is being written, and the range of it that the kernel was asked to take. */
  #batch: Buffer | null = null
  #from = 0
  #to = 0
  #timer: NodeJS.Timeout | null = null
  /** Bytes ever accepted, and bytes ever written or given up. */
  #accepted = 0
  #settled = 0
  #waiters: Waiter[] = []

  constructor(options: LineSinkOptions) {
    this.#fd = options.fd
    this.#onDropped = options.onDropped
    this.#write = options.write ?? writeToFile
    this.#pieceBytesMax = options.pieceBytesMax ?? (isFile(options.fd) ? BACKLOG_BYTES_MAX : ATOMIC_BYTES)
  }

  /** Takes one line, ASCII, ended by LF. Never blocks, never throws. */
  append(line: string): void {
    if (this.#accepted - this.#settled + line.length > BACKLOG_BYTES_MAX) {
      this.#onDropped(1, 'backlog')
      return
    }
    this.#accepted += line.length
    this.#text += line
    if (this.#batch !== null) return
    if (this.#text.length >= FLUSH_BYTES) this.#start()
    // The timer does not hold the process: flushSync at exit writes what is left.
    else this.#timer ??= setTimeout(() => this.#start(), FLUSH_MS).unref()
  }

  /** Resolves when everything accepted before the call is written, or was dropped and counted. */
  flush(): Promise<void> {
    if (this.#settled === this.#accepted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiters.push({ until: this.#accepted, done: resolve })
    if (this.#batch === null) this.#start()
    return promise
  }

  /**
   * Writes what no system call has been made for yet; for the exit of the process or the thread only.
   * A write that is under way is left to libuv, which finishes queued work before the process ends.
   */
  flushSync(): void {
    let rest = Buffer.from(this.#text, 'latin1')
    this.#text = ''
    const batch = this.#batch
    if (batch !== null) {
      // A piece that waits for its retry is not under way: no call has it.
      const taken = this.#timer === null ? this.#to : this.#from
      rest = Buffer.concat([batch.subarray(taken), rest])
      this.#batch = taken === this.#from ? null : batch.subarray(0, taken)
    }
    this.#stopTimer()
    const lost = writeAllSync(this.#fd, rest, this.#pieceBytesMax)
    if (lost > 0) this.#onDropped(countLines(rest.subarray(rest.length - lost)), 'exit')
    this.#settle(rest.length)
  }

  #start(): void {
    this.#stopTimer()
    if (this.#batch !== null || this.#text === '') return
    this.#batch = Buffer.from(this.#text, 'latin1')
    this.#text = ''
    this.#from = 0
    this.#writePiece()
  }

  #writePiece(): void {
    const batch = this.#batch!
    this.#to = pieceEnd(batch, this.#from, this.#pieceBytesMax)
    this.#write(this.#fd, batch, this.#from, this.#to - this.#from, (error, written) => this.#onWritten(error, written))
  }

  #onWritten(error: NodeJS.ErrnoException | null, written: number): void {
    const batch = this.#batch!
    if (error !== null && (error.code === 'EAGAIN' || error.code === 'EINTR')) {
      // The pipe is full. This timer holds the process on purpose: it has lines in its hands.
      this.#timer = setTimeout(() => this.#retry(), RETRY_MS)
      return
    }
    const from = this.#from
    if (error !== null) {
      this.#onDropped(countLines(batch.subarray(from)), error.code ?? error.message)
      this.#from = batch.length
    } else {
      this.#from += written
    }
    this.#settle(this.#from - from)
    if (this.#from < batch.length) this.#writePiece()
    else this.#next()
  }

  #retry(): void {
    this.#timer = null
    this.#writePiece()
  }

  #next(): void {
    this.#batch = null
    if (this.#text.length >= FLUSH_BYTES || this.#waiters.length > 0) this.#start()
    else if (this.#text !== '') this.#timer ??= setTimeout(() => this.#start(), FLUSH_MS).unref()
  }

  #settle(bytes: number): void {
    this.#settled += bytes
    while (this.#waiters.length > 0 && this.#waiters[0]!.until <= this.#settled) this.#waiters.shift()!.done()
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

/** The end of the longest run of whole lines from `from` of at most `bytesMax`; a longer line is one piece. */
function pieceEnd(batch: Buffer, from: number, bytesMax: number): number {
  if (batch.length - from <= bytesMax) return batch.length
  const last = batch.lastIndexOf(10, from + bytesMax - 1)
  return last >= from ? last + 1 : batch.indexOf(10, from) + 1
}

/** Writes and waits. Returns the number of bytes that could not be written. */
function writeAllSync(fd: number, bytes: Buffer, pieceBytesMax: number): number {
  const deadline = performance.now() + EXIT_WAIT_MS
  let from = 0
  while (from < bytes.length) {
    try {
      from += fs.writeSync(fd, bytes, from, pieceEnd(bytes, from, pieceBytesMax) - from)
    } catch (error) {
      if (!isFull(error) || performance.now() > deadline) return bytes.length - from
      // The thread is about to end: there is nothing else to do until the pipe drains or the time is over.
    }
  }
  return 0
}

function isFull(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EAGAIN'
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) lines++
  return lines
}

function isFile(fd: number): boolean {
  try {
    return fs.fstatSync(fd).isFile()
  } catch {
    // A closed descriptor: the first write will say so, and its lines are counted as dropped.
    return false
  }
}

function writeToFile(fd: number, bytes: Buffer, offset: number, length: number, done: WriteDone): void {
  fs.write(fd, bytes, offset, length, null, done)
}
