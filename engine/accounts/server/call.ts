/** One exchange with a key whose limits and budgets several replicas share: as ../call.ts, with the books elsewhere. */

import type { Account } from '#engine/accounts/account.ts'
import { Allowed } from '#engine/accounts/allowed.ts'
import { partMs, periodAt } from '#engine/accounts/periods.ts'
import { overConcurrency, overRate, ownerText, UNKNOWN_PRICE, UNREACHABLE, usedUp } from '#engine/accounts/refusals.ts'
import type { BudgetRow } from '#engine/accounts/rows.ts'
import type { AccountRefusal, CallOptions, KeyUse } from '#engine/contract/accounts.ts'
import { KEY_USE } from '#engine/contract/accounts.ts'
import { addMeters, type Meter } from '#engine/contract/buckets.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { type EndListener, listenForEnd } from '#engine/contract/exchange-signal.ts'
import { nanosOfPicos } from '#engine/kit/money.ts'
import { AWAY, type ServerBooks } from './client.ts'
import type { Bucket, Part } from './operations.ts'

/** A period ends between two looks at the clock at most once, or the clocks are not to be trusted. */
const TRIES = 3

/** As Key.begin. */
export function beginServerCall(
  ex: Exchange,
  accounts: readonly Account[],
  server: ServerBooks,
  as: CallOptions
): AccountRefusal | null | Promise<AccountRefusal | null> {
  const call = new ServerCall(accounts, server, as.allowsUnknownPrice)
  const buckets = accounts.flatMap(({ id, rates }) => rates.map((rate) => ({ id, rate })))
  const enter = (): null => {
    const meters = buckets.flatMap(({ id, rate }): Meter[] => {
      if (rate.kind === 'requests') return []
      const charge = (_: string | null, tokens: number) => server.charge([bucketOf(id, rate, tokens)])
      return [{ limit: { charge }, caller: id }]
    })
    if (meters.length > 0) addMeters(ex, meters)
    KEY_USE.set(ex, call)
    listenForEnd(ex, call)
    return null
  }
  if (buckets.length === 0 && !call.isCounted) return enter()
  return call.begin(buckets, as).then((refusal) => refusal ?? enter())
}

interface AccountRate {
  /** Of the account. */
  readonly id: string
  readonly rate: Account['rates'][number]
}

function bucketOf(id: string, { kind, spec }: AccountRate['rate'], take: number): Bucket {
  const { amount, burst, unitMs } = spec
  return [`${id} ${kind} ${amount} ${burst} ${unitMs}`, amount + burst, amount, unitMs, take]
}

class ServerCall implements KeyUse, EndListener {
  readonly #accounts: readonly Account[]
  readonly #allowed: Allowed
  readonly #server: ServerBooks
  readonly #allowsUnknownPrice: boolean
  isModelChecked = false
  /** Accounts that count it as under way, and since which epoch. */
  #counted: readonly string[] = []
  #epoch = 0
  #isOver = false
  /** Of the attempt that was reserved for last. */
  #attempt = 0
  #number = 0
  #parts: readonly Part[] = []
  #bound = 0
  #isOpen = false
  /** What was settled of it, in nanos. */
  #charged = 0

  constructor(accounts: readonly Account[], server: ServerBooks, allowsUnknownPrice: boolean) {
    this.#accounts = accounts
    this.#allowed = new Allowed(accounts)
    this.#server = server
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
    return this.#isOpen ? this.#bound * 1_000 : null
  }

  mayUse(model: string): boolean {
    return this.#allowed.mayUse(model)
  }

