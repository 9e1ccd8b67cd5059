/**
 * The life of the process, and the only place that knows policies and backends: it hands the registries to the
 * sources and to every worker. Workers start from this same file, the main thread from start.ts.
 */
import { isMainThread, parentPort } from 'node:worker_threads'
import { backends, priceCatalogue } from '#backends/index.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { buildRuntime, type RuntimeDeps } from '#engine/build/runtime.ts'
import { NO_CHILDREN } from '#engine/contract/children.ts'
import { ConfigError, type Problem } from '#engine/contract/config-error.ts'
import { NO_CALLS } from '#engine/contract/in-process.ts'
import { NO_REVOCATIONS } from '#engine/contract/revocations.ts'
import { NO_SERVICES, newStateStore } from '#engine/contract/state-store.ts'
import { SYSTEM_TIME } from '#engine/contract/time.ts'
import { foreign } from '#engine/importers/foreign/index.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { monotonicClock } from '#engine/kit/monotonic.ts'
import { SharedRows } from '#engine/kit/shared-rows.ts'
import { inProcess } from '#engine/lifecycle/in-process.ts'
import { Prices } from '#engine/prices/book.ts'
import type { SnapshotDraft } from '#engine/standalone/load.ts'
import { YAML_JOB } from '#engine/standalone/yaml-job.ts'
import type { MetricChunk } from '#engine/telemetry/metrics-exports.ts'
import { instanceOf } from '#engine/telemetry/otlp/instance.ts'
import { createTelemetry, type Telemetry } from '#engine/telemetry/telemetry.ts'
import { accountsOfWorker } from '#engine/workers/accounts.ts'
import { ArmedTraces } from '#engine/workers/armed-traces.ts'
import { BucketTable } from '#engine/workers/bucket-table.ts'
import { bucketsOf } from '#engine/workers/buckets.ts'
import { ChildrenOfWorker } from '#engine/workers/children/client.ts'
import type { ToMain, ToWorker, WorkerData } from '#engine/workers/messages.ts'
import { OffloadPool } from '#engine/workers/offload.ts'
import { SharedRevocations, SharedState } from '#engine/workers/shared.ts'
import { WorkerThread } from '#engine/workers/worker.ts'
import { policies } from '#policies/index.ts'
import type { GatewayCommand, ImportCommand } from './cli.ts'
import { writeCompileCache } from './compile-cache.ts'
import type { ControllerSettings } from './controller-options.ts'
import type { InitQuestion } from './init/options.ts'
import type { ProgramParts, Start } from './parts.ts'

/** What threads of the offload pool start from: beside this module, or beside the bundle that holds it. */
const JOBS = import.meta.url.endsWith('.ts')
  ? new URL('./jobs.ts', import.meta.url)
  : new URL('./weir-jobs.mjs', import.meta.url)

/** What this thread keeps from one configuration to the next. */
const state = newStateStore()

/** The main thread (start.ts). */
export async function run(command: GatewayCommand, start: Start): Promise<void> {
  const { runGateway } = await import('./program.ts')
  const own = { policies, backends, check, prepare, foreign, convert, demo, explain, priceCatalogue }
  await runGateway(command, { ...own, ...start })
}

/** The JSON Schema of the configuration file. */
export async function schemaText(): Promise<string> {
  const { jsonSchema } = await import('#engine/standalone/json-schema.ts')
  return jsonSchema(policies, backends)
}

/** `weir import`. */
export async function importFile(command: ImportCommand): Promise<void> {
  const [{ runImport }, { importers, settled, isImportError }] = await Promise.all([
    import('./import-command.ts'),
    import('#engine/importers/index.ts')
  ])
  runImport(command, { importers, settled, isImportError, policies, backends, check })
}

/** `weir init`. */
export async function writeFirstFile(question: InitQuestion): Promise<void> {
  const { runInit } = await import('./init/command.ts')
  await runInit(question, { policies, backends, check })
}

/** `weir controller`. */
export async function controller(settings: ControllerSettings): Promise<void> {
  const { runController } = await import('./controller.ts')
  await runController(settings, { policies, backends, check, prepare })
}

if (!isMainThread) {
  const port = parentPort!
  let thread: WorkerThread | null = null
  port.on('message', (message: ToWorker) => {
    if (message.kind === 'begin') {
      thread = startWorker(message.data, (reply) => port.postMessage(reply))
      writeCompileCache()
    } else thread!.receive(message)
  })
}

/** 16 Mi characters of YAML take some 8 s of a processor, which others may want too. */
const DOCUMENT_MS_MAX = 300_000
/** Its thread is made when a document is long, and ends by itself. */
const documents = new OffloadPool(JOBS.href, { jobMsMax: DOCUMENT_MS_MAX })

const convert: ProgramParts['convert'] = async (yaml) => (await documents.run(YAML_JOB, yaml)) as string

const demo: ProgramParts['demo'] = async (port, program) =>
  await (await import('#backends/demo/index.ts')).startDemo(port, program)

const prepare: ProgramParts['prepare'] = (draft, warn) => prepareBackends(draft, backends, warn)

const endpoint = { name: '', usable: true, hostHeader: '', isHostname: false }

