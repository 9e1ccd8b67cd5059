/** The gateway as a process: workers, child processes, its own servers, signals and drain, whatever it runs. */
import type { Admin, AdminOptions } from '#engine/admin/admin.ts'
import type { CheckedText } from '#engine/admin/api/check.ts'
import type { AdminState } from '#engine/admin/state.ts'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import { VERSION } from '#engine/contract/version.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { type ControlMetrics, createControlMetrics } from '#engine/telemetry/control.ts'
import { Figures, SAMPLE_MS } from '#engine/telemetry/figures/figures.ts'
import { ModelCounts } from '#engine/telemetry/figures/models.ts'
import { RouteCounts } from '#engine/telemetry/figures/routes.ts'
import { createLogger, type Logger } from '#engine/telemetry/log.ts'
import { REGION_BYTES, type SeriesAnnouncement } from '#engine/telemetry/metrics.ts'
import { otelEnvironment } from '#engine/telemetry/otlp/environment.ts'
import { lookingBuckets } from '#engine/workers/buckets.ts'
import { ChildHub } from '#engine/workers/children/hub.ts'
import { Supervisor } from '#engine/workers/supervisor.ts'
import { ProcessAccounts } from './accounts.ts'
import { EXIT_FAILURE, EXIT_OK } from './cli.ts'
import { writeCompileCache } from './compile-cache.ts'
import { drain } from './drain.ts'
import { Explanations } from './explanations.ts'
import { explainFailure, InForce } from './in-force.ts'
import type { MeshSettings } from './mesh-options.ts'
import type { ProgramParts } from './parts.ts'
import type { SnapshotSource, SourceParts } from './snapshot-source.ts'
import { ProcessSpend, type ProcessSpendOptions } from './spend.ts'
import { Traces } from './traces.ts'
import { setServingFlags } from './v8-flags.ts'
import { leave, plural } from './words.ts'

/** How often an admin port that is still held by a draining predecessor is tried again. */
const ADMIN_RETRY_MS = 500
/**
 * One signal may arrive twice: launchers (npm, weir.mjs) pass on a signal that the terminal, systemd or
 * `kill` of a group has sent to every process anyway. The same signal within this time is a duplicate.
 */
const DUPLICATE_SIGNAL_MS = 250

export type GatewayParts = Pick<ProgramParts, 'entry' | 'ahead' | 'policies' | 'backends' | 'explain'>

export interface GatewaySettings {
  /** They hold until the process ends. */
  readonly process: Snapshot['process']
  readonly warnings: readonly string[]
  /** The mesh that it is a workload of; null: there is none. */
  readonly mesh: MeshSettings | null
  /** It runs the built-in demonstration. */
  readonly isDemo: boolean
  readonly source: (parts: SourceParts) => SnapshotSource
}

export class Gateway {
  readonly #settings: GatewaySettings
  readonly #source: SnapshotSource
  readonly #logger: Logger
  readonly #metrics: ControlMetrics
  readonly #figures: Figures
  readonly #routeCounts: RouteCounts
  readonly #modelCounts: ModelCounts
  readonly #supervisor: Supervisor
  readonly #children: ChildHub
  readonly #inForce: InForce
  readonly #accounts: ProcessAccounts
  readonly #startedAt = new Date().toISOString()
  #announce = new Map<number, (series: SeriesAnnouncement) => void>()
  readonly #admins: Admin[] = []
  readonly #explanations: Explanations
  readonly #traces: Traces
  /** Null: no records of model calls are kept. */
  readonly #spend: ProcessSpend | null
  #ready = false
  /** The first certificate of the mesh has not come, and may come soon. */
  #awaitsCertificate = false
  /** What began the shutdown, and when. */
  #shutdown: { readonly signal: string; readonly at: number } | null = null

