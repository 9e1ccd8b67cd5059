/** The main thread from the command line to the last flush: the order of things, each in its own file. */

import { dirname, resolve } from 'node:path'
import type { Admin, AdminOptions } from '#engine/admin/admin.ts'
import type { AdminState } from '#engine/admin/state.ts'
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { VERSION } from '#engine/contract/version.ts'
import { listenedOn } from '#engine/socket/listening.ts'
import { ConvertedTexts } from '#engine/standalone/converted.ts'
import { explainUnreadable, readAgain, readConfig } from '#engine/standalone/read.ts'
import { RemoteTexts } from '#engine/standalone/remote.ts'
import { type FileWatch, WatchedFiles, watchFile } from '#engine/standalone/watch.ts'
import { type ControlMetrics, createControlMetrics } from '#engine/telemetry/control.ts'
import { createLogger, type Logger } from '#engine/telemetry/log.ts'
import { REGION_BYTES, type SeriesAnnouncement } from '#engine/telemetry/metrics.ts'
import { otelEnvironment } from '#engine/telemetry/otlp/environment.ts'
import { lookingBuckets } from '#engine/workers/buckets.ts'
import { ChildHub } from '#engine/workers/children/hub.ts'
import { Supervisor } from '#engine/workers/supervisor.ts'
import type { SpareThread } from '#engine/workers/thread.ts'
import { EXIT_CONFIG, EXIT_FAILURE, EXIT_OK, EXIT_USAGE, type GatewayCommand, type Source } from './cli.ts'
import { writeCompileCache } from './compile-cache.ts'
import { ControlPlane, type ControlPlaneOptions, explainFailure, type Loaded, load } from './control.ts'
import { drain } from './drain.ts'
import { type ExplainRequest, Explanations } from './explanations.ts'
import { Traces } from './traces.ts'
import { setServingFlags } from './v8-flags.ts'

/** What start.ts has begun. */
export interface Start {
  /** The module that workers run. */
  readonly entry: URL
  /** The module that a process of this program runs. */
  readonly program: URL
  /** The thread of the first worker; null when there will be no workers. */
  readonly ahead: SpareThread | null
  /** Removes the signal handlers of the start-up. */
  readonly releaseSignals: () => void
}

/** What main.ts knows and this file does not. */
export interface ProgramParts extends Start {
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  readonly check: ControlPlaneOptions['check']
  readonly prepare: ControlPlaneOptions['prepare']
  /** JSON of a text in YAML, made by another thread. */
  readonly convert: (yaml: string) => Promise<string>
  /** Starts the built-in demonstration behind `port`; resolves with its configuration. */
  readonly demo: (port: string, program: URL) => Promise<string>
  readonly explain: ExplainRequest
}

/** How often an admin port that is still held by a draining predecessor is tried again. */
const ADMIN_RETRY_MS = 500
/**
 * One signal may arrive twice: launchers (npm, weir.mjs) pass on a signal that the terminal, systemd or
 * `kill` of a group has sent to every process anyway. The same signal within this time is a duplicate.
 */
const DUPLICATE_SIGNAL_MS = 250

const SHARED_PORT =
  'is shared with another process that listens there: each connection goes to one or the other until that one ends'

export async function runGateway(command: GatewayCommand, parts: ProgramParts): Promise<void> {
  const text = await readSource(command.source, parts)
  if (text !== null) await loadAndRun(command, text, parts)
}

async function loadAndRun(command: GatewayCommand, source: ConfigText, parts: ProgramParts): Promise<void> {
  const folder = source.path === null ? process.cwd() : dirname(resolve(source.path))
  const texts = { remote: new RemoteTexts(), converted: new ConvertedTexts(parts.convert) }
  const options = { ...parts, name: source.name, env: process.env, folder, ...texts, log: () => {} }
  const loaded = await load(source.text, options)
  if (loaded.ok && command.kind === 'explain') {
    const { explainRequest } = await import('./explain-command.ts')
    await explainRequest(command, loaded, parts.explain)
    return
  }
  if (loaded.ok && command.kind === 'run') {
    await new Gateway(source, loaded, options, parts).start(parts.releaseSignals)
    return
  }
  if (loaded.ok) for (const warning of loaded.warnings) process.stderr.write(`warning: ${warning}\n`)
  if (loaded.ok) process.stdout.write(`configuration is valid: ${countOf(loaded)}\n`)
  else {
    const mistakes = plural(loaded.count, 'mistake')
    leave(EXIT_CONFIG, `${loaded.text}\nweir: ${mistakes} in ${source.name}; nothing was started\n`)
  }
}

