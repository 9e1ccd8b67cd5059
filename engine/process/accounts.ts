/** The accounts of the process: those of the configuration in force, wherever in it they stand, in the ledger. */

import type { BudgetReport } from '#engine/accounts/budget-report.ts'
import { StateFolder } from '#engine/accounts/journal/store.ts'
import { KeyApi } from '#engine/accounts/key-api.ts'
import { type KeyStorage, KeyStore } from '#engine/accounts/key-store.ts'
import { type BudgetStates, Ledger } from '#engine/accounts/ledger.ts'
import type { AccountChanges } from '#engine/accounts/rows.ts'
import { connectTo, serverText } from '#engine/accounts/server/connect.ts'
import { ServerControl } from '#engine/accounts/server/control.ts'
import { ServerKeys } from '#engine/accounts/server/keys.ts'
import { accountsIn, type Configured, type FoundAccounts, NO_ACCOUNT_SPECS } from '#engine/build/accounts.ts'
import type { StateServerSpec } from '#engine/contract/accounts.ts'
import type { Policy } from '#engine/contract/policy.ts'
import { CATALOGUE_CURRENCY, type PriceSettings } from '#engine/contract/price-list.ts'
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
  /** What workers have: one of both. */
  #last = this.#found
  /** Of all amounts; null: there was no configuration yet. */
  #currency: string | null = null

  readonly api: KeyApi
  #store: KeyStorage | null = null
  /** Null: what is spent is not kept in one. */
  #folder: StateFolder | null = null
  #wasComplete = true
  /** Null: nothing is shared with other processes. */
  #control: ServerControl | null = null

  constructor(options: AccountOptions) {
    this.#options = options
    const now = steadyWallClock()
    this.api = new KeyApi({
      store: () => this.#store,
      configured: () => this.#found.spec,
      changed: () => this.#put(this.#last),
      audit: (message) => options.log('info', `audit: ${message}`),
      now
    })
    const { state, workerThreads: workers } = options.process
    const { path = null, fsync = 'everysec', server = null } = state ?? {}
    const place = path === null ? null : { path, fsync }
    this.ledger = new Ledger({
      workers,
      place,
      server,
      now,
      log: options.log,
      currency: () => this.#currency ?? CATALOGUE_CURRENCY
    })
  }

  /** Before the first configuration. Rejects with what is wrong with config.state. */
  async open(): Promise<void> {
    const { log, process } = this.#options
    const { path = null, server = null } = process.state ?? {}
    await this.ledger.open(async (path) => {
      this.#folder = await StateFolder.open(path, log)
      return this.#folder
    })
    if (server !== null) this.#share(server, path)
    else if (path !== null) {
      log('info', `what is spent of budgets is kept in ${path}`)
      this.#store = new KeyStore(path, log)
    }
    this.ledger.start()
  }

  /** Does not wait for the server: what needs none is served without it. */
  #share(server: StateServerSpec, folder: string | null): void {
    const { log } = this.#options
    log('info', `budgets, limits and keys are those of all replicas with ${serverText(server)}`)
    const control = new ServerControl({
      connect: async (lost) => await connectTo(server, lost),
      isOpen: server.isOpen,
      folder,
      isLiving: (writer) => this.ledger.isLiving(writer),
      changed: (texts) => {
        keys.take(texts)
        this.ledger.isComplete = true
        this.#put(this.#last)
      },
      log
    })
    const keys = new ServerKeys(control)
    this.ledger.isComplete = false
    this.#control = control
    this.#store = keys
  }

  /** Rejects where the server cannot be asked. */
  async budgets(): Promise<readonly BudgetReport[]> {
    return this.#control === null ? this.ledger.budgets : await this.ledger.budgetsAt(this.#control)
  }

  /** Keys that the API has made, and what is used of budgets: rejects where the server cannot be asked. */
  get forExplanations() {
    const control = this.#control
    return {
      madeKeys: this.api.specs,
      budgets: async (): Promise<BudgetStates> =>
        control === null ? this.ledger.budgetStates : await this.ledger.budgetStatesAt(control),
      hasServer: control !== null
    }
  }

  /** All workers are gone. */
  async close(): Promise<void> {
    await this.#control?.close()
    await this.ledger.close()
  }

  workerStarts(worker: number): WorkerAccounts {
    return { memory: this.ledger.memory, ...this.ledger.workerStarts(worker), known: this.ledger.all }
  }

  /**
   * Before workers get `snapshot`: what it has is known when its routes are in force. Why it cannot be; null: it is.
   */
  offer(snapshot: Configured & Pick<Snapshot, 'gateway'>): string | null {
    const { policies, log } = this.#options
    const currency = currencyOf(snapshot)
    const kept = this.#currency !== null && this.ledger.hasBudgets ? this.#currency : currency
    // Of a process before this one.
    const other = kept === currency ? (this.#folder?.countIn(currency) ?? null) : kept
    if (other !== null)
      return `config.prices.currency: what is spent of the budgets (keys, teams, organisations) is in ${other}; ${currency} needs a restart of the process with another config.state`
    this.#currency = currency
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

  #put(found: FoundAccounts): void {
    this.#last = found
    const { spec, globals } = found
    const names = new Set(spec.keys.map(({ name }) => name))
    const made = this.api.specs.filter(({ name }) => !names.has(name))
    const all = made.length === 0 ? spec : { ...spec, keys: [...spec.keys, ...made] }
    const changes = this.ledger.configure(all, new Set([...globals, ...made.map(({ name }) => name)]))
    const { accounts, keys, goneAccounts, goneKeys, isComplete } = changes
    this.#audit(keys, goneKeys)
    const isOther = accounts.length + keys.length + goneAccounts.length + goneKeys.length > 0
    if (isOther || isComplete !== this.#wasComplete) this.#options.broadcast(changes)
    this.#wasComplete = isComplete
  }
}

/** ISO 4217, of the prices of `snapshot`. */
function currencyOf({ gateway }: Pick<Snapshot, 'gateway'>): string {
  const prices = gateway.frontend.prices as PriceSettings | undefined
  return prices?.currency ?? CATALOGUE_CURRENCY
}

/** The time of the system's clock when the process began, and from then on that of a clock that nobody sets. */
function steadyWallClock(): () => number {
  const began = Date.now() - performance.now()
  return () => began + performance.now()
}
