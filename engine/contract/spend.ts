/** Records of model calls (docs/spend.md): where they are kept, and where they are sent. */
import type { Background } from './background.ts'
import type { ExportOutcome } from './otlp.ts'

/** The file that has them, and for how long. Plain data. */
export interface SpendLogSpec {
  /** A folder. */
  readonly path: string
  /** Age at which single records are removed. */
  readonly recordsMaxAgeMs: number
  /** The same of the sums by hour. */
  readonly sumsMaxAgeMs: number
  /** Of the file: beyond, the oldest records are removed. */
  readonly bytesMax: number
  /** What was said is kept with the records; absent: it is not. */
  readonly prompts?: SpendPrompts
}

export interface SpendPrompts {
  /** Of the prompt of one call, of its answer and of its calls of tools, each as JSON. */
  readonly bytesMax: number
  /** Spans tell it, too. */
  readonly isTraced: boolean
}

/** Where the records of model calls go beside the file, while a configuration is in force. */
export interface SpendExportPlan {
  /** For logs. */
  readonly name: string
  /** `body`: JSON. `done` is called once and not before the return. */
  send(body: Buffer, done: (outcome: ExportOutcome) => void): { cancel(): void }
  /** How long the first record of a batch waits for others. */
  readonly delayMs: number
  /** Records of one batch. */
  readonly batchMax: number
  /** Records that wait in one worker while the receiver is slow or away. */
  readonly queueMax: number
  readonly log: (level: 'warn', message: string) => void
}

/** Has the records of this thread's model calls sent by `plan`. */
export type ExportSpend = (plan: SpendExportPlan) => Background

export const NO_SPEND_EXPORT: ExportSpend = () => ({ begin() {}, end() {} })
