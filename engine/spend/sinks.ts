/** Where records of model calls go in a worker: to the file of the spend log, and to receivers of configurations. */

import type { Background } from '#engine/contract/background.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { ContentReader, KeptContent } from '#engine/contract/kept-content.ts'
import type { SpendExportPlan } from '#engine/contract/spend.ts'
import type { Time } from '#engine/contract/time.ts'
import { type ExportResult, SpendExport } from './export.ts'
import { type Row, rowOf, withContent } from './record.ts'
import type { SpendRecorder } from './recorder.ts'

export interface SpendSinksOptions {
  /** Null: records are not kept. */
  readonly recorder: SpendRecorder | null
  readonly time: Time
  readonly count: (result: ExportResult, records: number) => void
  /** Of prices: ISO 4217. */
  readonly currency: () => string
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export class SpendSinks {
  /** Somebody wants records: otherwise none are made. */
  isOn: boolean
  readonly recorder: SpendRecorder | null
  readonly #options: SpendSinksOptions
  readonly #exports = new Set<SpendExport>()
  /** Those of configurations that are gone may still have something to send. */
  readonly #known = new Set<SpendExport>()
  /** Records whose content another thread looks into. */
  readonly #later = new Set<Promise<void>>()

  constructor(options: SpendSinksOptions) {
    this.#options = options
    this.recorder = options.recorder
    this.isOn = options.recorder !== null
  }

  /**
   * `ex` is over and has asked a model, or was refused on its way to one. `content`: null: what was said is not kept.
   */
  record(ex: Exchange, route: string, status: number, durationMs: number, content: ContentReader | null = null): void {
    const { now, currency } = this.#options
    const row = rowOf(ex, { route, status, durationMs, now: now(), currency: currency() })
    const kept = content === null ? null : content(ex)
    if (kept instanceof Promise) this.#addLater(row, kept)
    else this.#add(kept === null ? row : withContent(row, kept), this.#exports)
  }

  #add(row: Row, exports: Iterable<SpendExport>): void {
    this.recorder?.add(row)
    for (const one of exports) one.add(row)
  }

  /** To the receivers of now, whatever the configuration is by then. */
  #addLater(row: Row, kept: Promise<KeptContent | null>): void {
    const exports = [...this.#exports]
    const done = kept.then((content) => {
      this.#add(content === null ? row : withContent(row, content), exports)
      this.#later.delete(done)
    })
    this.#later.add(done)
  }

  /** Records go there while a configuration with it is in force. */
  export(plan: SpendExportPlan): Background {
    const { time, count } = this.#options
    const made = new SpendExport({ plan, time, count })
    // `begin` of the next configuration comes before `end` of the last.
    let uses = 0
    return {
      begin: () => {
        uses++
        this.#exports.add(made)
        this.#known.add(made)
        this.isOn = true
      },
      end: () => {
        if (--uses > 0) return
        this.#exports.delete(made)
        this.isOn = this.recorder !== null || this.#exports.size > 0
        const closed = Promise.all(this.#later).then(() => made.close())
        void closed.then(() => this.#known.delete(made))
      }
    }
  }

  /** The worker ends. */
  async close(): Promise<void> {
    await Promise.all(this.#later)
    this.recorder?.close()
    await Promise.all([...this.#known].map((one) => one.close()))
  }
}
