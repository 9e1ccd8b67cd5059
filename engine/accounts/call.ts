/** One exchange with a key: what it counts against, what is set aside for it, and what it has cost. */
import type { AccountQuota, AccountRefusal, CallOptions, KeyUse } from '#engine/contract/accounts.ts'
import { KEY_USE } from '#engine/contract/accounts.ts'
import { addMeters } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, listenForEnd } from '#engine/contract/exchange-signal.ts'
import { nanosOfPicos } from '#engine/kit/money.ts'
import type { Account, CallParts } from './account.ts'
import { Allowed } from './allowed.ts'
import type { BookedPart } from './journal/writer.ts'
import { overConcurrency, overRate, ownerText, UNKNOWN_PRICE, UNWRITTEN, usedUp } from './refusals.ts'
import type { BudgetRow } from './rows.ts'

/** Counts a request of `accounts`, the key's own first. All of them must let it pass; a refusal counts nowhere. */
export function beginCall(
  ex: Exchange,
  accounts: readonly Account[],
  parts: CallParts,
  as: CallOptions
): AccountRefusal | null {
  const call = new Call(accounts, parts, as.allowsUnknownPrice)
  const refusal = call.begin() ?? takeRates(accounts, as.quotas)
  if (refusal !== null) {
    call.exchangeOver()
    return refusal
  }
  const meters = accounts.flatMap(({ id, rates }) =>
    rates.filter(({ kind }) => kind === 'tokens').map(({ limit }) => ({ limit, caller: id }))
  )
  if (meters.length > 0) addMeters(ex, meters)
  KEY_USE.set(ex, call)
  if (call.isCounted) listenForEnd(ex, call)
  return null
}

/** A limit of requests gives one; one of tokens must have one left, and is charged when the cost is known. */
function takeRates(accounts: readonly Account[], quotas: AccountQuota[]): AccountRefusal | null {
  const undo: (() => void)[] = []
  for (const { id, rates } of accounts) {
    for (const { kind, limit, text } of rates) {
      const amount = kind === 'requests' ? 1 : 0
      const left = limit.take(id, 1, amount)
      const resetS = Math.max(1, Math.ceil(limit.waitMs / 1_000))
      quotas.push({ kind, capacity: limit.capacity, left: Math.max(left, 0), resetS })
      if (left < 0) {
        for (const giveBack of undo) giveBack()
        return overRate(id, text, resetS)
      }
      const { bucket } = limit
      if (amount > 0) undo.push(() => limit.giveBack(bucket, amount))
    }
  }
  return null
}

interface Part extends BookedPart {
  readonly budget: BudgetRow
  /** What was asked for; more than `taken`: it is the one call that may overdraw. */
  readonly bound: bigint
}

class Call implements KeyUse, EndListener {
  readonly #accounts: readonly Account[]
  readonly #allowed: Allowed
  readonly #by: CallParts
  readonly #allowsUnknownPrice: boolean
  isModelChecked = false
  /** How many of the accounts count it as under way. */
  #begun = 0
  /** Of the attempt that was reserved for last. */
  #parts: readonly Part[] = []
  #bound = 0n
  #isOpen = false
  /** In the journal; 0: it is not there. */
  #number = 0
  /** What was settled of the attempt, in nanos. */
  #charged = 0n

  constructor(accounts: readonly Account[], by: CallParts, allowsUnknownPrice: boolean) {
    this.#accounts = accounts
    this.#allowed = new Allowed(accounts)
    this.#by = by
    this.#allowsUnknownPrice = allowsUnknownPrice
  }

  get hasBudget(): boolean {
    return this.#allowed.hasBudget
  }

  get isCounted(): boolean {
    return this.#allowed.isCounted
  }

  get isRestricted(): boolean {
    return this.#allowed.isRestricted
  }

  get modelNames(): readonly string[] {
    return this.#allowed.modelNames
  }

  get reserved(): number | null {
    return this.#isOpen ? Number(this.#bound) * 1_000 : null
  }

  mayUse(model: string): boolean {
    return this.#allowed.mayUse(model)
  }

  /** Counts it as under way. */
  begin(): AccountRefusal | null {
    const { books, worker } = this.#by
    for (const { id, concurrency } of this.#accounts) {
      if (concurrency !== null && !books.begin(concurrency.number, concurrency.max, worker)) {
        return overConcurrency(id, concurrency.max)
      }
      this.#begun++
    }
    return null
  }

  exchangeOver(): void {
    const { books, worker } = this.#by
    for (const { concurrency } of this.#accounts.slice(0, this.#begun))
      if (concurrency !== null) books.end(concurrency.number, worker)
    this.#begun = 0
  }

  reserve(picos: number | null): AccountRefusal | null {
    // An attempt that nobody has settled: it has not been answered.
    if (this.#isOpen) this.settle(0)
    this.#parts = []
    this.#charged = 0n
    if (!this.hasBudget) return null
    if (picos === null && !this.#allowsUnknownPrice) return UNKNOWN_PRICE
    this.#bound = BigInt(nanosOfPicos(picos ?? 0))
    const parts: Part[] = []
    const refusal = this.#take(parts)
    if (refusal === null) return this.#note(parts)
    this.#giveBack(parts)
    return refusal
  }

  #take(parts: Part[]): AccountRefusal | null {
    const { books, worker } = this.#by
    const bound = this.#bound
    for (const { id, budgets } of this.#accounts) {
      for (const budget of budgets) {
        const row = books.rowOf(budget.place)
        // The account has just gone; its budget with it.
        if (row < 0) continue
        const taken = books.reserve(row, bound, worker)
        if (taken < 0n) return usedUp(ownerText(id), budget, books.state(row), this.#by.wallNow())
        parts.push({ row, taken, bound, budget, start: books.startOf(row) })
      }
    }
    return null
  }

  /** In the journal before anything is sent. */
  #note(parts: readonly Part[]): AccountRefusal | null {
    const { journal, wallNow } = this.#by
    if (journal !== null && parts.length > 0) {
      this.#number = journal.reserve(wallNow(), parts)
      if (this.#number === 0) {
        this.#giveBack(parts)
        return UNWRITTEN
      }
    }
    this.#parts = parts
    this.#isOpen = true
    return null
  }

  #giveBack(parts: readonly Part[]): void {
    const { books, worker } = this.#by
    for (const { row, taken, bound } of parts) books.settle(row, taken, bound, 0n, worker)
  }

  settle(picos: number): void {
    const cost = BigInt(nanosOfPicos(picos))
    const difference = cost - this.#charged
    const { books, worker, journal, wallNow } = this.#by
    if (this.#isOpen) {
      for (const { row, taken, bound } of this.#parts) books.settle(row, taken, bound, cost, worker)
    } else {
      if (difference === 0n) return
      // A row of a period that is over may be another budget's by now.
      for (const { row, start } of this.#parts) if (books.startOf(row) === start) books.correct(row, difference)
    }
    if (this.#parts.length > 0) journal?.settle(this.#isOpen ? this.#number : 0, wallNow(), difference, this.#parts)
    this.#isOpen = false
    this.#charged = cost
  }
}