  constructor(settings: GatewaySettings, parts: GatewayParts) {
    this.#settings = settings
    const { logging, workerThreads, spendLog: spec } = settings.process
    this.#logger = createLogger(logging)
    this.#metrics = createControlMetrics(VERSION)
    this.#figures = new Figures(this.#metrics.table)
    this.#routeCounts = new RouteCounts(this.#metrics.table)
    this.#modelCounts = new ModelCounts(this.#metrics.table)
    this.#accounts = new ProcessAccounts({
      process: settings.process,
      policies: parts.policies,
      broadcast: (changes) => this.#supervisor.broadcast({ kind: 'accounts', changes }),
      log: (level, message) => this.#logger.log(level, 'accounts', message)
    })
    this.#supervisor = new Supervisor({
      accountsFor: (worker) => this.#accounts.workerStarts(worker),
      count: workerThreads,
      entry: parts.entry,
      ahead: parts.ahead,
      metricsBytes: REGION_BYTES,
      logging,
      log: (level, message) => this.#logger.log(level, 'workers', message),
      onStart: (worker, region) => this.#announce.set(worker, this.#metrics.table.attach(String(worker), region)),
      onSeries: (worker, series) => this.#announce.get(worker)?.(series as SeriesAnnouncement),
      onMetrics: () => void this.#sendMetrics(),
      onDeath: (worker) => {
        this.#metrics.workerRestarted()
        this.#metrics.table.detach(String(worker))
        this.#children.workerGone(worker)
        this.#accounts.ledger.workerGone(worker)
      },
      onChild: (worker, order) => this.#children.receive(worker, order),
      onStory: (story) => this.#traces.add(story),
      ...(spec === undefined ? {} : { onSpend: (worker, batch) => this.#spend?.take(worker, batch) })
    })
    this.#spend = spec === undefined ? null : this.#spendLog(spec)
    this.#traces = new Traces(this.#supervisor)
    this.#children = new ChildHub({
      kinds: parts.backends,
      log: (level, message) => this.#logger.log(level, 'mcp', message),
      post: (worker, report) => this.#supervisor.tell(worker, report)
    })
    const log: SourceParts['log'] = (level, message) => this.#logger.log(level, 'config', message)
    this.#inForce = new InForce(this.#supervisor, settings.process, log, this.#accounts)
    this.#source = settings.source({ inForce: this.#inForce, supervisor: this.#supervisor, log })
    const buckets = lookingBuckets(this.#supervisor.buckets)
    const hosts = () => this.#supervisor.hosts
    this.#explanations = new Explanations(
      parts.explain,
      () => this.#inForce.status,
      buckets,
      hosts,
      () => this.#accounts.forExplanations
    )
    this.#inForce.onReload = (acceptedAtMs) => this.#metrics.reloaded(acceptedAtMs)
    this.#inForce.onInForce = (snapshot) => this.#children.keep(snapshot)
  }

  async start(releaseSignals: () => void): Promise<void> {
    process.on('SIGTERM', () => this.#onSignal('SIGTERM'))
    process.on('SIGINT', () => this.#onSignal('SIGINT'))
    process.on('SIGHUP', () => this.#reload())
    releaseSignals()
    for (const warning of this.#settings.warnings) this.#logger.log('warn', 'config', warning)
    for (const { level, message } of otelEnvironment(process.env).notices) this.#logger.log(level, 'start', message)
    if (this.#settings.mesh !== null) await this.#joinMesh(this.#settings.mesh)
    try {
      await this.#accounts.open()
      await this.#spend?.open()
    } catch (error) {
      leave(EXIT_FAILURE, `weir: cannot start: ${(error as Error).message}\n`)
      await this.#supervisor.stop()
      process.exit()
    }
    const first = this.#source.first()
    // What may take long is waited for while readiness says so.
    if (this.#source.isRemote) await this.#startServers()
    const outcome = await first
    if (!outcome.ok) {
      leave(EXIT_FAILURE, `weir: cannot start: ${explainFailure(outcome)}\n`)
      await this.#supervisor.stop()
      process.exit()
    }
    this.#ready = true
    // First, so that the line of the start says that they answer as well.
    if (!this.#source.isRemote) await this.#startServers()
    this.#logStarted(outcome.binds)
    this.#source.follow()
    writeCompileCache()
    setServingFlags()
  }

  #spendLog(spec: SpendLogSpec): ProcessSpend {
    const log: ProcessSpendOptions['log'] = (level, message) => this.#logger.log(level, 'spend', message)
    return new ProcessSpend({ spec, supervisor: this.#supervisor, log })
  }

  /** Its workloads alone are out of reach while there is no certificate: what is served besides does not wait. */
  async #joinMesh(settings: MeshSettings): Promise<void> {
    const { workloadCertificate } = await import('./mesh.ts')
    const log = (level: 'info' | 'warn' | 'error', message: string) => this.#logger.log(level, 'mesh', message)
    this.#awaitsCertificate = true
    void workloadCertificate(settings, this.#supervisor, log)
      .start()
      .then(() => {
        this.#awaitsCertificate = false
      })
  }

  #logStarted(binds: readonly { port: number; transport: string; detail: string }[]): void {
    const ports = binds.map(({ port, transport, detail }) => `${port} (${transport}, ${detail})`).join(', ')
    const { workers } = this.#supervisor
    this.#logger.log(
      'info',
      'start',
      `weir ${VERSION} on Node ${process.versions.node}: ${plural(workers.length, 'worker')}, ports ${ports || 'none'}`
    )
    if (!this.#settings.isDemo) return
    const at = `http://localhost:${binds[0]?.port}`
    process.stdout.write(
      `\nThe built-in demonstration runs. Try:\n\n  curl ${at}/\n  curl -d hello ${at}/demo/echo\n  curl -N ${at}/demo/stream\n  curl ${at}/v1/chat/completions -d '{"model":"demo","messages":[{"role":"user","content":"Hi"}]}'\n  and tools for agents (MCP) at ${at}/mcp\n\n`
    )
  }

  // --- the gateway's own servers ---

  /**
   * Resolves when each listens or has found its port taken: each is a server by itself, so that this does not keep the
   * others from answering.
   */
  async #startServers(): Promise<void> {
    const { adminAddr, statsAddr, readinessAddr } = this.#settings.process
    const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
    if (adminAddr !== 'off') setInterval(() => this.#sample(), SAMPLE_MS).unref()
    await Promise.all(
      [{ adminAddr }, { statsAddr }, { readinessAddr }].map((address) => this.#startServer({ ...off, ...address }))
    )
  }

  async #startServer(addresses: Pick<AdminOptions, 'adminAddr' | 'statsAddr' | 'readinessAddr'>): Promise<void> {
    const { startAdmin } = await import('#engine/admin/admin.ts')
    const options: AdminOptions = {
      ...addresses,
      state: () => this.#state(),
      endpoints: () => this.#supervisor.reports.collect(),
      metrics: () => {
        this.#countWorkers()
        return this.#metrics.expose()
      },
      setLogLevel: (level) => this.#setLevel(level),
      explain: this.#explanations.answer,
      traces: this.#traces,
      figures: this.#figures,
      traffic: () => this.#routeCounts.traffic(),
      models: () => this.#modelCounts.use(),
      ...(this.#source.check === undefined ? {} : { check: (text: string) => this.#check(text) }),
      ...(this.#source.texts === undefined ? {} : { texts: this.#source.texts }),
      ...(this.#settings.process.admin === undefined ? {} : { admin: this.#settings.process.admin }),
      audit: (level, message, fields) => this.#logger.log(level, 'audit', message, fields),
      keys: { keys: this.#accounts.api, budgets: async () => await this.#accounts.budgets() },
      ...(this.#spend === null ? {} : { spend: this.#spend }),
      quit: () => this.#shutDown('/quitquitquit')
    }
    const listen = async () => void this.#admins.push(await startAdmin(options))
    try {
      await listen()
    } catch (error) {
      // Traffic does not wait for it: after a restart the process before may hold the port while it drains.
      this.#logger.log('warn', 'admin', `${(error as Error).message}; trying again until it is free`)
      void this.#listenLater(listen)
    }
  }

  async #listenLater(listen: () => Promise<void>): Promise<void> {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, ADMIN_RETRY_MS).unref())
      if (this.#shutdown !== null) return
      try {
        await listen()
        this.#logger.log('info', 'admin', `listening now: ${Object.values(this.#admins.at(-1)!.addresses).join(' ')}`)
        return
      } catch {
        // The port is still taken; that has been logged.
      }
    }
  }

  /** To the worker that sends them to a collector, which throws them away where the configuration names none. */
  async #sendMetrics(): Promise<void> {
    const { encodeMetrics } = await import('#engine/telemetry/metric-points.ts')
    this.#countWorkers()
    const { startedAt } = this.#metrics
    this.#supervisor.sendMetrics(encodeMetrics(this.#metrics.sums(), { startedAt, now: Date.now() }))
  }

  async #check(text: string): Promise<CheckedText> {
    const loaded = await this.#source.check!(text)
    if (!loaded.ok) return { errors: loaded.errors, warnings: [], isInForce: false }
    const isInForce = loaded.hash === this.#inForce.status.snapshot?.hash
    return { errors: [], warnings: loaded.warnings, isInForce }
  }

  #sample(): void {
    this.#countWorkers()
    this.#figures.sample()
    this.#routeCounts.sample()
    this.#modelCounts.sample()
  }

  #countWorkers(): void {
    this.#metrics.setWorkers(this.#supervisor.workers.filter(({ isServing }) => isServing).length)
    this.#metrics.setBuckets(this.#supervisor.buckets.counts)
  }

  #state(): AdminState {
    const { snapshot, expanded, lastError } = this.#inForce.status
    const isDraining = this.#supervisor.state.draining
    return {
      version: VERSION,
      startedAt: this.#startedAt,
      snapshot,
      expanded,
      lastError,
      workers: this.#supervisor.workers.map(({ index, isServing, isStopped, startedAt }) => ({
        id: index,
        state: isStopped ? 'stopped' : isDraining ? 'draining' : isServing ? 'serving' : 'starting',
        startedAt
      })),
      pending: [
        ...(this.#ready ? [] : ['configuration']),
        ...(this.#awaitsCertificate ? ['certificate of the mesh'] : []),
        ...(isDraining ? ['drain'] : [])
      ],
      logLevel: this.#logger.level()
    }
  }

  #setLevel(level: string): void {
    this.#logger.setLevel(level)
    this.#supervisor.setLevel(level)
  }

  // --- signals ---

  #reload(): void {
    if (this.#shutdown === null) this.#source.reload()
    else this.#logger.log('warn', 'config', 'not read again: the process is draining')
  }

  #onSignal(signal: 'SIGTERM' | 'SIGINT'): void {
    if (this.#shutdown === null) {
      this.#shutDown(signal)
      return
    }
    const isSame = this.#shutdown.signal === signal && performance.now() - this.#shutdown.at < DUPLICATE_SIGNAL_MS
    if (isSame) return
    this.#logger.log('warn', 'drain', `${signal} again: leaving at once`)
    process.exit(EXIT_FAILURE)
  }

  /** `trigger`: a signal or a path of the admin port, for the log. */
  #shutDown(trigger: string): void {
    if (this.#shutdown !== null) return
    this.#shutdown = { signal: trigger, at: performance.now() }
    this.#logger.log('info', 'drain', `${trigger}: draining`)
    this.#drain().then(
      () => process.exit(EXIT_OK),
      (error: unknown) => {
        this.#logger.log('error', 'drain', String(error))
        process.exit(EXIT_FAILURE)
      }
    )
  }

  async #drain(): Promise<void> {
    const { terminationDeadlineMs, terminationMinDeadlineMs } = this.#settings.process
    this.#source.close()
    await drain(this.#supervisor, {
      minMs: terminationMinDeadlineMs,
      maxMs: terminationDeadlineMs,
      log: (level, message) => this.#logger.log(level, 'drain', message),
      onServed: () => this.#sendMetrics()
    })
    await Promise.all([this.#accounts.close(), this.#spend?.close()])
    await Promise.all([this.#children.close(), ...this.#admins.map((admin) => admin.close())])
    this.#logger.log('info', 'drain', 'done')
  }
}
