/** The accounts of the process: those of the configuration in force, wherever in it they stand, in the ledger. */

import { StateFolder } from '#engine/accounts/journal/store.ts'
import { KeyApi } from '#engine/accounts/key-api.ts'
import { KeyStore } from '#engine/accounts/key-store.ts'
import { Ledger } from '#engine/accounts/ledger.ts'
import type { AccountChanges } from '#engine/accounts/rows.ts'
import { accountsIn, type Configured, type FoundAccounts, NO_ACCOUNT_SPECS } from '#engine/build/accounts.ts'
import type { Policy } from '#engine/contract/policy.ts'
import type { Snapshot } from '#engine/ir/snapshot.ts'
import type { WorkerAccounts } from '#engine/workers/messages.ts'

/** In one line of the log. */
const NAMED_MAX = 20

export interface AccountOptions {
  readonly process: Pick<Snapshot['process'], 'state' | 'workerThreads'>
  readonly policies: readonly Policy[]
  /** To all workers. */
  readonly broadcast: (changes: AccountChanges) => void
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void
}

export class ProcessAccounts {
  readonly ledger: Ledger
  readonly #options: AccountOptions
  /** Of the configuration in force. */
  #found: FoundAccounts = { spec: NO_ACCOUNT_SPECS, globals: new Set(), doubles: [] }
  /** Of the one that is being put in force. */
  #offered = this.#found

  readonly api: KeyApi
  #store: KeyStore | null = null

  constructor(options: AccountOptions) {
    this.#options = options
    const now = steadyWallClock()
    this.api = new KeyApi({
      store: () => this.#store,
      configured: () => this.#found.spec,
      changed: () => this.#put(this.#found),
      audit: (message) => options.log('info', `audit: ${message}`),
      now
    })
    const { state: place = null, workerThreads: workers } = options.process
    this.ledger = new Ledger({ workers, place, now, log: options.log })
  }

  /** Before the first configuration. Rejects with what is wrong with config.state. */
  async open(): Promise<void> {
    const { log, process } = this.#options
    await this.ledger.open(async (path) => await StateFolder.open(path, log))
    if (process.state !== undefined) log('info', `what is spent of budgets is kept in ${process.state.path}`)
    const { path } = process.state ?? {}
    if (path !== undefined) this.#store = new KeyStore(path, log)
    this.ledger.start()
  }

  workerStarts(worker: number): WorkerAccounts {
    return { memory: this.ledger.memory, journal: this.ledger.workerStarts(worker), known: this.ledger.all }
  }

  /**
   * Before workers get `snapshot`: what it has is known when its routes are in force. Why it cannot be; null: it is.
   */
  offer(snapshot: Configured): string | null {
    const { policies, log } = this.#options
    this.#offered = accountsIn(snapshot, policies)
    for (const name of this.#offered.doubles) log('warn', `two keys are called ${name}: that of a policy is not known`)
    try {
      this.#put(this.#offered)
      return null
    } catch (error) {
      // There is no room for all of them. What was in force has room.
      this.#put(this.#found)
      return (error as Error).message
    }
  }

  /** What becomes of what was offered. */
  settled(isInForce: boolean): void {
    if (isInForce) this.#found = this.#offered
    else this.#put(this.#found)
  }

  /** What a reload has changed; the API says by itself what it has. */
  #audit(keys: readonly { readonly name: string }[], gone: readonly string[]): void {
    if (keys.length + gone.length === 0) return
    const names = [...keys.map(({ name }) => name), ...gone.map((name) => `${name} (gone)`)]
    const more = names.length > NAMED_MAX ? ` and ${names.length - NAMED_MAX} more` : ''
    this.#options.log(
      'info',
      `audit: keys that are new, changed or gone: ${names.slice(0, NAMED_MAX).join(', ')}${more}`
    )
  }

  #put({ spec, globals }: FoundAccounts): void {
    const names = new Set(spec.keys.map(({ name }) => name))
    const made = this.api.specs.filter(({ name }) => !names.has(name))
    const all = made.length === 0 ? spec : { ...spec, keys: [...spec.keys, ...made] }
    const changes = this.ledger.configure(all, new Set([...globals, ...made.map(({ name }) => name)]))
    const { accounts, keys, goneAccounts, goneKeys } = changes
    this.#audit(keys, goneKeys)
    if (accounts.length + keys.length + goneAccounts.length + goneKeys.length > 0) this.#options.broadcast(changes)
  }
}

/** The time of the system's clock when the process began, and from then on that of a clock that nobody sets. */
function steadyWallClock(): () => number {
  const began = Date.now() - performance.now()
  return () => began + performance.now()
}
