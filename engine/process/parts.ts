/** What the program is made of, from start.ts and main.ts. */
import type { BackendKind } from '#engine/contract/backend.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { PriceRow } from '#engine/contract/price-list.ts'
import type { ForeignFiles } from '#engine/standalone/load.ts'
import type { SpareThread } from '#engine/workers/thread.ts'
import type { ControlPlaneOptions } from './control.ts'
import type { ExplainRequest } from './explanations.ts'

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

/** What main.ts knows, which knows policies and backends. */
export interface ProgramParts extends Start {
  readonly policies: readonly Policy[]
  readonly backends: readonly BackendKind[]
  readonly check: ControlPlaneOptions['check']
  readonly prepare: ControlPlaneOptions['prepare']
  readonly foreign: ForeignFiles
  /** JSON of a text in YAML, made by another thread. */
  readonly convert: (yaml: string) => Promise<string>
  /** Starts the built-in demonstration behind `port`; resolves with its configuration. */
  readonly demo: (port: string, program: URL) => Promise<string>
  readonly explain: ExplainRequest
  readonly priceCatalogue: () => readonly PriceRow[]
}
