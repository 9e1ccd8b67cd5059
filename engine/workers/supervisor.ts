/**
 * The worker threads, seen from the main thread: started, given every snapshot, replaced when they
 * die or hang, drained and stopped. The main thread itself serves nothing.
 */
import { randomBytes } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import type { HostListChanges, MeshCredentials } from '#engine/contract/endpoint.ts'
import type { Places } from '#engine/ir/places.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { encodeDelta } from '#engine/ir/snapshot-delta.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import type { Batch } from '#engine/spend/recorder.ts'
import type { Story } from '#engine/story/story.ts'
import { HostLists } from '#engine/upstream/host-lists.ts'
import { ArmedTraces } from './armed-traces.ts'
import { BucketTable } from './bucket-table.ts'
import type { ChildCommand } from './children/messages.ts'
import { EndpointReports } from './endpoint-reports.ts'
import type { OpenedBind, ToMain, ToWorker, WorkerAccounts, WorkerData } from './messages.ts'
import { SharedRevocations, SharedState } from './shared.ts'
import { heapMbFor, type SpareThread, startThread } from './thread.ts'
import { type WorkerSlot, workerSlot } from './worker-slot.ts'
import type { WorkerStatus } from './worker-status.ts'

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
  /** A worker has to send the metrics of all of them: `sendMetrics` gives it those. Default: none does. */
  readonly onMetrics?: () => void
  /** A worker has died; its region is not written any more. */
  readonly onDeath: (worker: number) => void
  /** A worker wants something of a child process. Default: there are none. */
  readonly onChild?: (worker: number, order: ChildCommand) => void
  readonly onStory?: (story: Story) => void
  readonly onSpend?: (worker: number, batch: Batch) => void
  /** What a worker that starts has to know of accounts. */
  readonly accountsFor: (worker: number) => WorkerAccounts
}

/** The outcome of publishing one snapshot. */
export type Published =
  | { readonly ok: true; readonly binds: readonly OpenedBind[] }
  | { readonly ok: false; readonly message: string; readonly code: string | null }

interface Waiting {
  readonly snapshot: Snapshot
  readonly missing: Set<number>
  /** Deaths by worker since the snapshot was sent. */
  readonly deaths: Map<number, number>
  readonly done: (outcome: Published) => void
}

export class Supervisor {
  readonly state: SharedState
  readonly traces: ArmedTraces
  readonly #bucketMemory = BucketTable.create()
  readonly #secret: Uint8Array = randomBytes(32)
  readonly #ended = SharedRevocations.create()
  readonly #addresses = SharedRows.create()
  /** The main thread uses no bucket: it counts, and opens the lock of those who died. */
  readonly buckets = new BucketTable(this.#bucketMemory, { owner: -1 })
  /** What workers know of the addresses of backends. */
  readonly reports = new EndpointReports(() => {
    this.broadcast({ kind: 'report' })
    return this.#slots.filter(({ version, stopped }) => version > 0 && !stopped).map(({ index }) => index)
  })
  restarts = 0
  readonly #options: SupervisorOptions
  readonly #heapMb: number
  #logging: Snapshot['process']['logging']
  readonly #slots: WorkerSlot[] = []
  #snapshot: Snapshot | null = null
  readonly #places = new WeakMap<Snapshot, Places>()
  /** Null: all names are for DNS. */
  #lists: HostLists | null = null
  /** Null: no authority of a mesh is asked. */
  #mesh: MeshCredentials | null = null
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
    this.traces = ArmedTraces.create(options.count)
    for (let index = 0; index < options.count; index++) this.#slots.push(this.#slot(index))
    this.#heartbeat = setInterval(() => this.#checkHeartbeats(), HEARTBEAT_MS)
    this.#heartbeat.unref()
  }

