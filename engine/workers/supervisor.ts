/**
 * The worker threads, seen from the main thread: started, given every snapshot, replaced when they
 * die or hang, drained and stopped. The main thread itself serves nothing.
 */
import { randomBytes } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { BucketTable } from './bucket-table.ts'
import type { ChildCommand, ChildEvent } from './children/messages.ts'
import type { OpenedBind, ToMain, ToWorker, WorkerData } from './messages.ts'
import { SharedRevocations, SharedState } from './shared.ts'
import { encodeDelta } from './snapshot-delta.ts'
import { heapMbFor, type SpareThread, startThread } from './thread.ts'

/** Wait before a dead worker is replaced: none the first time, then doubling while deaths go on. */
const RESTART_FIRST_MS = 100
const RESTART_MAX_MS = 10_000
/** A worker that has lived this long has recovered. */
const RECOVERED_MS = 60_000
const HEARTBEAT_MS = 1_000
const HANG_WARN_BEATS = 10
const HANG_REPLACE_BEATS = 60
/** For cutting connections and flushing logs; a worker that needs longer hangs. */
const STOP_MAX_MS = 2_000
/** One worker may die by itself while it takes a snapshot; twice is the snapshot's doing. */
const DEATHS_PER_SNAPSHOT = 2

export interface SupervisorOptions {
  readonly count: number
  /** The module that each worker runs. */
  readonly entry: URL
  readonly metricsBytes: number
  readonly logging: Snapshot['process']['logging']
  /** Heap of one worker; a worker that needs more ends, the process does not. Default: heapMbFor(count). */
  readonly heapMb?: number
  /** A thread that has been started already. */
  readonly ahead?: SpareThread | null
  /** A worker starts, with this region for its metrics. */
  readonly onStart: (worker: number, metrics: SharedArrayBuffer) => void
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void
  readonly onSeries: (worker: number, series: unknown) => void
  /** A worker has died; its region is not written any more. */
  readonly onDeath: (worker: number) => void
  /** A worker wants something of a child process. Default: there are none. */
  readonly onChild?: (worker: number, order: ChildCommand) => void
}

/** The outcome of publishing one snapshot. */
export type Published =
  | { readonly ok: true; readonly binds: readonly OpenedBind[] }
  | { readonly ok: false; readonly message: string; readonly code: string | null }

/** One worker, as the admin side shows it. */
export interface WorkerStatus {
  readonly index: number
  readonly isServing: boolean
  readonly isStopped: boolean
  /** ISO time. */
  readonly startedAt: string
  readonly connections: number
}

interface Seat {
  readonly index: number
  thread: Worker
  startedAt: number
  deaths: number
  lastBeats: number
  silentFor: number
  /** Version of the snapshot it serves; 0: none yet. */
  version: number
  /** What its thread was sent last. */
  held: Snapshot | null
  /** Runs while the seat is empty, until the next worker starts. */
  pause: NodeJS.Timeout | null
  drained: boolean
  stopped: boolean
}

interface Waiting {
  readonly snapshot: Snapshot
  readonly missing: Set<number>
  /** Deaths by worker since the snapshot was sent. */
  readonly deaths: Map<number, number>
  readonly done: (outcome: Published) => void
}

