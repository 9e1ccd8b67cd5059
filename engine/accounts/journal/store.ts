/**
 * The folder of config.state: who uses it, the totals of what was folded, and the segments that were not. One process
 * has it at a time: two would each let the same money be spent.
 */
import {
  closeSync,
  fdatasyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync
} from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { join, resolve } from 'node:path'
import { readSegment } from './records.ts'
import { Totals, type TotalsText } from './totals.ts'

const CHECKPOINT = 'checkpoint.json'
const FRESH = 'checkpoint.fresh'
const LOCK = 'in-use.sock'
const SEGMENT = /^(.+)-(\d{1,15})\.journal$/
const FORMAT = 1
/** Of a Unix socket's path, on every system. */
const SOCKET_PATH_MAX = 100

interface Checkpoint extends TotalsText {
  readonly format: typeof FORMAT
  /** By writer: the last segment that is in the totals. */
  readonly folded: Readonly<Record<string, number>>
  /** Of all amounts. Absent: nobody has said it. */
  readonly currency?: string
}

interface Segment {
  readonly file: string
  readonly name: string
  readonly sequence: number
}

type Log = (level: 'info' | 'warn' | 'error', message: string) => void

export class StateFolder {
  readonly path: string
  readonly totals: Totals
  readonly #folded: Map<string, number>
  readonly #lock: Server
  readonly #log: Log
  #currency: string | null

  private constructor(path: string, lock: Server, checkpoint: Checkpoint | null, log: Log) {
    this.path = path
    this.#lock = lock
    this.#log = log
    this.totals = checkpoint === null ? new Totals() : Totals.from(checkpoint)
    this.#folded = new Map(Object.entries(checkpoint?.folded ?? {}))
    this.#currency = checkpoint?.currency ?? null
  }

