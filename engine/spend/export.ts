/**
 * Records on their way to a receiver: gathered into batches of JSON, sent one after the other. A receiver that is slow
 * or away costs no more than the queue: what comes when it is full is left out, and counted.
 */
import type { ExportOutcome } from '#engine/contract/otlp.ts'
import type { SpendExportPlan } from '#engine/contract/spend.ts'
import type { Time } from '#engine/contract/time.ts'
import { contentChars, type Row, withoutContent } from './record.ts'
import { recordText } from './shown.ts'

/** Pauses between attempts: the first, and the longest, which also bounds what a receiver may ask for. */
const BACKOFF_MS = 1_000
const BACKOFF_MS_MAX = 30_000
const ATTEMPTS_MAX = 10
/** Characters of prompts and answers in one request, and of all that wait: what comes then is sent without. */
const BATCH_CHARS_MAX = 1024 * 1024
const WAITING_CHARS_MAX = 8 * 1024 * 1024
/** At the end of the process: a worker has 2 s. */
const LAST_MS = 1_500

export type ExportResult = 'sent' | 'queue_full' | 'refused' | 'expired' | 'shutdown'

export interface SpendExportOptions {
  readonly plan: SpendExportPlan
  readonly time: Time
  readonly count: (result: ExportResult, records: number) => void
}

interface Request {
  readonly body: Buffer
  readonly records: number
  attempts: number
}

export class SpendExport {
  readonly #options: SpendExportOptions
  readonly #rows: Row[] = []
  #chars = 0
  #request: Request | null = null
  #call: { cancel(): void } | null = null
  #stopTimer: (() => void) | null = null
  #stopPause: (() => void) | null = null
  #closing: Promise<void> | null = null
  /** Set while it is being closed. */
  #onEmpty: (() => void) | null = null
  /** What is wrong with the receiver has been said. */
  #isFailing = false

  constructor(options: SpendExportOptions) {
    this.#options = options
  }

  add(row: Row): void {
    const { plan, count, time } = this.#options
    if (this.#rows.length >= plan.queueMax) {
      count('queue_full', 1)
      return
    }
    const kept = this.#chars + contentChars(row) <= WAITING_CHARS_MAX ? row : withoutContent(row)
    this.#rows.push(kept)
    this.#chars += contentChars(kept)
    if (this.#rows.length >= plan.batchMax || this.#chars >= BATCH_CHARS_MAX) this.flush()
    else this.#stopTimer ??= time.after(plan.delayMs, () => this.flush())
  }

  /** Sends what has been gathered, as soon as the receiver has answered. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = null
    if (this.#request === null) this.#next()
  }

  /** Resolves when all is sent, or given up because that would take too long. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => {
      this.#closing = null
      this.#onEmpty = null
    })
    return this.#closing
  }

  #close(): Promise<void> {
    this.flush()
    if (this.#request === null) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = this.#options.time.after(LAST_MS, () => this.#giveUp())
    this.#onEmpty = () => {
      stop()
      resolve()
    }
    if (this.#stopPause !== null) this.#send()
    return promise
  }

  #next(): void {
    const rows = this.#rows.splice(0, this.#batchRows())
    if (rows.length === 0) {
      this.#request = null
      this.#onEmpty?.()
      return
    }
    const text = rows.map(recordText).join(',')
    this.#request = { body: Buffer.from(`{"records":[${text}]}`), records: rows.length, attempts: 0 }
    this.#send()
  }

  /** One at least, if there is any. */
  #batchRows(): number {
    const { batchMax } = this.#options.plan
    if (this.#chars === 0) return batchMax
    let rows = 0
    let chars = 0
    while (rows < batchMax && rows < this.#rows.length && chars < BATCH_CHARS_MAX) {
      chars += contentChars(this.#rows[rows++]!)
    }
    this.#chars -= chars
    return rows
  }

  #send(): void {
    this.#stopPause?.()
    this.#stopPause = null
    const request = this.#request!
    request.attempts++
    this.#call = this.#options.plan.send(request.body, (outcome) => {
      this.#call = null
      // After close() it may have been given up.
      if (this.#request === request) this.#done(request, outcome)
    })
  }

  #done(request: Request, outcome: ExportOutcome): void {
    const { count } = this.#options
    if (outcome.kind === 'again' && this.#onEmpty === null && request.attempts < ATTEMPTS_MAX) {
      this.#pause(request, outcome)
      return
    }
    this.#tell(outcome.kind === 'taken' ? null : `${request.records} records are lost: ${outcome.message}`)
    if (outcome.kind === 'taken') count('sent', request.records)
    else
      count(outcome.kind === 'refused' ? 'refused' : this.#onEmpty === null ? 'expired' : 'shutdown', request.records)
    this.#next()
  }

  #pause({ attempts }: Request, { afterMs, message }: ExportOutcome & { kind: 'again' }): void {
    const { time } = this.#options
    this.#tell(`it takes nothing now: ${message}`)
    const bound = Math.min(BACKOFF_MS * 2 ** (attempts - 1), BACKOFF_MS_MAX)
    // Half of it at random: workers that failed together do not come back together.
    const backoffMs = (bound * (1 + time.random())) / 2
    const waitMs = afterMs === null ? backoffMs : Math.min(Math.max(afterMs, 0), BACKOFF_MS_MAX)
    this.#stopPause = time.after(waitMs, () => this.#send())
  }

  #giveUp(): void {
    this.#call?.cancel()
    const { count } = this.#options
    count('shutdown', (this.#request?.records ?? 0) + this.#rows.splice(0).length)
    this.#request = null
    this.#onEmpty?.()
  }

  /** Once for each time that it fails: the counter has the rest. */
  #tell(problem: string | null): void {
    const { log, name } = this.#options.plan
    if (problem !== null && !this.#isFailing) log('warn', `records of model calls for ${name}: ${problem}`)
    this.#isFailing = problem !== null
  }
}
