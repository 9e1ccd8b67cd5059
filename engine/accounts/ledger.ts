/**
 * The accounts of the process, on the main thread: which there are, where each has its place in the shared books, and
 * when
 * the periods of its budgets begin. Workers count; this file gives out, begins periods, and remembers.
 */
import { resolve } from 'node:path'
import type { AccountsSpec, BudgetSpec, Fsync, KeySpec, StateServerSpec, TeamSpec } from '#engine/contract/accounts.ts'
import { CATALOGUE_CURRENCY } from '#engine/contract/price-list.ts'
import { accountNumbers, Books, type BooksMemory, createBooks, placeNumbers, rowNumbers } from './books.ts'
import { budgetId } from './budget-id.ts'
import { type BudgetReport, budgetText, reportOf } from './budget-report.ts'
import { type AccountEntry, accountEntries, accountsOfKey, claimsOf } from './entries.ts'
import type { StateFolder } from './journal/store.ts'
import { partOf } from './journal/totals.ts'
import type { JournalPlace } from './journal/writer.ts'
import { partMs, periodAt } from './periods.ts'
import type { AccountChanges, AccountRow, BudgetRow, KeyRow } from './rows.ts'
import type { ServerControl } from './server/control.ts'
import type { BudgetState } from './server/operations.ts'
import type { ServerPlace } from './server/worker.ts'

/** How often periods are looked at; a budget begins anew this much late at most. */
const TICK_MS = 1_000
const COMPACT_MS = 60_000

type Log = (level: 'info' | 'warn' | 'error', message: string) => void

export interface LedgerOptions {
  readonly workers: number
  /** Null: the books are in memory alone. */
  readonly place: { readonly path: string; readonly fsync: Fsync } | null
  /** What replicas share; null or absent: budgets are those of this process. */
  readonly server?: StateServerSpec | null
  /** Milliseconds since 1970. Of a clock that never goes back and does not jump: the system's may. */
  readonly now: () => number
  readonly log: Log
  /** ISO 4217, of all amounts. Of the prices in force; default that of the catalogue. */
  readonly currency?: () => string
  /** Of `place`, open already. */
  readonly folder?: StateFolder
}

/** One budget in the books. */
interface Booked {
  readonly id: string
  readonly place: number
  spec: BudgetSpec
  row: number
  end: number
  /** Nobody has it any more: forgotten when its period is over. */
  isGone: boolean
  /** Of a rolling budget: begin of a part -> what was spent in it. */
  readonly parts: Map<number, bigint> | null
  /** What was spent when the parts were last filled in. */
  seen: bigint
}

/** What is spent, and what is set aside, by the budget's id (budget-id.ts). */
export type BudgetStates = ReadonlyMap<string, BudgetState>

/** Where a worker writes down what its calls cost. */
export interface WorkerPlaces {
  /** Null: the worker writes nothing. */
  readonly journal: JournalPlace | null
  /** Null: the books are those of this process. */
  readonly server: ServerPlace | null
}

export class Ledger {
  readonly memory: BooksMemory
  /** False: keys of the API are kept elsewhere and have not come yet. */
  isComplete = true
  readonly #books: Books
  readonly #options: LedgerOptions
  #folder: StateFolder | null = null
  readonly #budgets = new Map<string, Booked>()
  readonly #rows = rowNumbers()
  readonly #places = placeNumbers()
  readonly #accountNumbers = accountNumbers()
  /** Rows of periods that are over, with calls that may be under way. */
  #leaving: number[] = []
  #accounts = new Map<string, { readonly entry: AccountEntry; readonly row: AccountRow }>()
  #keys = new Map<string, { readonly spec: KeySpec; readonly row: KeyRow }>()
  /** Names of writers: by worker, and those whose worker is gone. */
  readonly #writers = new Map<number, string>()
  #gone = new Set<string>()
  #begun = 0
  readonly #boot: string
  #timers: NodeJS.Timeout[] = []