interface ConfigText {
  /** Named in messages. */
  readonly name: string
  readonly text: string
  /** Watched and read again; null when there is no file. */
  readonly path: string | null
  readonly isDefault: boolean
}

/** Null when it cannot be read: the user has been told. */
async function readSource(source: Source, { demo, program }: ProgramParts): Promise<ConfigText | null> {
  try {
    if (source.kind === 'text') return { name: 'command line', text: source.text, path: null, isDefault: false }
    if (source.kind === 'stdin') return { name: 'stdin', text: readConfig(0), path: null, isDefault: false }
    if (source.kind === 'file') {
      return { name: source.path, text: readConfig(source.path), path: source.path, isDefault: false }
    }
  } catch (error) {
    const name = source.kind === 'file' ? source.path : 'standard input'
    leave(EXIT_CONFIG, `weir: ${explainUnreadable(name, error as NodeJS.ErrnoException)}\n`)
    return null
  }
  const port = process.env.PORT || '3000'
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535) {
    leave(EXIT_USAGE, `weir: PORT must be a whole number from 1 to 65535, not '${port}'\n`)
    return null
  }
  const text = await demo(port, program)
  return { name: 'built-in demonstration', text, path: null, isDefault: true }
}

function leave(code: number, message: string): void {
  process.stderr.write(message)
  process.exitCode = code
}

function countOf({ draft }: Loaded & { ok: true }): string {
  const routes = draft.binds.flatMap(({ listeners }) => listeners.flatMap((listener) => listener.routes))
  const backends = Object.keys(draft.backends)
  return `${plural(draft.binds.length, 'bind')}, ${plural(routes.length, 'route')}, ${plural(backends.length, 'backend')}`
}

function plural(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}

class Gateway {
  readonly #source: ConfigText
  readonly #loaded: Loaded & { ok: true }
  readonly #logger: Logger
  readonly #metrics: ControlMetrics
  readonly #supervisor: Supervisor
  readonly #children: ChildHub
  readonly #controlPlane: ControlPlane
  readonly #startedAt = new Date().toISOString()
  #announce = new Map<number, (series: SeriesAnnouncement) => void>()
  readonly #admins: Admin[] = []
  #watch: FileWatch | null = null
  /** Files that the configuration refers to: when one of them changes, all is read again. */
  readonly #references = new WatchedFiles(() => this.#reload())
  readonly #explanations: Explanations
  readonly #traces: Traces
  #ready = false
  /** What began the shutdown, and when. */
  #shutdown: { readonly signal: string; readonly at: number } | null = null