export class Supervisor {
  readonly state: SharedState
  readonly #bucketMemory = BucketTable.create()
  readonly #secret: Uint8Array = randomBytes(32)
  readonly #ended = SharedRevocations.create()
  /** The main thread uses no bucket: it counts, and opens the lock of those who died. */
  readonly buckets = new BucketTable(this.#bucketMemory, { owner: -1 })
  restarts = 0
  readonly #options: SupervisorOptions
  readonly #heapMb: number
  #logging: Snapshot['process']['logging']
  readonly #seats: Seat[] = []
  #snapshot: Snapshot | null = null
  #waiting: Waiting | null = null
  #stopping = false
  #onDrained: (() => void) | null = null
  #onStopped: (() => void) | null = null
  readonly #heartbeat: NodeJS.Timeout

  /** Starts the threads at once, all of them in parallel. */
  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#logging = options.logging
    this.#heapMb = options.heapMb ?? heapMbFor(options.count)
    this.state = SharedState.create(options.count)
    for (let index = 0; index < options.count; index++) this.#seats.push(this.#seat(index))
    this.#heartbeat = setInterval(() => this.#checkHeartbeats(), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  get workers(): readonly WorkerStatus[] {
    return this.#seats.map(({ index, version, startedAt, stopped }) => ({
      index,
      isServing: version > 0 && !stopped,
      isStopped: stopped,
      startedAt: new Date(performance.timeOrigin + startedAt).toISOString(),
      connections: this.state.connections(index)
    }))
  }

  get connections(): number {
    return this.#seats.reduce((sum, { index }) => sum + this.state.connections(index), 0)
  }

  /** Puts `snapshot` in force in every worker. One failure fails it: workers then return to the one before. */
  async publish(snapshot: Snapshot): Promise<Published> {
    const before = this.#snapshot
    const outcome = await this.#send(snapshot)
    if (outcome.ok) this.#snapshot = snapshot
    else if (before !== null) await this.#send(before)
    return outcome
  }

  #send(snapshot: Snapshot): Promise<Published> {
    return new Promise((done) => {
      const missing = new Set(this.#seats.map(({ index }) => index))
      this.#waiting = { snapshot, missing, deaths: new Map(), done }
      for (const seat of this.#seats) this.#give(seat, snapshot)
      // A worker that keeps dying gets its chance with the new snapshot now, not when its pause is over.
      for (const seat of this.#seats) if (seat.pause !== null) this.#replace(seat)
    })
  }

  /** Holds for the workers of today and for their successors. */
  setLevel(level: string): void {
    this.#logging = { ...this.#logging, level }
    this.#broadcast({ kind: 'level', level })
  }

  /** What a child process has for a worker; a worker that has died needs it no more. */
  report(worker: number, report: ChildEvent): void {
    this.#seats[worker]?.thread.postMessage(report satisfies ToWorker)
  }

  /** Workers go on, and tell their clients that the end is near. */
  leave(): void {
    this.state.setDraining()
    this.#broadcast({ kind: 'leave' })
  }

  /** Workers stop accepting and finish what they have. Resolves when no connection is left. */
  drain(): Promise<void> {
    this.#stopping = true
    this.state.setDraining()
    return new Promise((resolve) => {
      this.#onDrained = resolve
      this.#broadcast({ kind: 'drain' })
      this.#empty()
    })
  }

  /** Cuts what is left. Resolves when every worker has flushed and gone; one that does not answer is ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#heartbeat)
    const overdue = setTimeout(() => {
      for (const { index, stopped } of this.#seats) if (!stopped) this.terminate(index)
    }, STOP_MAX_MS)
    await new Promise<void>((resolve) => {
      this.#onStopped = resolve
      this.#broadcast({ kind: 'stop' })
      this.#empty()
    })
    clearTimeout(overdue)
  }

  /** Ends a worker at once, whatever it does; its 'exit' event brings the replacement. */
  terminate(worker: number): void {
    // Resolves with an exit code that the 'exit' event also has.
    this.#seats[worker]?.thread.terminate().catch(() => undefined)
  }

  #give(seat: Seat, snapshot: Snapshot): void {
    const message: ToWorker = { kind: 'snapshot', snapshot: encodeDelta(seat.held, snapshot) }
    seat.thread.postMessage(message)
    seat.held = snapshot
  }

  #broadcast(message: ToWorker): void {
    for (const seat of this.#seats) seat.thread.postMessage(message)
  }

  #seat(index: number): Seat {
    const seat: Seat = {
      index,
      thread: this.#start(index),
      startedAt: performance.now(),
      deaths: 0,
      lastBeats: 0,
      silentFor: 0,
      version: 0,
      held: null,
      pause: null,
      drained: false,
      stopped: false
    }
    this.#listen(seat)
    return seat
  }

  #start(index: number): Worker {
    const { entry, ahead, metricsBytes, onStart } = this.#options
    const metrics = new SharedArrayBuffer(metricsBytes)
    onStart(index, metrics)
    const data: WorkerData = {
      worker: index,
      workers: this.#options.count,
      state: this.state.buffer,
      buckets: this.#bucketMemory,
      metrics,
      logging: this.#logging,
      secret: this.#secret,
      ended: this.#ended
    }
    const thread = ahead?.take(this.#heapMb) ?? startThread(entry, this.#heapMb)
    thread.postMessage({ kind: 'begin', data } satisfies ToWorker)
    return thread
  }

  #listen(seat: Seat): void {
    const { thread } = seat
    let reason = 'it exited'
    thread.on('message', (message: ToMain) => this.#onMessage(seat, message))
    thread.on('error', (error: unknown) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    thread.on('exit', () => this.#onExit(seat, thread, reason))
  }

  #onMessage(seat: Seat, message: ToMain): void {
    if (message.kind === 'child') this.#options.onChild?.(seat.index, message)
    else if (message.kind === 'series') this.#options.onSeries(seat.index, message.series)
    else if (message.kind === 'drained') this.#markDrained(seat)
    // It has flushed; its 'exit' event says that it is gone.
    else if (message.kind === 'stopped') this.terminate(seat.index)
    else this.#onAnswer(seat, message)
  }

  #onAnswer(seat: Seat, message: ToMain & { kind: 'serving' | 'failed' }): void {
    if (message.kind === 'serving') seat.version = message.version
    const waiting = this.#waiting
    if (waiting === null || waiting.snapshot.version !== message.version) return
    if (message.kind === 'failed') {
      this.#answer({ ok: false, message: message.message, code: message.code })
      return
    }
    waiting.missing.delete(seat.index)
    if (waiting.missing.size === 0) this.#answer({ ok: true, binds: message.binds })
  }

  #answer(outcome: Published): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.done(outcome)
  }

  // --- death and replacement ---

  #onExit(seat: Seat, thread: Worker, reason: string): void {
    if (thread !== seat.thread) return
    this.state.setConnections(seat.index, 0)
    this.buckets.release(seat.index)
    if (this.#stopping) {
      this.#markStopped(seat)
      return
    }
    if (performance.now() - seat.startedAt > RECOVERED_MS) seat.deaths = 0
    seat.deaths++
    seat.version = 0
    this.restarts++
    const pauseMs = seat.deaths === 1 ? 0 : Math.min(RESTART_FIRST_MS * 2 ** (seat.deaths - 2), RESTART_MAX_MS)
    this.#options.log('error', `worker ${seat.index} died and is replaced in ${pauseMs} ms: ${reason}`)
    this.#options.onDeath(seat.index)
    seat.pause = setTimeout(() => this.#replace(seat), pauseMs)
    this.#blameSnapshot(seat, reason)
  }

  /** A snapshot that kills its workers must not be waited for without end. */
  #blameSnapshot({ index }: Seat, reason: string): void {
    const waiting = this.#waiting
    if (waiting === null || !waiting.missing.has(index)) return
    const deaths = (waiting.deaths.get(index) ?? 0) + 1
    waiting.deaths.set(index, deaths)
    if (deaths < DEATHS_PER_SNAPSHOT) return
    this.#answer({ ok: false, message: `worker ${index} died of it ${deaths} times: ${reason}`, code: null })
  }

  #replace(seat: Seat): void {
    if (seat.pause !== null) clearTimeout(seat.pause)
    seat.pause = null
    seat.thread = this.#start(seat.index)
    seat.held = null
    seat.startedAt = performance.now()
    seat.silentFor = 0
    this.#listen(seat)
    const snapshot = this.#waiting?.snapshot ?? this.#snapshot
    if (snapshot !== null) this.#give(seat, snapshot)
  }

  #checkHeartbeats(): void {
    for (const seat of this.#seats) {
      const beats = this.state.beats(seat.index)
      seat.silentFor = beats === seat.lastBeats && seat.pause === null ? seat.silentFor + 1 : 0
      seat.lastBeats = beats
      const { index, silentFor } = seat
      if (silentFor === HANG_WARN_BEATS) {
        this.#options.log('warn', `worker ${index} has not turned its event loop for ${silentFor} s`)
      } else if (silentFor === HANG_REPLACE_BEATS) {
        this.#options.log('error', `worker ${index} has not turned its event loop for ${silentFor} s: it is ended`)
        this.terminate(index)
      }
    }
  }

  // --- the end ---

  /** Seats between two workers have nothing to drain or stop. */
  #empty(): void {
    for (const seat of this.#seats) {
      if (seat.pause === null) continue
      clearTimeout(seat.pause)
      seat.pause = null
      this.#markStopped(seat)
    }
    this.#checkEnd()
  }

  #markDrained(seat: Seat): void {
    seat.drained = true
    this.#checkEnd()
  }

  #markStopped(seat: Seat): void {
    seat.stopped = true
    this.#markDrained(seat)
  }

  #checkEnd(): void {
    if (this.#seats.every(({ drained }) => drained)) this.#onDrained?.()
    if (this.#seats.every(({ stopped }) => stopped)) this.#onStopped?.()
  }
}
