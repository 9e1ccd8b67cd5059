/** A whole gateway of one worker in the calling thread, from the text of a configuration file. */
import { randomBytes } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { backends, priceCatalogue } from '#backends/index.ts'
import type { StateFolder } from '#engine/accounts/journal/store.ts'
import type { ServerBooks } from '#engine/accounts/server/client.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { buildRuntime } from '#engine/build/runtime.ts'
import type { PriceBook } from '#engine/contract/prices.ts'
import type { Revocations } from '#engine/contract/revocations.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { encodeDelta } from '#engine/ir/snapshot-delta.ts'
import { monotonicClock } from '#engine/kit/monotonic.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { Prices } from '#engine/prices/book.ts'
import type { Batch } from '#engine/spend/recorder.ts'
import { formatErrors, type LoadOptions, loadConfig } from '#engine/standalone/load.ts'
import { encodeMetrics } from '#engine/telemetry/metric-points.ts'
import type { MetricChunk } from '#engine/telemetry/metrics-exports.ts'
import { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import type { Environment } from '#engine/telemetry/otlp/environment.ts'
import { createTelemetry, type Telemetry } from '#engine/telemetry/telemetry.ts'
import { ArmedTraces } from '#engine/workers/armed-traces.ts'
import { BucketTable } from '#engine/workers/bucket-table.ts'
import { bucketsOf } from '#engine/workers/buckets.ts'
import { ChildrenOfWorker } from '#engine/workers/children/client.ts'
import { ChildHub } from '#engine/workers/children/hub.ts'
import type { ToMain } from '#engine/workers/messages.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { SharedRevocations, SharedState } from '#engine/workers/shared.ts'
import { WorkerThread } from '#engine/workers/worker.ts'
import { policies } from '#policies/index.ts'
import { TestAccounts } from './accounts.ts'

export interface TestGateway {
  /** Of the first bind, whatever the configuration says: the system chooses. */
  readonly port: number
  /** All metrics of the worker in the text format. */
  metrics(): string
  /** Puts another configuration in force; rejects with the worker's message. */
  reload(yaml: string): Promise<void>
  /** What policies have written to the log: "level: message". */
  readonly logged: readonly string[]
  readonly accounts: TestAccounts
  /** Takes no connection any more. Resolves when the last one is over. */
  drain(): Promise<void>
  close(): Promise<void>
}

export interface TestLog {
  readonly format: 'text' | 'json'
  /** A file descriptor. */
  readonly fd: number
}

export interface TestOptions {
  /** Where the access log goes; it is off otherwise, unless the configuration's log level turns it on. */
  readonly log?: TestLog
  /** Where relative paths begin. */
  readonly folder?: string
  /** Of the token buckets, in milliseconds. */
  readonly clock?: () => number
  /** Of the process (BackendContext.secret). */
  readonly secret?: Uint8Array
  /** Shared with other workers (BackendContext.revocations). */
  readonly revocations?: Revocations
  /** Shared with other workers: what they know of addresses. */
  readonly addresses?: SharedArrayBuffer
  /** Which worker of how many it is for what is shared by `addresses`; default: the only one. */
  readonly place?: readonly [index: number, count: number]
  /** How many child processes one backend may have. */
  readonly childrenMax?: number
  /** Variables of OpenTelemetry. Default: those of the process. */
  readonly environment?: Environment
  /** What calls of models cost. Default: nothing is known. */
  readonly prices?: PriceBook
  /** Where budgets are kept over restarts. Default: in memory alone. */
  readonly state?: StateFolder
  /** Books that other gateways have too; ends with the gateway. */
  readonly server?: ServerBooks
  /** Changes what the file has become: for what no file can say yet. */
  readonly edit?: (snapshot: Snapshot) => Snapshot
  /** Takes batches of records of model calls, and has kept them at once. Default: there is no spend log. */
  readonly keepSpend?: (batch: Batch) => void
}

/**
 * A test process makes a thousand gateways, and V8 does not hurry to free shared memory, whose bytes it does not count:
 * with the tables of a real worker, 16 MB each, it had 11 GB in the end.
 */
const BUCKETS = 4096
const METRICS_BYTES = 512 * 1024

/** Gateways after which what is no longer used is collected: nothing else makes V8 look at their shared memory. */
const COLLECTED_AFTER = 64
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
let closed = 0

/** One for all gateways of a test process: its thread takes 0.3 s to load, and keeps no process alive. */
const offload = new OffloadPool(import.meta.resolve('#engine/process/jobs.ts'))

/** Rejects with the mistakes of `yaml`. */
export async function startGateway(yaml: string, options: TestOptions = {}): Promise<TestGateway> {
  const { folder, clock = monotonicClock(), childrenMax, addresses, edit = (file) => file } = options
  const { place: [index, count] = [0, 1], secret = randomBytes(32), revocations = new SharedRevocations() } = options
  let version = 0
  let answer: (message: ToMain) => void = () => {}
  const first = edit(snapshotOf(yaml, ++version, folder))
  const table = new MetricsTable()
  const telemetry = telemetryOf(table, options, () => worker.receive({ kind: 'metrics', chunks: chunksOf(table) }))
  const logged: string[] = []
  const buckets = bucketsOf(new BucketTable(BucketTable.create(BUCKETS), { owner: 0, clock }))
  const { hub, children } = childProcesses(logged, childrenMax)
  const own = { index: 0, count: 1 }
  const ofProcess = { secret, revocations, children, worker: own }
  const accounts = new TestAccounts(first, { buckets, ...options })
  const services = { ...servicesOf(telemetry, logged, options), accounts: accounts.book, buckets }
  const worker: WorkerThread = new WorkerThread({
    worker: index,
    accounts,
    children,
    secret: ofProcess.secret,
    traces: ArmedTraces.create(count),
    state: SharedState.create(count),
    rows: new SharedRows(addresses ?? SharedRows.create(), clock),
    post: (message) => answer(message),
    telemetry: ofWorker(telemetry),
    build: (snapshot, upstream, lifecycle) =>
      buildRuntime(snapshot, {
        policies,
        services: { ...services, bodies: lifecycle.bodies },
        backends,
        upstream,
        ...recordersOf(telemetry),
        fail: (ex, code) => lifecycle.fail(ex, code),
        reply: (ex, reply) => lifecycle.reply(ex, reply),
        mirror: (ex, mirrors) => lifecycle.mirrors.begin(ex, mirrors),
        inProcess: inProcess({ events: lifecycle, upstream, timers: lifecycle.timers }),
        ...ofProcess
      })
  })
  const ask = (message: Parameters<WorkerThread['receive']>[0]): Promise<ToMain> =>
    new Promise((resolve) => {
      answer = resolve
      worker.receive(message)
    })
  const publish = async (snapshot: Snapshot): Promise<number> => {
    const message = await ask({ kind: 'snapshot', snapshot: encodeDelta(null, snapshot) })
    if (message.kind === 'serving') {
      hub.keep(snapshot)
      return message.binds[0]!.port
    }
    throw new Error(message.kind === 'failed' ? message.message : message.kind)
  }
  return {
    port: await publish(first),
    metrics: () => table.expose(),
    async reload(next) {
      const snapshot = edit(snapshotOf(next, ++version, folder))
      accounts.configure(snapshot)
      await publish(snapshot)
    },
    accounts,
    logged,
    drain: async () => void (await ask({ kind: 'drain' })),
    async close() {
      await ask({ kind: 'stop' })
      await hub.close()
      if (++closed % COLLECTED_AFTER === 0) collect()
    }
  }
}

function servicesOf(telemetry: Telemetry, logged: string[], { prices = new Prices(priceCatalogue) }: TestOptions) {
  return {
    ...NO_SERVICES,
    exportSpend: telemetry.exportSpend,
    failed: telemetry.expressionFailed,
    state: newStateStore(),
    offload,
    prices,
    log: (level: string, message: string) => void logged.push(`${level}: ${message}`)
  }
}

function ofWorker(telemetry: Telemetry) {
  const { unrouted, downstream, upstream, setLogLevel: setLevel } = telemetry
  const { evicted } = downstream
  return {
    unrouted,
    downstream,
    evicted,
    upstream,
    setLevel,
    sample: () => {},
    spendTaken: telemetry.spendTaken,
    takeMetrics: (chunks: unknown) => telemetry.takeMetrics(chunks as readonly MetricChunk[]),
    flush: () => telemetry.close()
  }
}

function recordersOf(telemetry: Telemetry) {
  const { recorderFor, tcpRecorderFor, mirrorRecorderFor, serviceRecorderFor, tracerFor, exportMetrics } = telemetry
  return { recorderFor, tcpRecorderFor, mirrorRecorderFor, serviceRecorderFor, tracerFor, exportMetrics }
}

function telemetryOf(
  table: MetricsTable,
  { log, environment = process.env, keepSpend }: Pick<TestOptions, 'log' | 'environment' | 'keepSpend'>,
  askForMetrics: () => void
) {
  const region = new SharedArrayBuffer(METRICS_BYTES)
  const telemetry = createTelemetry({
    region,
    worker: 0,
    announce: table.attach('0', region),
    askForMetrics,
    environment,
    postSpend: keepSpend === undefined ? null : (batch) => keep(batch, keepSpend),
    logging: { level: log === undefined ? 'warn' : 'info', format: log?.format ?? 'text' },
    ...(log === undefined ? {} : { accessLogFd: log.fd })
  })
  const keep = (batch: Batch, take: (batch: Batch) => void): void => {
    take(batch)
    setImmediate(() => telemetry.spendTaken({ count: batch.count, kept: batch.count }))
  }
  return telemetry
}

const chunksOf = (table: MetricsTable) => encodeMetrics(table.sums(), { startedAt: 0, now: Date.now() })

/** Child processes, as the one worker and the main thread have them. */
function childProcesses(logged: string[], childrenMax?: number): { hub: ChildHub; children: ChildrenOfWorker } {
  const hub: ChildHub = new ChildHub({
    kinds: backends,
    log: (level, message) => logged.push(`${level}: ${message}`),
    post: (_worker, report) => setImmediate(() => children.receive(report)),
    ...(childrenMax === undefined ? {} : { childrenMax })
  })
  const children: ChildrenOfWorker = new ChildrenOfWorker((order) => hub.receive(0, order))
  return { hub, children }
}

/** Port 0 for every bind: the runtime serves whatever port the system gave. */
function snapshotOf(yaml: string, version: number, folder = '.'): Snapshot {
  // In a file a port is from 1 on; tests write 0 for "any".
  const text = yaml.replace(/(\bport"?): ?0\b/g, '$1: 1')
  const prepare: LoadOptions['prepare'] = (draft, warn) => prepareBackends(draft, backends, warn)
  const loaded = loadConfig(text, { file: 'test.yaml', env: {}, policies, backends, folder, prepare })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  const binds = loaded.snapshot.binds.map((bind) => ({ ...bind, port: 0 }))
  return { ...loaded.snapshot, binds, version, hash: '', acceptedAt: '' }
}