  constructor(options: LedgerOptions) {
    this.#options = options
    this.#folder = options.folder ?? null
    this.memory = createBooks(options.workers)
    this.#books = new Books(this.memory)
    // The clock is part of it, so that names of two processes are never the same.
    this.#boot = `${Math.floor(Date.now()).toString(36)}${crypto.randomUUID().slice(0, 8)}`
  }

  /** Before accounts are configured. Rejects where the folder cannot be used. */
  async open(folder: (path: string) => Promise<StateFolder>): Promise<void> {
    if (this.#options.place !== null) this.#folder = await folder(this.#options.place.path)
  }

  /** Looks after periods and the journal from now on. Keeps no process alive. */
  start(): void {
    this.#timers = [setInterval(() => this.tick(), TICK_MS).unref()]
    if (this.#options.place !== null) this.#timers.push(setInterval(() => this.compact(), COMPACT_MS).unref())
  }

  /**
   * What workers have to know that they do not know yet. `globals`: keys that are valid wherever keys are asked for.
   */
  configure(spec: AccountsSpec, globals: ReadonlySet<string>): AccountChanges {
    const before = { accounts: this.#accounts, keys: this.#keys }
    this.#accounts = new Map()
    this.#keys = new Map()
    const changes = { accounts: [] as AccountRow[], keys: [] as KeyRow[] }
    for (const entry of accountEntries(spec)) {
      const known = before.accounts.get(entry.id)
      const isSame = known !== undefined && isAlike(known.entry, entry)
      const row = isSame ? known.row : this.#open(entry, known?.row)
      this.#accounts.set(entry.id, { entry, row })
      if (!isSame) changes.accounts.push(row)
    }
    const teams = new Map(spec.teams.map((team) => [team.name, team]))
    for (const key of spec.keys) {
      const row = this.#keyRow(key, teams, globals.has(key.name))
      if (row === null) continue
      const known = before.keys.get(key.name)
      this.#keys.set(key.name, { spec: key, row })
      if (known === undefined || !isAlike(known.row, row)) changes.keys.push(row)
    }
    const goneAccounts = [...before.accounts.keys()].filter((id) => !this.#accounts.has(id))
    for (const id of goneAccounts) this.#leave(before.accounts.get(id)!.row)
    const goneKeys = [...before.keys.keys()].filter((name) => !this.#keys.has(name))
    return { ...changes, goneAccounts, goneKeys, isComplete: this.isComplete }
  }

  /** Everything, for a worker that knows nothing. */
  get all(): AccountChanges {
    const accounts = [...this.#accounts.values()].map(({ row }) => row)
    const keys = [...this.#keys.values()].map(({ row }) => row)
    return { accounts, keys, goneAccounts: [], goneKeys: [], isComplete: this.isComplete }
  }

  workerStarts(worker: number): WorkerPlaces {
    const { place, server = null } = this.#options
    const name = `${this.#boot}-${worker}-${++this.#begun}`
    this.#writers.set(worker, name)
    const folder = place === null ? null : { folder: resolve(place.path), name, fsync: place.fsync }
    return server === null
      ? { journal: folder, server }
      : { journal: null, server: { spec: server, writer: name, folder } }
  }

  /** `writer`: a name that a worker has at the moment. */
  isLiving(writer: string): boolean {
    return [...this.#writers.values()].includes(writer)
  }

  /** It writes no more. */
  workerGone(worker: number): void {
    this.#books.release(worker, this.#rows.used, this.#accountNumbers.used)
    const name = this.#writers.get(worker)
    if (name !== undefined) this.#gone.add(name)
    this.#writers.delete(worker)
  }

  /** All workers are gone. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    for (const worker of [...this.#writers.keys()]) this.workerGone(worker)
    this.compact()
    await this.#folder?.close()
  }

  compact(): void {
    const gone = this.#gone
    try {
      this.#folder?.compact(this.#options.now(), gone)
      this.#gone = new Set()
    } catch (error) {
      this.#options.log('error', `the journal of budgets cannot be folded: ${(error as Error).message}`)
    }
  }

  /** Begins the periods that are due, and lets rolling budgets forget. */
  tick(): void {
    const now = this.#options.now()
    for (const budget of this.#budgets.values()) {
      if (budget.parts !== null) this.#roll(budget, now)
      else if (now >= budget.end) this.#renew(budget, now)
    }
    this.#leaving = this.#leaving.filter((row) => {
      if (this.#books.state(row).open > 0) return true
      this.#rows.giveBack(row, now)
      return false
    })
  }

  get hasBudgets(): boolean {
    return this.#budgets.size > 0
  }

  get budgets(): readonly BudgetReport[] {
    return this.#rowsOfBudgets.map(({ account, row }) =>
      reportOf(account, row, this.#books.state(this.#budgets.get(row.id)!.row))
    )
  }

  /** Of books that other processes have too. Rejects where those cannot be asked. */
  async budgetsAt(books: Pick<ServerControl, 'budgets'>): Promise<readonly BudgetReport[]> {
    const states = await this.budgetStatesAt(books)
    return this.#rowsOfBudgets.map(({ account, row }) =>
      reportOf(account, row, { ...states.get(row.id)!, limit: BigInt(row.spec.amount) })
    )
  }

  /** By id. */
  get budgetStates(): BudgetStates {
    return new Map([...this.#budgets].map(([id, { row }]) => [id, this.#books.state(row)]))
  }

  /** As budgetsAt. */
  async budgetStatesAt(books: Pick<ServerControl, 'budgets'>): Promise<BudgetStates> {
    const rows = this.#rowsOfBudgets
    const states = await books.budgets(rows.map(({ row }) => row.id))
    const now = this.#options.now()
    const currentOf = ({ spec }: BudgetRow, found: BudgetState | null | undefined): BudgetState =>
      found != null && found.end > now ? found : { used: 0n, spent: 0n, end: periodAt(spec, now).end }
    return new Map(rows.map(({ row }, i) => [row.id, currentOf(row, states[i])]))
  }

  get #rowsOfBudgets(): readonly { readonly account: string; readonly row: BudgetRow }[] {
    return [...this.#accounts.values()].flatMap(({ entry, row: { budgets } }) =>
      budgets.map((row) => ({ account: entry.id, row }))
    )
  }

  // --- places ---

  #open({ id, spec }: AccountEntry, before: AccountRow | undefined): AccountRow {
    const { concurrency: max } = spec
    const known = before?.concurrency?.number
    if (max === null && known !== undefined) this.#accountNumbers.giveBack(known, this.#options.now())
    const number = max === null ? -1 : (known ?? this.#numberFor(id))
    const budgets = spec.budgets.map((budget) => this.#book(id, budget))
    const kept = new Set(budgets.map((budget) => budget.id))
    for (const old of before?.budgets ?? []) if (!kept.has(old.id)) this.#budgets.get(old.id)!.isGone = true
    const rows = budgets.map(({ id: name, place }, i) => {
      const own = spec.budgets[i]!
      const { period } = own
      return {
        id: name,
        place,
        text: budgetText(own, this.#currency),
        partMs: typeof period === 'number' ? partMs(period) : null,
        spec: own
      }
    })
    return {
      id,
      budgets: rows,
      limits: spec.limits,
      concurrency: max === null ? null : { max, number },
      models: spec.models
    }
  }

  get #currency(): string {
    return this.#options.currency?.() ?? CATALOGUE_CURRENCY
  }

  #numberFor(id: string): number {
    const number = this.#accountNumbers.take(this.#options.now())
    if (number < 0) throw new Error(`there is no room for the concurrency of ${id}: too many accounts have one`)
    return number
  }

  #leave(row: AccountRow): void {
    for (const { id } of row.budgets) this.#budgets.get(id)!.isGone = true
    if (row.concurrency !== null) this.#accountNumbers.giveBack(row.concurrency.number, this.#options.now())
  }

  #book(account: string, spec: BudgetSpec): Booked {
    const id = budgetId(account, spec, this.#currency)
    const known = this.#budgets.get(id)
    if (known !== undefined) {
      known.isGone = false
      known.spec = spec
      this.#books.setLimit(known.row, BigInt(spec.amount))
      return known
    }
    const now = this.#options.now()
    const place = this.#places.take(now)
    const row = this.#rows.take(now)
    if (place < 0 || row < 0) throw new Error(`there is no room for the budget ${id}: there are too many`)
    const { start, end, spent, parts } = this.#remembered(id, spec, now)
    this.#books.prepare(row, { limit: BigInt(spec.amount), spent, start, end })
    this.#books.open(place, row)
    const booked = { id, place, spec, row, end, isGone: false, parts, seen: spent }
    this.#budgets.set(id, booked)
    return booked
  }

  /** A period that was begun is not begun again, whatever the clock says by now. */
  #remembered(id: string, spec: BudgetSpec, now: number) {
    const total = this.#folder?.totals.budgets.get(id)
    const period = periodAt(spec, now)
    if (typeof spec.period === 'number') {
      const parts = new Map(total?.parts ?? [])
      return { ...period, spent: [...parts.values()].reduce((sum, part) => sum + part, 0n), parts }
    }
    if (total === undefined || total.start < period.start) return { ...period, spent: 0n, parts: null }
    const { start, end } = periodAt(spec, total.start)
    return { start, end, spent: total.spent, parts: null }
  }

  #renew(budget: Booked, now: number): void {
    this.#leaving.push(budget.row)
    if (budget.isGone) {
      this.#books.open(budget.place, -1)
      this.#places.giveBack(budget.place, now)
      this.#budgets.delete(budget.id)
      return
    }
    const row = this.#rows.take(now)
    if (row < 0) {
      this.#leaving.pop()
      this.#options.log(
        'error',
        `there is no room for another period of the budget ${budget.id}: it stays in the old one`
      )
      return
    }
    const { start, end } = periodAt(budget.spec, now)
    this.#books.prepare(row, { limit: BigInt(budget.spec.amount), spent: 0n, start, end })
    this.#books.open(budget.place, row)
    budget.row = row
    budget.end = end
  }

  #roll(budget: Booked, now: number): void {
    const { parts, row, spec } = budget
    const rollingMs = spec.period as number
    const { spent } = this.#books.state(row)
    if (spent !== budget.seen) {
      const part = partOf(rollingMs, now)
      parts!.set(part, (parts!.get(part) ?? 0n) + spent - budget.seen)
      budget.seen = spent
    }
    let old = 0n
    for (const [part, amount] of parts!) {
      if (part + partMs(rollingMs) + rollingMs > now) continue
      parts!.delete(part)
      old += amount
    }
    if (old === 0n) return
    this.#books.correct(row, -old)
    budget.seen -= old
  }

  // --- keys ---

  /** Null: its team or organisation is gone, and its limits with them. */
  #keyRow(key: KeySpec, teams: ReadonlyMap<string, TeamSpec>, isGlobal: boolean): KeyRow | null {
    const { ids, organisation } = accountsOfKey(key, teams)
    const missing = ids.find((id) => !this.#accounts.has(id))
    if (missing !== undefined) {
      this.#options.log('warn', `the key ${key.name} is refused: there is no ${missing.replace('/', ' ')}`)
      return null
    }
    const { name, values, expiresAt, isRevoked } = key
    return { name, values, accounts: ids, claims: claimsOf(key, organisation), expiresAt, isRevoked, isGlobal }
  }
}

/** Plain data, made by the same code: the same text is the same. */
const isAlike = (a: object, b: object): boolean => JSON.stringify(a) === JSON.stringify(b)
