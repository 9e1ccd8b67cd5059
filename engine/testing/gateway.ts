/** A whole gateway of one worker in the calling thread, from the text of a configuration file. */
import { backends } from '#backends/index.ts'
import { buildRuntime } from '#engine/build/runtime.ts'
import { newKept } from '#engine/contract/kept.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import { formatErrors, loadConfig } from '#engine/standalone/load.ts'
import { REGION_BYTES } from '#engine/telemetry/metrics.ts'
import { createTelemetry } from '#engine/telemetry/telemetry.ts'
import type { ToMain } from '#engine/workers/messages.ts'
import { SharedState } from '#engine/workers/shared.ts'
import { WorkerThread } from '#engine/workers/worker.ts'
import { policies } from '#policies/index.ts'

export interface TestGateway {
  /** Of the first bind, whatever the configuration says: the system chooses. */
  readonly port: number
  /** Puts another configuration in force; rejects with the worker's message. */
  reload(yaml: string): Promise<void>
  close(): Promise<void>
}

/** The access log is off unless the configuration's log level turns it on. Rejects with the mistakes of `yaml`. */
export async function startGateway(yaml: string): Promise<TestGateway> {
  let version = 0
  let answer: (message: ToMain) => void = () => {}
  const first = snapshotOf(yaml, ++version)
  const telemetry = createTelemetry({
    region: new SharedArrayBuffer(REGION_BYTES),
    worker: 0,
    announce: () => {},
    logging: { level: 'warn', format: 'text' }
  })
  const kept = newKept()
  const worker = new WorkerThread({
    worker: 0,
    state: SharedState.create(1),
    post: (message) => answer(message),
    telemetry: {
      unrouted: telemetry.unrouted,
      downstream: { opened: telemetry.connectionOpened, closed: telemetry.connectionClosed },
      upstream: telemetry.upstream,
      setLevel: telemetry.setLogLevel,
      sample: () => {},
      flush: () => telemetry.close()
    },
    build: (snapshot, upstream, lifecycle) =>
      buildRuntime(snapshot, {
        policies,
        kept,
        backends,
        upstream,
        recorderFor: telemetry.recorderFor,
        fail: (ex, code) => lifecycle.fail(ex, code)
      })
  })
  const ask = (message: Parameters<WorkerThread['receive']>[0]): Promise<ToMain> =>
    new Promise((resolve) => {
      answer = resolve
      worker.receive(message)
    })
  const publish = async (snapshot: Snapshot): Promise<number> => {
    const message = await ask({ kind: 'snapshot', snapshot })
    if (message.kind === 'serving') return message.binds[0]!.port
    throw new Error(message.kind === 'failed' ? message.message : message.kind)
  }
  const port = await publish(first)
  return {
    port,
    async reload(next) {
      await publish(snapshotOf(next, ++version))
    },
    async close() {
      await ask({ kind: 'stop' })
    }
  }
}

/** Port 0 for every bind: the runtime serves whatever port the system gave. */
function snapshotOf(yaml: string, version: number): Snapshot {
  // In a file a port is from 1 on; tests write 0 for "any".
  const text = yaml.replace(/(\bport"?): ?0\b/g, '$1: 1')
  const loaded = loadConfig(text, { file: 'test.yaml', env: {}, policies })
  if (!loaded.ok) throw new Error(formatErrors(loaded.errors))
  const binds = loaded.snapshot.binds.map((bind) => ({ ...bind, port: 0 }))
  return { ...loaded.snapshot, binds, version, hash: '', acceptedAt: '' }
}
