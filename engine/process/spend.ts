/** The spend log of the process, where config.spendLog asks for one. */
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import type { SpendReply } from '#engine/spend/answers.ts'
import type { SpendLog } from '#engine/spend/log.ts'
import type { SpendQuery } from '#engine/spend/query.ts'
import type { Batch } from '#engine/spend/recorder.ts'
import type { Supervisor } from '#engine/workers/supervisor.ts'

/** Beside this module, or beside the bundle that holds it. */
const ENTRY = import.meta.url.endsWith('.ts')
  ? new URL('./spend-thread.ts', import.meta.url)
  : new URL('./weir-spend.mjs', import.meta.url)

export interface ProcessSpendOptions {
  readonly spec: SpendLogSpec
  readonly supervisor: Pick<Supervisor, 'tell'>
  readonly log: (level: 'info' | 'error', message: string) => void
}

export class ProcessSpend {
  readonly #options: ProcessSpendOptions
  #log: SpendLog | null = null

  constructor(options: ProcessSpendOptions) {
    this.#options = options
  }

  /** Before the first configuration. Rejects with what is wrong with config.spendLog. */
  async open(): Promise<void> {
    const { spec, supervisor, log } = this.#options
    const { SpendLog: Log } = await import('#engine/spend/log.ts')
    this.#log = await Log.open({
      spec,
      entry: ENTRY,
      taken: (worker, outcome) => supervisor.tell(worker, { kind: 'spendTaken', ...outcome }),
      log
    })
    log('info', `records of model calls are kept in ${spec.path}`)
  }

  take(worker: number, batch: Batch): void {
    this.#log?.take(worker, batch)
  }

  async query(query: SpendQuery): Promise<SpendReply> {
    if (this.#log === null) throw new Error('the spend log is not open yet')
    return await this.#log.query(query)
  }

  /** Behind the workers. Resolves when everything is in the file. */
  async close(): Promise<void> {
    await this.#log?.close()
  }
}