  /** Throws an Error in words: the folder cannot be used, is in use, or what is in it cannot be read. */
  static async open(folder: string, log: Log): Promise<StateFolder> {
    const path = resolve(folder)
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 })
    } catch (error) {
      throw new Error(`config.state.path: ${path} cannot be made: ${(error as Error).message}`)
    }
    const lock = await locked(path)
    try {
      const store = new StateFolder(path, lock, readCheckpoint(path), log)
      store.#recover()
      return store
    } catch (error) {
      lock.close()
      throw error
    }
  }

  /**
   * Amounts are in `currency` from now on. Returns the one that they are in, where that is another: nothing has changed
   * then.
   */
  countIn(currency: string): string | null {
    const kept = this.#currency
    if (kept !== null && kept !== currency && this.totals.budgets.size > 0) return kept
    if (kept === currency) return null
    this.#currency = currency
    this.save(Date.now())
    return null
  }

  /** Everything that was written is of processes that are gone. */
  #recover(): void {
    const segments = this.#segments()
    for (const segment of segments) this.#fold(segment)
    let calls = 0
    for (const name of this.totals.writers) calls += this.totals.end(name)
    if (calls > 0)
      this.#log(
        'warn',
        `${calls} calls were under way when the last process ended: what was set aside for them counts as spent`
      )
    this.save(Date.now())
    for (const { file } of segments) this.#remove(file)
  }

  /**
   * Folds what is complete: of writers that are gone all, of the others all but the segment that they write. `gone`:
   * names
   * of writers.
   */
  compact(now: number, gone: ReadonlySet<string>): void {
    const segments = this.#segments()
    const last = new Map<string, number>()
    for (const { name, sequence } of segments) last.set(name, Math.max(sequence, last.get(name) ?? 0))
    const complete = segments.filter(({ name, sequence }) => gone.has(name) || sequence < last.get(name)!)
    for (const segment of complete) this.#fold(segment)
    for (const name of gone) this.totals.end(name)
    this.save(now)
    for (const { file } of complete) this.#remove(file)
  }

  /** Where the state is written whole: the file is there, complete, before it takes the place of the one before. */
  save(now: number): void {
    this.totals.age(now)
    const checkpoint: Checkpoint = {
      ...{ format: FORMAT, ...this.totals.text, folded: Object.fromEntries(this.#folded) },
      ...(this.#currency === null ? {} : { currency: this.#currency })
    }
    writeWhole(this.path, FRESH, CHECKPOINT, JSON.stringify(checkpoint))
  }

  close(): Promise<void> {
    return new Promise((done) => this.#lock.close(() => done()))
  }

  #fold({ file, name, sequence }: Segment): void {
    const { records, lostBytes } = readSegment(readFileSync(join(this.path, file)))
    if (lostBytes > 0) this.#log('warn', `${lostBytes} bytes of ${file} are no whole record and are left out`)
    this.totals.fold(name, records)
    this.#folded.set(name, sequence)
  }

  /** Those that are not in the totals, in order. What the totals have is removed: it was about to be. */
  #segments(): Segment[] {
    const found = readdirSync(this.path).flatMap((file): Segment[] => {
      const [, name, sequence] = SEGMENT.exec(file) ?? []
      return name === undefined ? [] : [{ file, name, sequence: Number(sequence) }]
    })
    const isFolded = ({ name, sequence }: Segment) => sequence <= (this.#folded.get(name) ?? 0)
    for (const segment of found) if (isFolded(segment)) this.#remove(segment.file)
    const left = found.filter((segment) => !isFolded(segment))
    const names = new Set(left.map(({ name }) => name))
    // A name is used once: without segments it needs no mark.
    for (const name of this.#folded.keys()) if (!names.has(name)) this.#folded.delete(name)
    return left.toSorted((a, b) => (a.name === b.name ? a.sequence - b.sequence : a.name < b.name ? -1 : 1))
  }

  #remove(file: string): void {
    rmSync(join(this.path, file), { force: true })
  }
}

/** `text` as `file` of `folder`, whole or not at all, also when the power fails. Throws. */
export function writeWhole(folder: string, fresh: string, file: string, text: string): void {
  const fd = openSync(join(folder, fresh), 'w', 0o600)
  try {
    writeSync(fd, text)
    fdatasyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(join(folder, fresh), join(folder, file))
}

/** Null: there is none. Throws where it cannot be read: to begin anew would be a second budget for everybody. */
function readCheckpoint(path: string): Checkpoint | null {
  const file = join(path, CHECKPOINT)
  try {
    const checkpoint = JSON.parse(readFileSync(file, 'utf8')) as Checkpoint
    if (checkpoint.format !== FORMAT)
      throw new Error(`it has format ${checkpoint.format}, this is a program for ${FORMAT}`)
    // What it is made of shows here.
    Totals.from(checkpoint)
    return checkpoint
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    const remedy = 'mend it, or remove it to begin all budgets anew'
    throw new Error(`config.state.path: ${file} cannot be read (${(error as Error).message}): ${remedy}`)
  }
}

/**
 * A socket that listens: the system ends that with the process, however it ends. A file with a process id would outlive
 * it, and in containers all ids are 1.
 */
async function locked(path: string): Promise<Server> {
  const file = join(path, LOCK)
  if (Buffer.byteLength(file) > SOCKET_PATH_MAX)
    throw new Error(`config.state.path: ${path} is too long a path: ${SOCKET_PATH_MAX} bytes with ${LOCK} are the most`)
  for (let tries = 0; tries < 2; tries++) {
    const server = await listening(file)
    if (server !== null) return server
    if (await answers(file)) throw new Error(`config.state.path: ${path} is in use by another process of weir`)
    rmSync(file, { force: true })
  }
  throw new Error(`config.state.path: ${path} is in use by another process of weir`)
}

/** Null: there is such a file. */
function listening(file: string): Promise<Server | null> {
  return new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', (error) => (codeOf(error) === 'EADDRINUSE' ? done(null) : fail(error)))
    server.listen(file, () => done(server.unref()))
  })
}

function answers(file: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(file)
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
    socket.once('error', () => done(false))
  })
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code
