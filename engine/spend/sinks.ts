/** Where records of model calls go in a worker: to the file of the spend log, and to receivers of configurations. */

import type { Background } from '#engine/contract/background.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { SpendExportPlan } from '#engine/contract/spend.ts'
import type { Time } from '#engine/contract/time.ts'
import { type ExportResult, SpendExport } from './export.ts'
import { rowOf } from './record.ts'
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

  constructor(options: SpendSinksOptions) {
    this.#options = options
    this.recorder = options.recorder
    this.isOn = options.recorder !== null
  }

  /** `ex` is over and has asked a model, or was refused on its way to one. */
  record(ex: Exchange, route: string, status: number, durationMs: number): void {
    const { now, currency } = this.#options
    const row = rowOf(ex, { route, status, durationMs, now: now(), currency: currency() })
    this.recorder?.add(row)
    for (const one of this.#exports) one.add(row)
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
        void made.close().then(() => this.#known.delete(made))
      }
    }
  }

  /** The worker ends. */
  async close(): Promise<void> {
    this.recorder?.close()
    await Promise.all([...this.#known].map((one) => one.close()))
  }
}
