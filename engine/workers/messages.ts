/** What the main thread and its workers say to each other. */

import type { BooksMemory } from '#engine/accounts/books.ts'
import type { JournalPlace } from '#engine/accounts/journal/writer.ts'
import type { AccountChanges } from '#engine/accounts/rows.ts'
import type { ServerPlace } from '#engine/accounts/server/worker.ts'
import type { EndpointReport, HostListChanges, MeshCredentials } from '#engine/contract/endpoint.ts'
import type { SharedMemory } from '#engine/http/webassembly.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { SnapshotDelta } from '#engine/ir/snapshot-delta.ts'
import type { Batch } from '#engine/spend/recorder.ts'
import type { Story } from '#engine/story/story.ts'
import type { SharedTraces } from './armed-traces.ts'
import type { ChildCommand, ChildEvent } from './children/messages.ts'

/** What a worker needs before its first configuration. */
export interface WorkerData {
  readonly worker: number
  /** How many there are. */
  readonly workers: number
  readonly state: SharedArrayBuffer
  /** The token buckets of the process (bucket-table.ts). */
  readonly buckets: SharedMemory
  /** The worker's region for metric series. */
  readonly metrics: SharedArrayBuffer
  readonly logging: Snapshot['process']['logging']
  /** 32 random bytes of this process, the same for all workers: what one of them seals, every other one opens. */
  readonly secret: Uint8Array
  /** Marks of what one worker has ended, for all of them (shared.ts). */
  readonly ended: SharedArrayBuffer
  /** What is known of the addresses of backends (kit/shared-rows.ts). */
  readonly addresses: SharedArrayBuffer
  /** What is spent of budgets, where this worker writes that down, and the accounts of the moment. */
  readonly accounts: WorkerAccounts
  /** Records of model calls are wanted. */
  readonly keepsSpend: boolean
  /** Which requests are followed (armed-traces.ts). */
  readonly traces: SharedTraces
}

export interface WorkerAccounts {
  readonly memory: BooksMemory
  /** Null: nowhere. */
  readonly journal: JournalPlace | null
  /** Null: what is spent is in `memory`. */
  readonly server: ServerPlace | null
  readonly known: AccountChanges
}

export interface OpenedBind {
  readonly port: number
  readonly transport: string
  readonly detail: string
}

export type ToWorker =
  /** First of all: the thread is a worker from now on. */
  | { readonly kind: 'begin'; readonly data: WorkerData }
  /** Packed for what this worker was sent last (snapshot-delta.ts). */
  | {
      readonly kind: 'snapshot'
      readonly snapshot: SnapshotDelta
      /** Where its parts were written (engine/ir/places.ts); absent or null: unknown. */
      readonly places?: SharedArrayBuffer | null
    }
  /**
   * Hosts that are known without DNS, and what has become of those that the worker knows. Before the first snapshot, or
   * never: then every name is for DNS.
   */
  | { readonly kind: 'hosts'; readonly changes: HostListChanges }
  /** For connections to workloads of a mesh from now on; never: there are no such. */
  | { readonly kind: 'mesh'; readonly credentials: MeshCredentials }
  /** Accounts that are new, others than before, or gone: in force at once. */
  | { readonly kind: 'accounts'; readonly changes: AccountChanges }
  /** Another log level for this worker's access log. */
  | { readonly kind: 'level'; readonly level: string }
  /** A request is to be followed (armed-traces.ts). */
  | { readonly kind: 'armed' }
  /** The end is near: answers say so. */
  | { readonly kind: 'leave' }
  /** What is known of the addresses of backends, for people: answered by 'endpoints'. */
  | { readonly kind: 'report' }
  /** First step of the end: take what waits, then no new connections. */
  | { readonly kind: 'drain' }
  /** Last step: cut what is left, flush logs, exit. */
  | { readonly kind: 'stop' }
  /** The metrics of all workers, for this one to send; opaque to the supervisor. */
  | { readonly kind: 'metrics'; readonly chunks: unknown }
  /** The oldest batch of records has been dealt with; `kept`: as many of it are in the file. */
  | { readonly kind: 'spendTaken'; readonly count: number; readonly kept: number }
  /** From a child process. */
  | ChildEvent

export type ToMain =
  | { readonly kind: 'serving'; readonly version: number; readonly binds: readonly OpenedBind[] }
  /** The snapshot could not be put in force; the one before it stays. `code`: of the system's error. */
  | { readonly kind: 'failed'; readonly version: number; readonly message: string; readonly code: string | null }
  /** A metric series that the worker has begun to write; opaque to the supervisor. */
  | { readonly kind: 'series'; readonly series: unknown }
  /** Records of model calls. */
  | { readonly kind: 'spend'; readonly batch: Batch }
  /** It is time to send the metrics of all workers. */
  | { readonly kind: 'askMetrics' }
  | { readonly kind: 'endpoints'; readonly endpoints: readonly EndpointReport[] }
  /** A request that was followed is over. */
  | { readonly kind: 'story'; readonly story: Story }
  /** After 'drain': no connection is left. */
  | { readonly kind: 'drained' }
  | { readonly kind: 'stopped' }
  /** For a child process. */
  | ChildCommand