  get workers(): readonly WorkerStatus[] {
    return this.#slots.map(({ index, version, startedAt, stopped }) => ({
      index,
      isServing: version > 0 && !stopped,
      isStopped: stopped,
      startedAt: new Date(performance.timeOrigin + startedAt).toISOString(),
      connections: this.state.connections(index)
    }))
  }

  get connections(): number {
    return this.#slots.reduce((sum, { index }) => sum + this.state.connections(index), 0)
  }

  /** Puts `snapshot` in force in every worker. One failure fails it: workers then return to the one before. */
  async publish(snapshot: Snapshot, places: Places | null = null): Promise<Published> {
    if (places !== null) this.#places.set(snapshot, places)
    const before = this.#snapshot
    const outcome = await this.#send(snapshot)
    if (outcome.ok) this.#snapshot = snapshot
    else if (before !== null) await this.#send(before)
    return outcome
  }

  #send(snapshot: Snapshot): Promise<Published> {
    return new Promise((done) => {
      const missing = new Set(this.#slots.map(({ index }) => index))
      this.#waiting = { snapshot, missing, deaths: new Map(), done }
      for (const slot of this.#slots) this.#give(slot, snapshot)
      // A worker that keeps dying gets its chance with the new snapshot now, not when its pause is over.
      for (const slot of this.#slots) if (slot.pause !== null) this.#replace(slot)
    })
  }

  /** Hosts that are known without DNS: in force at once. Workers need the first ones before the first snapshot. */
  setHosts(changes: HostListChanges): void {
    this.#lists ??= new HostLists()
    this.#lists.change(changes)
    this.broadcast({ kind: 'hosts', changes })
  }

  /** For connections to workloads of a mesh from now on. */
  setMesh(credentials: MeshCredentials): void {
    this.#mesh = credentials
    this.broadcast({ kind: 'mesh', credentials })
  }

  /** Those that are known without DNS now. */
  get hosts(): HostLists['all'] {
    return this.#lists?.all ?? {}
  }

  /** Holds for the workers of today and for their successors. */
  setLevel(level: string): void {
    this.#logging = { ...this.#logging, level }
    this.broadcast({ kind: 'level', level })
  }

  /** For one worker; one that has died needs it no more. */
  tell(worker: number, message: ToWorker): void {
    this.#slots[worker]?.thread.postMessage(message)
  }

  /** Has one worker send the metrics of all, if its configuration says so. */
  sendMetrics(chunks: unknown): void {
    this.tell(this.#metricsSender, { kind: 'metrics', chunks })
  }

  /** The first that serves; -1: none does. */
  get #metricsSender(): number {
    return this.#slots.findIndex(({ version, stopped }) => version > 0 && !stopped)
  }

  /** Workers go on, and tell their clients that the end is near. */
  leave(): void {
    this.state.setDraining()
    this.broadcast({ kind: 'leave' })
  }

  /** Workers stop accepting and finish what they have. Resolves when no connection is left. */
  drain(): Promise<void> {
    this.#stopping = true
    this.state.setDraining()
    return new Promise((resolve) => {
      this.#onDrained = resolve
      this.broadcast({ kind: 'drain' })
      this.#empty()
    })
  }

  /** Cuts what is left. Resolves when every worker has flushed and gone; one that does not answer is ended. */
  async stop(): Promise<void> {
    this.#stopping = true
    clearInterval(this.#heartbeat)
    const overdue = setTimeout(() => {
      for (const { index, stopped } of this.#slots) if (!stopped) this.terminate(index)
    }, STOP_MAX_MS)
    await new Promise<void>((resolve) => {
      this.#onStopped = resolve
      this.broadcast({ kind: 'stop' })
      this.#empty()
    })
    clearTimeout(overdue)
  }

  /** Ends a worker at once, whatever it does; its 'exit' event brings the replacement. */
  terminate(worker: number): void {
    // Resolves with an exit code that the 'exit' event also has.
    this.#slots[worker]?.thread.terminate().catch(() => undefined)
  }

  #give(slot: WorkerSlot, snapshot: Snapshot): void {
    const places = this.#places.get(snapshot)?.shared ?? null
    this.tell(slot.index, { kind: 'snapshot', snapshot: encodeDelta(slot.lastSent, snapshot), places })
    slot.lastSent = snapshot
  }

  broadcast(message: ToWorker): void {
    for (const slot of this.#slots) slot.thread.postMessage(message)
  }

  #slot(index: number): WorkerSlot {
    const slot = workerSlot(index, this.#start(index))
    this.#listen(slot)
    return slot
  }

  #start(index: number): Worker {
    const { entry, ahead, metricsBytes, onStart, accountsFor, onSpend } = this.#options
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
      ended: this.#ended,
      addresses: this.#addresses,
      accounts: accountsFor(index),
      keepsSpend: onSpend !== undefined,
      traces: this.traces.shared
    }
    const thread = ahead?.take(this.#heapMb) ?? startThread(entry, this.#heapMb)
    thread.postMessage({ kind: 'begin', data } satisfies ToWorker)
    if (this.#lists !== null) thread.postMessage({ kind: 'hosts', changes: this.#lists.all } satisfies ToWorker)
    if (this.#mesh !== null) thread.postMessage({ kind: 'mesh', credentials: this.#mesh } satisfies ToWorker)
    return thread
  }

  #listen(slot: WorkerSlot): void {
    const { thread } = slot
    let reason = 'it exited'
    thread.on('message', (message: ToMain) => this.#onMessage(slot, message))
    thread.on('error', (error: unknown) => {
      reason = error instanceof Error ? (error.stack ?? error.message) : String(error)
    })
    thread.on('exit', () => this.#onExit(slot, thread, reason))
  }

  #onMessage(slot: WorkerSlot, message: ToMain): void {
    if (message.kind === 'child') this.#options.onChild?.(slot.index, message)
    else if (message.kind === 'story') this.#options.onStory?.(message.story)
    else if (message.kind === 'spend') this.#options.onSpend?.(slot.index, message.batch)
    else if (message.kind === 'series') this.#options.onSeries(slot.index, message.series)
    else if (message.kind === 'askMetrics') {
      if (slot.index === this.#metricsSender) this.#options.onMetrics?.()
    } else if (message.kind === 'endpoints') this.reports.take(slot.index, message.endpoints)
    else if (message.kind === 'drained') this.#markDrained(slot)
    // It has flushed; its 'exit' event says that it is gone.
    else if (message.kind === 'stopped') this.terminate(slot.index)
    else this.#onAnswer(slot, message)
  }

  #onAnswer(slot: WorkerSlot, message: ToMain & { kind: 'serving' | 'failed' }): void {
    if (message.kind === 'serving') slot.version = message.version
    const waiting = this.#waiting
    if (waiting === null || waiting.snapshot.version !== message.version) return
    if (message.kind === 'failed') {
      this.#answer({ ok: false, message: message.message, code: message.code })
      return
    }
    waiting.missing.delete(slot.index)
    if (waiting.missing.size === 0) this.#answer({ ok: true, binds: message.binds })
  }

  #answer(outcome: Published): void {
    const waiting = this.#waiting
    this.#waiting = null
    waiting?.done(outcome)
  }

  // --- death and replacement ---

  #onExit(slot: WorkerSlot, thread: Worker, reason: string): void {
    if (thread !== slot.thread) return
    this.state.setConnections(slot.index, 0)
    this.buckets.release(slot.index)
    this.state.addDeath(slot.index)
    if (this.#stopping) {
      this.#markStopped(slot)
      return
    }
    if (performance.now() - slot.startedAt > RECOVERED_MS) slot.deaths = 0
    slot.deaths++
    slot.version = 0
    this.restarts++
    const pauseMs = slot.deaths === 1 ? 0 : Math.min(RESTART_FIRST_MS * 2 ** (slot.deaths - 2), RESTART_MAX_MS)
    this.#options.log('error', `worker ${slot.index} died and is replaced in ${pauseMs} ms: ${reason}`)
    this.#options.onDeath(slot.index)
    slot.pause = setTimeout(() => this.#replace(slot), pauseMs)
    this.#blameSnapshot(slot, reason)
  }

  /** A snapshot that kills its workers must not be waited for without end. */
  #blameSnapshot({ index }: WorkerSlot, reason: string): void {
    const waiting = this.#waiting
    if (waiting === null || !waiting.missing.has(index)) return
    const deaths = (waiting.deaths.get(index) ?? 0) + 1
    waiting.deaths.set(index, deaths)
    if (deaths < DEATHS_PER_SNAPSHOT) return
    this.#answer({ ok: false, message: `worker ${index} died of it ${deaths} times: ${reason}`, code: null })
  }

  #replace(slot: WorkerSlot): void {
    if (slot.pause !== null) clearTimeout(slot.pause)
    slot.pause = null
    slot.thread = this.#start(slot.index)
    slot.lastSent = null
    slot.startedAt = performance.now()
    slot.silentFor = 0
    this.#listen(slot)
    const snapshot = this.#waiting?.snapshot ?? this.#snapshot
    if (snapshot !== null) this.#give(slot, snapshot)
  }

  #checkHeartbeats(): void {
    for (const slot of this.#slots) {
      const beats = this.state.beats(slot.index)
      slot.silentFor = beats === slot.lastBeats && slot.pause === null ? slot.silentFor + 1 : 0
      slot.lastBeats = beats
      const { index, silentFor } = slot
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
    for (const slot of this.#slots) {
      if (slot.pause === null) continue
      clearTimeout(slot.pause)
      slot.pause = null
      this.#markStopped(slot)
    }
    this.#checkEnd()
  }

  #markDrained(slot: WorkerSlot): void {
    slot.drained = true
    this.#checkEnd()
  }

  #markStopped(slot: WorkerSlot): void {
    slot.stopped = true
    this.#markDrained(slot)
  }

  #checkEnd(): void {
    if (this.#slots.every(({ drained }) => drained)) this.#onDrained?.()
    if (this.#slots.every(({ stopped }) => stopped)) this.#onStopped?.()
  }
}