  /** A limit of requests gives one; one of tokens must have one left, and is charged when the cost is known. */
  async begin(rates: readonly AccountRate[], { quotas }: CallOptions): Promise<AccountRefusal | null> {
    const counted = this.#accounts.flatMap(({ id, concurrency }) =>
      concurrency === null ? [] : [[id, concurrency.max] as const]
    )
    const buckets = rates.map(({ id, rate }) => bucketOf(id, rate, rate.kind === 'requests' ? 1 : 0))
    const outcome = await this.#server.begin(counted, buckets)
    if (outcome === AWAY) return this.#uncounted(this.#server.isOpen ? null : UNREACHABLE)
    const { answer, epoch } = outcome
    const note = (i: number, left: number, waitMs: number) => {
      const { kind, spec } = rates[i]!.rate
      const resetS = Math.max(1, Math.ceil(waitMs / 1_000))
      quotas.push({ kind, capacity: spec.amount + spec.burst, left: Math.max(left, 0), resetS })
      return resetS
    }
    if (answer[0] === 0) {
      const [, by, index, waitMs] = answer
      if (by === 'account') return overConcurrency(...counted[index]!)
      const { id, rate } = rates[index]!
      return overRate(id, rate.text, note(index, 0, waitMs))
    }
    const [, left, waits] = answer
    for (const i of rates.keys()) note(i, left[i] ?? 0, waits[i] ?? 0)
    this.#counted = counted.map(([id]) => id)
    this.#epoch = epoch
    return null
  }

  exchangeOver(): void {
    this.#isOver = true
    // The backend settles what it knows in this turn. Nothing was sent for what nobody has settled by then.
    if (this.#isOpen) queueMicrotask(() => this.#isOpen && this.settle(0))
    if (this.#counted.length > 0) this.#server.end(this.#counted, this.#epoch)
    this.#counted = []
  }

  reserve(picos: number | null): AccountRefusal | null | Promise<AccountRefusal | null> {
    // An attempt that nobody has settled: it has not been answered.
    if (this.#isOpen) this.settle(0)
    this.#parts = []
    this.#charged = 0
    this.#attempt++
    if (!this.hasBudget) return null
    if (picos === null && !this.#allowsUnknownPrice) return UNKNOWN_PRICE
    return this.#reserve(nanosOfPicos(picos ?? 0), this.#attempt)
  }

  async #reserve(bound: number, attempt: number): Promise<AccountRefusal | null> {
    const budgets = this.#accounts.flatMap(({ id, budgets: all }) => all.map((budget) => ({ id, budget })))
    for (let i = 0; i < TRIES; i++) {
      const now = this.#server.now()
      const parts = budgets.map(({ budget }) => partOf(budget, now))
      const outcome = await this.#server.reserve(String(bound), parts)
      const isWanted = attempt === this.#attempt && !this.#isOver
      if (outcome === AWAY)
        return this.#uncounted(isWanted && this.#server.isOpen ? this.#pass(bound, parts) : UNREACHABLE)
      const { answer, number } = outcome
      if (answer[0] === 1) {
        if (isWanted) this.#open(number, bound, parts)
        else this.#server.settle(number, '0', [])
        return null
      }
      if (answer[0] === 0) {
        const [, index, spent, end] = answer
        const { id, budget } = budgets[index]!
        const state = { spent: BigInt(spent), limit: BigInt(budget.spec.amount), end }
        return usedUp(ownerText(id), budget, state, this.#server.now())
      }
    }
    return UNREACHABLE
  }

  #uncounted(refusal: AccountRefusal | null): AccountRefusal | null {
    this.#server.noteUncounted(refusal === null ? 'passed' : 'refused')
    return refusal
  }

  /** Without the server: what the call may cost is written down before it is sent. */
  #pass(bound: number, parts: readonly Part[]): AccountRefusal | null {
    const number = this.#server.pass(String(bound), parts)
    if (number === 0) return UNREACHABLE
    this.#open(number, bound, parts)
    return null
  }

  #open(number: number, bound: number, parts: readonly Part[]): void {
    this.#number = number
    this.#bound = bound
    this.#parts = parts
    this.#isOpen = true
  }

  settle(picos: number): void {
    const cost = nanosOfPicos(picos)
    if (this.#isOpen) this.#server.settle(this.#number, String(cost), this.#parts)
    else if (cost !== this.#charged && this.#parts.length > 0)
      this.#server.correct(String(cost - this.#charged), this.#parts)
    this.#isOpen = false
    this.#charged = cost
  }
}

/** The latest period of each budget: what Intl knows of it is asked once for each. */
const periods = new WeakMap<BudgetRow, { readonly start: number; readonly end: number }>()

function partOf(budget: BudgetRow, now: number): Part {
  const { id, spec } = budget
  let period = periods.get(budget)
  if (period === undefined || now >= period.end || now < period.start) {
    period = periodAt(spec, Math.floor(now))
    periods.set(budget, period)
  }
  const rolling = typeof spec.period === 'number' ? spec.period : 0
  return [id, String(spec.amount), period.start, period.end, rolling, rolling === 0 ? 0 : partMs(rolling)]
}
