/**
 * One worker thread: its own listeners, Runtime and upstream connections. It gets snapshots and
 * orders from the main thread and shares nothing else with the other workers but SharedState.
 */

import type { AccountChanges } from '#engine/accounts/rows.ts'
import { lookAtUnsent, useHeldBytes } from '#engine/contract/held-bytes.ts'
import { guardOutbound } from '#engine/contract/outbound.ts'
import type { Recorder, Router } from '#engine/contract/route.ts'
import type { DownstreamObserver, OpenBind } from '#engine/downstream/bind.ts'
import { ConnectionLimiter, clientsMax, type Evicted } from '#engine/downstream/connection-limiter.ts'
import { openBind } from '#engine/downstream/listen.ts'
import { type Llhttp, llhttp } from '#engine/http/llhttp.ts'
import { Places } from '#engine/ir/places.ts'
import { frontendOf } from '#engine/ir/plain.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { applyDelta } from '#engine/ir/snapshot-delta.ts'
import type { SharedRows } from '#engine/kit/shared-rows.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { Lifecycle } from '#engine/lifecycle/lifecycle.ts'
import type { RetryObserver } from '#engine/lifecycle/retries.ts'
import { portOf } from '#engine/schema/net.ts'
import { openSockets } from '#engine/socket/open-sockets.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import { TimerWheel } from '#engine/socket/timer-wheel.ts'
import { Follower } from '#engine/story/follower.ts'
import type { Story } from '#engine/story/story.ts'
import { createUpstream, type Upstream } from '#engine/upstream/client.ts'
import { HostLists } from '#engine/upstream/host-lists.ts'
import { localGuard } from '#engine/upstream/local-guard.ts'
import { MeshTls } from '#engine/upstream/mesh.ts'
import type { UpstreamObserver } from '#engine/upstream/shared.ts'
import type { WorkerPlace } from '#engine/upstream/thresholds.ts'
import type { ArmedTraces } from './armed-traces.ts'
import type { ChildEvent } from './children/messages.ts'
import { WorkerHeldBytes } from './held-bytes.ts'
import type { OpenedBind, ToMain, ToWorker } from './messages.ts'
import { Reclaim } from './reclaim.ts'
import type { SharedState } from './shared.ts'

/** How often the worker shows that its event loop turns, and samples its gauges. */
const BEAT_MS = 500
/** While draining, the main thread waits for the last connection to end. */
const DRAIN_BEAT_MS = 20

/** What a worker is made of beyond the engine: given by main.ts, which knows policies and backends. */
export interface WorkerParts {
  readonly worker: number
  readonly state: SharedState
  /** What all workers know of the addresses of backends. */
  readonly rows: SharedRows
  /** 32 random bytes of the process. */
  readonly secret: Uint8Array
  /** Which requests are followed. */
  readonly traces: ArmedTraces
  readonly post: (message: ToMain) => void
  readonly telemetry: WorkerTelemetry
  /** Snapshot -> Runtime. Throws an Error that says what does not fit. */
  readonly build: (snapshot: Snapshot, upstream: Upstream, lifecycle: Lifecycle, places: Places | null) => Router
  /** Takes changes of accounts, and ends what it writes. */
  readonly accounts: { change(changes: AccountChanges): void; close(): Promise<void> }
  /** Takes what child processes say. */
  readonly children: { receive(report: ChildEvent): void }
}

/** The observability of one worker, as this file uses it. */
export interface WorkerTelemetry {
  readonly unrouted: Recorder
  readonly downstream: DownstreamObserver
  evicted(what: Evicted): void
  readonly upstream: UpstreamObserver & RetryObserver
  setLevel(level: string): void
  /** Called every BEAT_MS. */
  sample(counts: { idle: number; busy: number; heldBytes: number; heldRefused: number }): void
  /** The metrics of all workers have come, for this one to send. */
  takeMetrics(chunks: unknown): void
  spendTaken(outcome: { readonly count: number; readonly kept: number }): void
  flush(): Promise<void>
}

function placeOf({ worker: index, state }: WorkerParts): WorkerPlace {
  return { index, count: state.workers, deaths: (worker) => state.deaths(worker) }
}

