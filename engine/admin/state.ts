/** What the admin side shows. The process fills it anew for every request, so it is never stale. */
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'

export interface WorkerState {
  readonly id: number
  readonly state: 'starting' | 'serving' | 'draining' | 'stopped'
  /** ISO time. */
  readonly startedAt: string
}

export interface AdminState {
  /** Of the program. */
  readonly version: string
  /** ISO time. */
  readonly startedAt: string
  /** What runs; null until the first configuration is accepted. */
  readonly snapshot: Snapshot | null
  /** What of it came from the environment, and is shown as a reference to it. */
  readonly expanded: readonly Expanded[]
  /** Why the last offered configuration was refused; null when the last one was accepted. */
  readonly lastError: { readonly at: string; readonly message: string } | null
  readonly workers: readonly WorkerState[]
  /** What readiness waits for, for example "configuration" or "drain"; empty when ready. */
  readonly pending: readonly string[]
  /** Log directives in force. */
  readonly logLevel: string
}
