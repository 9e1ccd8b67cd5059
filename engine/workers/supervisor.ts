/**
 * The worker threads, seen from the main thread: started, given every snapshot, replaced when they
 * die or hang, drained and stopped. The main thread itself serves nothing.
 */
import { Worker } from 'node:worker_threads'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { OpenedBind, ToMain, ToWorker, WorkerData } from './messages.ts'
import { SharedState } from './shared.ts'

/** Wait before a dead worker is replaced: none the first time, then doubling while deaths go on. */
const RESTART_FIRST_MS = 100
const RESTART_MAX_MS = 10_000
/** A worker that has lived this long has recovered. */
const RECOVERED_MS = 60_000
const HEARTBEAT_MS = 1_000
const HANG_WARN_BEATS = 10
const HANG_REPLACE_BEATS = 60

export interface SupervisorOptions {
  readonly count: number
  /** The module that each worker runs. */
  readonly entry: URL
  readonly metricsBytes: number
  readonly logging: Snapshot['process']['logging']
  /** A worker starts, with this region for its metrics. */
  readonly onStart: (worker: number, metrics: SharedArrayBuffer) => void
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void
  readonly onSeries: (worker: number, series: unknown) => void
  /** A worker has died; its region is not written any more. */
  readonly onDeath: (worker: number) => void
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
  stopped: boolean
}

interface Waiting {
  readonly version: number
  readonly missing: Set<number>
  readonly done: (outcome: Published) => void
}

export class Supervisor {
  readonly state: SharedState
  restarts = 0
  readonly #options: SupervisorOptions
  readonly #seats: Seat[] = []
  #snapshot: Snapshot | null = null
  #waiting: Waiting | null = null
  #stopping = false
  #onStopped: (() => void) | null = null
  readonly #heartbeat: NodeJS.Timeout

  /** Starts the threads at once: they load while the configuration is still being read. */
  constructor(options: SupervisorOptions) {
    this.#options = options
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
      this.#waiting = { version: snapshot.version, missing: new Set(this.#seats.map(({ index }) => index)), done }
      this.#broadcast({ kind: 'snapshot', snapshot })
    })
  }

  setLevel(level: string): void {
    this.#broadcast({ kind: 'level', level })
  }

  /** Workers stop accepting and finish what they have. */
  drain(): void {
    this.#stopping = true
    this.state.setDraining()
    this.#broadcast({ kind: 'drain' })
  }

  /** Cuts what is left. Resolves when every worker has flushed and gone. */
  stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#heartbeat)
    return new Promise((resolve) => {
      this.#onStopped = resolve
      this.#broadcast({ kind: 'stop' })
      this.#checkStopped()
    })
  }

  /** Ends a worker at once, whatever it does; its 'exit' event brings the replacement. */
  terminate(worker: number): void {
    // Resolves with an exit code that the 'exit' event also has.
    this.#seats[worker]?.thread.terminate().catch(() => undefined)
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
      stopped: false
    }
    this.#listen(seat)
    return seat
  }

  #start(index: number): Worker {
    const { entry, metricsBytes, logging, onStart } = this.#options
    const metrics = new SharedArrayBuffer(metricsBytes)
    onStart(index, metrics)
    const workerData: WorkerData = { worker: index, state: this.state.buffer, metrics, logging }
    return new Worker(entry, { workerData, name: `weir-worker-${index}` })
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
    if (message.kind === 'series') this.#options.onSeries(seat.index, message.series)
    else if (message.kind === 'stopped') this.#markStopped(seat)
    else this.#onAnswer(seat, message)
  }

  #onAnswer(seat: Seat, message: ToMain & { kind: 'serving' | 'failed' }): void {
    if (message.kind === 'serving') seat.version = message.version
    const waiting = this.#waiting
    if (waiting === null || waiting.version !== message.version) return
    if (message.kind === 'failed') {
      this.#waiting = null
      waiting.done({ ok: false, message: message.message, code: message.code })
      return
    }
    waiting.missing.delete(seat.index)
    if (waiting.missing.size > 0) return
    this.#waiting = null
    waiting.done({ ok: true, binds: message.binds })
  }

  // --- death and replacement ---

  #onExit(seat: Seat, thread: Worker, reason: string): void {
    if (thread !== seat.thread) return
    this.state.setConnections(seat.index, 0)
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
    this.#failWaiting(seat)
    setTimeout(() => this.#replace(seat), pauseMs)
  }

  /** A worker that dies before it has answered may have died of the configuration: it is not put in force. */
  #failWaiting(seat: Seat): void {
    const waiting = this.#waiting
    if (waiting === null || !waiting.missing.has(seat.index)) return
    this.#waiting = null
    waiting.done({ ok: false, message: `worker ${seat.index} died while taking the configuration`, code: null })
  }

  #replace(seat: Seat): void {
    if (this.#stopping) {
      this.#markStopped(seat)
      return
    }
    seat.thread = this.#start(seat.index)
    seat.startedAt = performance.now()
    seat.silentFor = 0
    this.#listen(seat)
    if (this.#snapshot !== null) seat.thread.postMessage({ kind: 'snapshot', snapshot: this.#snapshot })
  }

  #checkHeartbeats(): void {
    for (const seat of this.#seats) {
      const beats = this.state.beats(seat.index)
      seat.silentFor = beats === seat.lastBeats && seat.version > 0 ? seat.silentFor + 1 : 0
      seat.lastBeats = beats
      if (seat.silentFor === HANG_WARN_BEATS) {
        this.#options.log('warn', `worker ${seat.index} has not turned its event loop for ${HANG_WARN_BEATS} s`)
      } else if (seat.silentFor === HANG_REPLACE_BEATS) {
        this.terminate(seat.index)
      }
    }
  }

  #markStopped(seat: Seat): void {
    seat.stopped = true
    this.#checkStopped()
  }

  #checkStopped(): void {
    if (this.#onStopped === null || this.#seats.some(({ stopped }) => !stopped)) return
    const resolve = this.#onStopped
    this.#onStopped = null
    resolve()
  }
}