export class WorkerThread {
  #runtime: Router = { route: () => 'LISTENER_NOT_FOUND' }
  #binds = new Map<number, OpenBind>()
  /** Closed by a reload; their last exchanges still run. */
  readonly #retired = new Set<OpenBind>()
  #served: Snapshot | null = null
  /** The last that was sent, put in force or not: the next one is packed for it. */
  #sent: Snapshot | null = null
  #lifecycle: Lifecycle | null = null
  #upstream: Upstream | null = null
  #limiter: ConnectionLimiter | null = null
  #heldBytes: WorkerHeldBytes | null = null
  #lists: HostLists | null = null
  readonly #mesh = new MeshTls()
  readonly #reclaim = new Reclaim()
  /** Snapshots are taken one after the other, however fast they come. */
  #queue: Promise<void> = Promise.resolve()
  readonly #parser: Llhttp = llhttp()
  readonly #sockets: SocketLayer = openSockets(this.#parser.memory)
  readonly #timers = new TimerWheel()
  readonly #parts: WorkerParts
  readonly #follower: Follower
  #beat: NodeJS.Timeout
  #draining = false

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const { traces: tokens, telemetry, post } = parts
    const tell = (story: Story) => post({ kind: 'story', story })
    this.#follower = new Follower(this.#runtime, { tokens, tell, unrouted: telemetry.unrouted })
    this.#beat = setInterval(() => this.#showLife(), BEAT_MS)
  }

  receive(message: Exclude<ToWorker, { kind: 'begin' }>): void {
    if (message.kind === 'snapshot') {
      const snapshot = applyDelta(this.#sent, message.snapshot)
      this.#sent = snapshot
      const places = message.places == null ? null : new Places(message.places)
      this.#queue = this.#queue.then(() => this.#take(snapshot, places))
    } else if (message.kind === 'hosts') this.#hostLists().change(message.changes)
    else if (message.kind === 'mesh') this.#mesh.set(message.credentials)
    else if (message.kind === 'child') this.#parts.children.receive(message)
    else if (message.kind === 'accounts') this.#parts.accounts.change(message.changes)
    else if (message.kind === 'metrics') this.#parts.telemetry.takeMetrics(message.chunks)
    else if (message.kind === 'spendTaken') this.#parts.telemetry.spendTaken(message)
    else if (message.kind === 'level') this.#parts.telemetry.setLevel(message.level)
    else if (message.kind === 'report')
      this.#parts.post({ kind: 'endpoints', endpoints: this.#upstream?.report() ?? [] })
    else if (message.kind === 'armed') this.#lookAtTraces()
    else if (message.kind === 'leave') this.#leave()
    else if (message.kind === 'drain') this.#drain()
    else this.#stop().catch((error: unknown) => this.#panic(error))
  }

  // --- configuration ---

  async #take(snapshot: Snapshot, places: Places | null): Promise<void> {
    // A draining worker opens nothing any more, and its answer is not awaited.
    if (this.#draining) return
    const opened = new Map<number, OpenBind>()
    try {
      const lifecycle = this.#start(snapshot)
      const runtime = this.#parts.build(snapshot, this.#upstream!, lifecycle, places)
      const kept: (() => void)[] = []
      for (const bind of snapshot.binds) {
        const frontend = frontendOf(snapshot.frontend, bind)
        if (this.#keeps(bind.port, snapshot)) kept.push(this.#binds.get(bind.port)!.prepare(frontend, bind))
        else opened.set(bind.port, await this.#open(snapshot, bind.port, lifecycle))
      }
      for (const apply of kept) apply()
      this.#putInForce(snapshot, runtime, opened)
    } catch (error) {
      for (const bind of opened.values()) bind.stopAccepting()
      const { message, code } = error as NodeJS.ErrnoException
      this.#parts.post({ kind: 'failed', version: snapshot.version, message, code: code ?? null })
    }
  }

  /** What lives as long as the worker, made with the first snapshot: process settings do not reload. */
  #start(snapshot: Snapshot): Lifecycle {
    if (this.#lifecycle !== null) return this.#lifecycle
    const { telemetry } = this.#parts
    const { upstream, adminAddr, statsAddr, readinessAddr } = snapshot.process
    const { localAddresses } = upstream
    const ports = [adminAddr, statsAddr, readinessAddr].flatMap((address) => portOf(address) ?? [])
    const mayDial = localAddresses === undefined ? null : localGuard(localAddresses, new Set(ports))
    guardOutbound(mayDial)
    const lifecycle = new Lifecycle({
      router: () => this.#follower.router,
      unrouted: telemetry.unrouted,
      timers: this.#timers,
      onBroken: (error) => this.#panic(error),
      retries: telemetry.upstream
    })
    this.#lifecycle = lifecycle
    this.#heldBytes = new WorkerHeldBytes(this.#parts.state, this.#parts.worker, snapshot.process.bufferedBytesMax)
    useHeldBytes(this.#heldBytes)
    this.#limiter = new ConnectionLimiter(clientsMax(snapshot.process.workerThreads), telemetry.evicted)
    this.#upstream = createUpstream({
      sockets: this.#sockets,
      mesh: this.#mesh,
      llhttp: this.#parser,
      timers: this.#timers,
      events: lifecycle,
      idleTimeoutMs: upstream.poolIdleTimeoutMs,
      poolMax: upstream.poolMaxSize,
      requestsPerConnectionMax: upstream.requestsPerConnectionMax,
      mayDial,
      observer: telemetry.upstream,
      rows: this.#parts.rows,
      lists: this.#lists,
      worker: placeOf(this.#parts)
    })
    this.#upstream.checkBy(inProcess({ events: lifecycle, upstream: this.#upstream, timers: this.#timers }))
    return lifecycle
  }

  #hostLists(): HostLists {
    this.#lists ??= new HostLists()
    return this.#lists
  }

  /** An open bind keeps its socket unless its transport changes. */
  #keeps(port: number, snapshot: Snapshot): boolean {
    const transport = (of: Snapshot | null) => of?.binds.find((bind) => bind.port === port)?.transport
    return this.#binds.has(port) && transport(this.#served) === transport(snapshot)
  }

  async #open(snapshot: Snapshot, port: number, lifecycle: Lifecycle): Promise<OpenBind> {
    const bind = snapshot.binds.find((candidate) => candidate.port === port)!
    return await openBind(bind, {
      events: lifecycle,
      llhttp: this.#parser,
      sockets: this.#sockets,
      timers: this.#timers,
      frontend: frontendOf(snapshot.frontend, bind),
      observer: this.#parts.telemetry.downstream,
      limiter: this.#limiter!,
      secret: this.#parts.secret,
      tcp: () => this.#runtime.tcp,
      isLeaving: this.#parts.state.draining
    })
  }

  /** The swap: from here on new exchanges run by `snapshot`; those under way keep their route. */
  #putInForce(snapshot: Snapshot, runtime: Router, opened: ReadonlyMap<number, OpenBind>): void {
    const before = this.#runtime
    this.#runtime = runtime
    this.#follower.replace(runtime)
    const [ended, begun] = [new Set(before.background), new Set(runtime.background)]
    // What both have goes on.
    for (const work of begun) if (!ended.has(work)) work.begin()
    for (const work of ended) if (!begun.has(work)) work.end()
    this.#served = snapshot
    const wanted = new Set(snapshot.binds.map((bind) => bind.port))
    for (const [port, bind] of this.#binds) {
      if (!wanted.has(port) || opened.has(port)) this.#retire(port, bind)
    }
    for (const [port, bind] of opened) this.#binds.set(port, bind)
    const binds: OpenedBind[] = [...this.#binds.values()].map(({ port, transport, detail }) => ({
      port,
      transport,
      detail
    }))
    this.#parts.post({ kind: 'serving', version: snapshot.version, binds })
  }

  /** A bind that the configuration no longer has: its connections end with their current exchange. */
  #retire(port: number, bind: OpenBind): void {
    this.#binds.delete(port)
    this.#retired.add(bind)
    bind.stopAccepting()
    bind.drain()
  }

  #lookAtTraces(): void {
    const { traces, worker } = this.#parts
    this.#follower.look()
    traces.know(worker)
  }

  // --- the end ---

  /** Binds that are opened from now on ask the shared state. */
  #leave(): void {
    for (const bind of this.#binds.values()) bind.leave()
  }

  #drain(): void {
    if (this.#draining) return
    this.#draining = true
    // Behind a snapshot that is being put in force: the binds that it opens drain too.
    this.#queue = this.#queue.then(() => {
      for (const bind of this.#binds.values()) {
        bind.stopAccepting()
        bind.drain()
      }
      clearInterval(this.#beat)
      this.#beat = setInterval(() => this.#showDrain(), DRAIN_BEAT_MS)
    })
  }

  /** Says once that the last connection is over: the listeners are closed, so no other one follows. */
  #showDrain(): void {
    if (this.#showLife() > 0) return
    clearInterval(this.#beat)
    this.#beat = setInterval(() => this.#showLife(), BEAT_MS)
    this.#parts.post({ kind: 'drained' })
  }

  async #stop(): Promise<void> {
    clearInterval(this.#beat)
    for (const bind of this.#binds.values()) bind.stopAccepting()
    for (const bind of [...this.#binds.values(), ...this.#retired]) bind.closeAll()
    for (const work of this.#runtime.background ?? []) work.end()
    this.#upstream?.closeIdle()
    await this.#parts.telemetry.flush()
    await this.#parts.accounts.close()
    this.#parts.post({ kind: 'stopped' })
  }

  /** Returns the number of open connections. */
  #showLife(): number {
    const { worker, state, telemetry } = this.#parts
    state.beat(worker)
    let connections = 0
    for (const bind of this.#binds.values()) connections += bind.connections()
    for (const bind of this.#retired) {
      const left = bind.connections()
      connections += left
      if (left === 0) this.#retired.delete(bind)
    }
    state.setConnections(worker, connections)
    this.#heldBytes?.publish()
    lookAtUnsent()
    const { bytes: heldBytes = 0, refused: heldRefused = 0 } = this.#heldBytes ?? {}
    this.#reclaim.look(heldBytes)
    this.#upstream?.look()
    telemetry.sample({ ...(this.#upstream?.counts() ?? { idle: 0, busy: 0 }), heldBytes, heldRefused })
    return connections
  }

  /** A broken invariant: the worker must not go on. Thrown where nothing can catch it. */
  #panic(error: unknown): void {
    queueMicrotask(() => {
      throw error
    })
  }
}
