/**
 * The configuration that is in force, whatever source it is from: it goes to the workers, and what people ask of it is
 * here. Lives on the main thread, which serves no traffic.
 */
import type { Expanded } from '#engine/ir/expanded.ts'
import type { Places } from '#engine/ir/places.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { SnapshotDraft } from '#engine/source/translate.ts'
import type { Published, Supervisor } from '#engine/workers/supervisor.ts'

import type { ProcessAccounts } from './accounts.ts'

/** What the admin port and the log tell about the configuration. */
export interface ConfigStatus {
  /** Of the configuration in force; null before the first. */
  readonly snapshot: Snapshot | null
  /** What of it came from the environment. */
  readonly expanded: readonly Expanded[]
  /** Where its parts were written; null before the first. */
  readonly places: Places | null
  readonly lastError: { readonly at: string; readonly message: string } | null
  readonly reloads: { readonly ok: number; readonly failed: number }
}

/** Why a configuration could not be put in force, and how to mend it. */
export function explainFailure({ message, code }: Published & { ok: false }): string {
  if (code === 'EADDRINUSE')
    return `${message}. Stop what listens there, or choose another port (binds[].port, llm.port; PORT for the demonstration)`
  if (code === 'EACCES')
    return `${message}. Ports below 1024 need privileges: choose another port or grant CAP_NET_BIND_SERVICE`
  return message
}

/** What is to be put in force. */
export interface Offer {
  readonly draft: SnapshotDraft
  readonly hash: string
  readonly expanded: readonly Expanded[]
  /** Null: unknown. */
  readonly places: Places | null
}

export class InForce {
  #snapshot: Snapshot | null = null
  #expanded: readonly Expanded[] = []
  #places: Places | null = null
  #lastError: ConfigStatus['lastError'] = null
  #ok = 0
  #failed = 0
  #versions = 0
  readonly #supervisor: Pick<Supervisor, 'publish'>
  readonly #process: Snapshot['process']
  readonly #log: (level: 'error', message: string) => void
  readonly #accounts: Pick<ProcessAccounts, 'offer' | 'settled'> | null

  /** `process`: settings of the process, which hold until it ends. */
  constructor(
    supervisor: Pick<Supervisor, 'publish'>,
    process: Snapshot['process'],
    log: (level: 'error', message: string) => void,
    accounts: Pick<ProcessAccounts, 'offer' | 'settled'> | null = null
  ) {
    this.#supervisor = supervisor
    this.#process = process
    this.#log = log
    this.#accounts = accounts
  }

  /** Milliseconds of the wall clock for an accepted configuration, null for a refused one. */
  onReload: (acceptedAtMs: number | null) => void = () => {}

  /** What is in force from now on. */
  onInForce: (snapshot: Snapshot) => void = () => {}

  get status(): ConfigStatus {
    return {
      snapshot: this.#snapshot,
      expanded: this.#expanded,
      places: this.#places,
      lastError: this.#lastError,
      reloads: { ok: this.#ok, failed: this.#failed }
    }
  }

  async publish({ draft, hash, expanded, places }: Offer): Promise<Published> {
    const acceptedAt = new Date().toISOString()
    const snapshot: Snapshot = { ...draft, process: this.#process, version: ++this.#versions, hash, acceptedAt }
    const problem = this.#accounts?.offer(snapshot) ?? null
    if (problem !== null) return { ok: false, message: problem, code: null }
    const outcome = await this.#supervisor.publish(snapshot, places)
    this.#accounts?.settled(outcome.ok)
    if (!outcome.ok) return outcome
    const isFirst = this.#snapshot === null
    this.#places = places
    this.#snapshot = snapshot
    this.#expanded = expanded
    this.#lastError = null
    this.onInForce(snapshot)
    if (!isFirst) this.#ok++
    this.onReload(Date.now())
    return outcome
  }

  /** What is offered is what runs: what was wrong with another offer is over. */
  offeredAgain(): void {
    this.#lastError = null
  }

  refuse(message: string): void {
    this.#failed++
    this.onReload(null)
    this.#lastError = { at: new Date().toISOString(), message }
    this.#log('error', message)
  }
}