  constructor(source: ConfigText, loaded: Loaded & { ok: true }, options: ControlPlaneOptions, parts: ProgramParts) {
    this.#source = source
    this.#loaded = loaded
    const { logging, workerThreads } = loaded.draft.process
    this.#logger = createLogger(logging)
    this.#metrics = createControlMetrics(VERSION)
    this.#supervisor = new Supervisor({
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
      },
      onChild: (worker, order) => this.#children.receive(worker, order),
      onStory: (story) => this.#traces.add(story)
    })
    this.#traces = new Traces(this.#supervisor)
    this.#children = new ChildHub({
      kinds: options.backends,
      log: (level, message) => this.#logger.log(level, 'mcp', message),
      post: (worker, report) => this.#supervisor.report(worker, report)
    })
    const log: ControlPlaneOptions['log'] = (level, message) => this.#logger.log(level, 'config', message)
    this.#controlPlane = new ControlPlane({ ...options, log }, this.#supervisor)
    const buckets = lookingBuckets(this.#supervisor.buckets)
    this.#explanations = new Explanations(parts.explain, () => this.#controlPlane.status, buckets)
    this.#controlPlane.onReload = (acceptedAtMs) => this.#metrics.reloaded(acceptedAtMs)
    this.#controlPlane.onInForce = (snapshot) => this.#children.keep(snapshot)
    options.remote.log = log
    options.remote.onChange = () => this.#reload()
    this.#controlPlane.onFiles = (files, isAccepted) => this.#references.follow(files, isAccepted)
  }

  async start(releaseSignals: () => void): Promise<void> {
    process.on('SIGTERM', () => this.#onSignal('SIGTERM'))
    process.on('SIGINT', () => this.#onSignal('SIGINT'))
    process.on('SIGHUP', () => this.#reload())
    releaseSignals()
    for (const warning of this.#loaded.warnings) this.#logger.log('warn', 'config', warning)
    for (const { level, message } of otelEnvironment(process.env).notices) this.#logger.log(level, 'start', message)
    const shared = listenedOn(this.#loaded.draft.binds.map(({ port }) => port))
    const outcome = await this.#controlPlane.first(this.#loaded)
    if (!outcome.ok) {
      leave(EXIT_FAILURE, `weir: cannot start: ${explainFailure(outcome)}\n`)
      await this.#supervisor.stop()
      process.exit()
    }
    this.#ready = true
    this.#metrics.reloaded(Date.now())
    // First, so that the line of the start says that they answer as well.
    await this.#startServers()
    this.#logStarted(outcome.binds)
    for (const port of shared) this.#logger.log('warn', 'start', `port ${port} ${SHARED_PORT}`)
    this.#references.follow(this.#loaded.files, true)
    const { path, text } = this.#source
    if (path !== null) this.#watch = this.#watchSource(path, text)
    writeCompileCache()
    setServingFlags()
  }

  #watchSource(path: string, known: string): FileWatch {
    const onGone = () =>
      this.#logger.log(
        'warn',
        'config',
        `${path} cannot be read any more: what runs stays, until it is back and changed`
      )
    return watchFile(path, (fresh) => void this.#controlPlane.reload(fresh), { known, onGone })
  }

  #logStarted(binds: readonly { port: number; transport: string; detail: string }[]): void {
    const ports = binds.map(({ port, transport, detail }) => `${port} (${transport}, ${detail})`).join(', ')
    const { workers } = this.#supervisor
    this.#logger.log(
      'info',
      'start',
      `weir ${VERSION} on Node ${process.versions.node}: ${plural(workers.length, 'worker')}, ports ${ports || 'none'}`
    )
    if (!this.#source.isDefault) return
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
    const { adminAddr, statsAddr, readinessAddr } = this.#loaded.draft.process
    const off = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
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

  #countWorkers(): void {
    this.#metrics.setWorkers(this.#supervisor.workers.filter(({ isServing }) => isServing).length)
    this.#metrics.setBuckets(this.#supervisor.buckets.counts)
  }

  #state(): AdminState {
    const { snapshot, expanded, lastError } = this.#controlPlane.status
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
      pending: [...(this.#ready ? [] : ['configuration']), ...(isDraining ? ['drain'] : [])],
      logLevel: this.#logger.level()
    }
  }

  #setLevel(level: string): void {
    this.#logger.setLevel(level)
    this.#supervisor.setLevel(level)
  }

  // --- signals ---

  #reload(): void {
    const { path } = this.#source
    if (this.#shutdown !== null) {
      this.#logger.log('warn', 'config', 'not read again: the process is draining')
      return
    }
    try {
      // A text from the command line stays as it is; what it refers to may have changed.
      void this.#controlPlane.reload(path === null ? this.#source.text : readAgain(path))
    } catch (error) {
      this.#logger.log(
        'error',
        'config',
        `${explainUnreadable(this.#source.name, error as NodeJS.ErrnoException)}; what runs stays`
      )
    }
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
    const { terminationDeadlineMs, terminationMinDeadlineMs } = this.#loaded.draft.process
    this.#watch?.close()
    this.#references.close()
    await drain(this.#supervisor, {
      minMs: terminationMinDeadlineMs,
      maxMs: terminationDeadlineMs,
      log: (level, message) => this.#logger.log(level, 'drain', message),
      onServed: () => this.#sendMetrics()
    })
    await Promise.all([this.#children.close(), ...this.#admins.map((admin) => admin.close())])
    this.#logger.log('info', 'drain', 'done')
  }
}
