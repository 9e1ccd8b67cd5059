/** The spend log as the main thread has it: its thread, to which workers' batches and queries of people go. */
import { Worker } from 'node:worker_threads'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import type { SpendReply } from './answers.ts'
import type { SpendQuery } from './query.ts'
import type { Batch } from './recorder.ts'
import type { FromSpendThread, ToSpendThread } from './thread.ts'

/** Of the thread: batches and answers are small, SQLite's own memory does not count. */
const HEAP_MB = 128

export interface SpendLogOptions {
  readonly spec: SpendLogSpec
  /** The module that the thread runs. */
  readonly entry: URL
  /** A batch of `worker` has been dealt with. */
  readonly taken: (worker: number, outcome: { readonly count: number; readonly kept: number }) => void
  readonly log: (level: 'info' | 'error', message: string) => void
}

interface Waiting {
  readonly resolve: (reply: SpendReply) => void
  readonly reject: (error: Error) => void
}

export class SpendLog {
  readonly #options: SpendLogOptions
  readonly #thread: Worker
  readonly #opened = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<void>()
  readonly #waiting = new Map<number, Waiting>()
  /** Batches that the thread has, in order. */
  readonly #underway: { readonly worker: number; readonly count: number }[] = []
  #queries = 0
  /** What is wrong with the file has been said. */
  #isFailing = false
  #isGone = false
  #isClosing = false

  private constructor(options: SpendLogOptions) {
    this.#options = options
    const { entry } = options
    this.#thread = new Worker(entry, {
      name: 'weir-spend',
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
      // What Node says of its SQLite is for those who choose it, not for those who run weir.
      execArgv: ['--disable-warning=ExperimentalWarning']
    })
    this.#thread.on('message', (message: FromSpendThread) => this.#onMessage(message))
    this.#thread.on('error', (error) => this.#gone(`it failed: ${(error as Error).message}`))
    this.#thread.on('exit', () => this.#gone('its thread has ended'))
  }

  /** Rejects with what is wrong with config.spendLog. */
  static async open(options: SpendLogOptions): Promise<SpendLog> {
    const log = new SpendLog(options)
    log.#post({ kind: 'open', spec: options.spec })
    try {
      await log.#opened.promise
    } catch (error) {
      await log.close()
      throw error
    }
    return log
  }

  take(worker: number, { count, rows }: Batch): void {
    if (this.#isGone) this.#options.taken(worker, { count, kept: 0 })
    else {
      this.#underway.push({ worker, count })
      this.#post({ kind: 'rows', worker, count, rows })
    }
  }

  /** Rejects when the file cannot be read. */
  query(query: SpendQuery): Promise<SpendReply> {
    if (this.#isGone) return Promise.reject(new Error('the spend log is closed'))
    return new Promise((resolve, reject) => {
      const id = ++this.#queries
      this.#waiting.set(id, { resolve, reject })
      this.#post({ kind: 'query', id, query })
    })
  }

  /** Resolves when everything that was handed over is in the file. */
  async close(): Promise<void> {
    this.#isClosing = true
    if (!this.#isGone) this.#post({ kind: 'close' })
    await this.#closed.promise
  }

  #post(message: ToSpendThread): void {
    this.#thread.postMessage(message)
  }

  #onMessage(message: FromSpendThread): void {
    if (message.kind === 'open') this.#opened.resolve()
    else if (message.kind === 'failed') this.#opened.reject(new Error(message.message))
    else if (message.kind === 'taken') this.#onTaken(message)
    else if (message.kind === 'closed') this.#closed.resolve()
    else this.#onAnswer(message)
  }

  #onTaken({ worker, count, kept, problem }: FromSpendThread & { kind: 'taken' }): void {
    this.#underway.shift()
    this.#options.taken(worker, { count, kept })
    const isFailing = problem !== null
    if (isFailing === this.#isFailing) return
    this.#isFailing = isFailing
    // Once for each time: a disk that stays full must not fill the log. The counter has the rest.
    if (isFailing) this.#options.log('error', `records of model calls are lost: ${problem}`)
    else this.#options.log('info', 'records of model calls are kept again')
  }

  #onAnswer(message: FromSpendThread & { kind: 'answer' | 'noAnswer' }): void {
    const waiting = this.#waiting.get(message.id)
    this.#waiting.delete(message.id)
    if (message.kind === 'answer') waiting?.resolve(message.reply)
    else waiting?.reject(new Error(message.message))
  }

  #gone(why: string): void {
    if (this.#isGone) return
    this.#isGone = true
    const error = new Error(`config.spendLog: ${why}`)
    this.#opened.reject(error)
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
    const lost = this.#underway.splice(0)
    for (const { worker, count } of lost) this.#options.taken(worker, { count, kept: 0 })
    if (!this.#isClosing) this.#options.log('error', `records of model calls are lost until the next start: ${why}`)
    this.#closed.resolve()
  }
}