/** One for all checks: what is compiled for it is taken over from one to the next. */
const UNUSED_UPSTREAM: RuntimeDeps['upstream'] = {
  endpoint: () => endpoint,
  hostsOf: () => null,
  setHosts() {},
  checkAs: () => ({ begin() {}, end() {} }),
  send() {},
  stream: () => ({ ...endpoint, connect: () => () => {} })
}

/** What a Runtime built from the draft would complain about. Nothing is opened or sent. */
function check(draft: SnapshotDraft): readonly Problem[] {
  try {
    buildRuntime(
      { ...draft, version: 0, hash: '', acceptedAt: '' },
      {
        policies,
        services: { ...NO_SERVICES, state },
        backends,
        upstream: UNUSED_UPSTREAM,
        tcpRecorderFor: () => ({ record() {} }),
        recorderFor: () => ({ record() {} }),
        mirrorRecorderFor: () => ({ record() {}, dropped() {} }),
        fail() {},
        reply() {},
        mirror() {},
        inProcess: NO_CALLS,
        children: NO_CHILDREN,
        secret: new Uint8Array(32),
        revocations: NO_REVOCATIONS
      }
    )
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

const explain: ProgramParts['explain'] = async (snapshot, input, state) => {
  const [{ explain: run }, { readDryRequest }] = await Promise.all([
    import('#engine/explain/explain.ts'),
    import('#engine/explain/request.ts')
  ])
  const request = readDryRequest(input)
  const own = { secret: new Uint8Array(32), revocations: NO_REVOCATIONS, children: NO_CHILDREN, offload: documents }
  return await run(snapshot, request, { policies, backends, priceCatalogue, ...own, ...state })
}

function startWorker(data: WorkerData, post: (message: ToMain) => void): WorkerThread {
  const { worker } = data
  const telemetry = telemetryOf(data, post, () => services.prices.currency)
  const offload = new OffloadPool(JOBS.href, { lost: telemetry.jobLost })
  const revocations = new SharedRevocations(data.ended)
  const buckets = bucketsOf(new BucketTable(data.buckets, { owner: worker }))
  const log = (level: 'info' | 'error', message: string) => telemetry.logger.log(level, 'accounts', message)
  const { accounts, owners, close } = accountsOfWorker(data, buckets, log, telemetry)
  const services = {
    state,
    accounts,
    time: SYSTEM_TIME,
    offload,
    prices: new Prices(priceCatalogue),
    buckets,
    exportSpend: telemetry.exportSpend,
    failed: telemetry.expressionFailed,
    log: (level: 'info' | 'warn' | 'error', message: string) => telemetry.logger.log(level, 'policies', message)
  }
  const children = new ChildrenOfWorker(post)
  return new WorkerThread({
    worker,
    accounts: { change: (changes) => accounts.change(changes), close },
    children,
    secret: data.secret,
    traces: new ArmedTraces(data.traces),
    state: SharedState.attach(data.state),
    rows: new SharedRows(data.addresses, monotonicClock()),
    post,
    telemetry: {
      unrouted: telemetry.unrouted,
      downstream: telemetry.downstream,
      evicted: telemetry.downstream.evicted,
      upstream: telemetry.upstream,
      setLevel: telemetry.setLogLevel,
      sample: telemetry.upstream.sample,
      spendTaken: telemetry.spendTaken,
      takeMetrics: (chunks) => telemetry.takeMetrics(chunks as readonly MetricChunk[]),
      flush: async () => {
        // No exchange is left that could wait for it.
        await offload.close()
        await telemetry.close()
      }
    },
    build: (snapshot: Snapshot, upstream, lifecycle, places) =>
      buildRuntime(snapshot, {
        policies,
        services: { ...services, bodies: lifecycle.bodies },
        backends,
        upstream,
        recorderFor: telemetry.recorderFor,
        tcpRecorderFor: telemetry.tcpRecorderFor,
        mirrorRecorderFor: telemetry.mirrorRecorderFor,
        serviceRecorderFor: telemetry.serviceRecorderFor,
        tracerFor: telemetry.tracerFor,
        exportMetrics: telemetry.exportMetrics,
        fail: (ex, code) => lifecycle.fail(ex, code),
        reply: (ex, reply) => lifecycle.reply(ex, reply),
        mirror: (ex, mirrors) => lifecycle.mirrors.begin(ex, mirrors),
        inProcess: inProcess({ events: lifecycle, upstream, timers: lifecycle.timers }),
        children,
        secret: data.secret,
        worker: { index: worker, count: data.workers },
        places,
        revocations,
        owners
      })
  })
}

function telemetryOf(data: WorkerData, post: (message: ToMain) => void, currency: () => string): Telemetry {
  const { worker, metrics: region, logging, keepsSpend } = data
  return createTelemetry({
    ...{ region, worker, logging, instance: instanceOf(data.secret) },
    announce: (series) => post({ kind: 'series', series }),
    askForMetrics: () => post({ kind: 'askMetrics' }),
    currency,
    postSpend: keepsSpend ? (batch) => post({ kind: 'spend', batch }) : null
  })
}
