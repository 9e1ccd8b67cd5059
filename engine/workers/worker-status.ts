/** One worker, as the admin side shows it. */
export interface WorkerStatus {
  readonly index: number
  readonly isServing: boolean
  readonly isStopped: boolean
  /** ISO time. */
  readonly startedAt: string
  readonly connections: number
}
