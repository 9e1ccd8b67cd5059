/** What the policy `retry` compiles to, and what the engine keeps of an exchange that may be repeated. */
import { Pieces } from '#engine/kit/pieces.ts'
import type { BudgetLimits, RetryBudget } from '#engine/kit/retry-budget.ts'
import type { Exchange } from './exchange.ts'
import { hold, letGo } from './held-bytes.ts'

/** Compiled form of the policy. */
export interface RetryPlan {
  /** Attempts after the first one. */
  readonly attempts: number
  /** Statuses that lead to another attempt; also those of the gateway's own errors. */
  readonly codes: ReadonlySet<number>
  /** Upper bound of the first pause; it doubles with every retry. 0: no pause. */
  readonly backoffMs: number
  /** Whether the request may be repeated at all; null: it may. */
  readonly precondition: ((ex: Exchange) => boolean) | null
  /** Whether the response asks for another attempt, beside its status; null: it does not. */
  readonly condition: ((ex: Exchange) => boolean) | null
  readonly budget: BudgetLimits
  /** Looks into an answer before it is taken, where another attempt is left; null: not into this one. */
  readonly peek?: (ex: Exchange) => Peek | null
}

/** The beginning of an answer, while its head is held back. */
export interface Peek {
  /** Bytes [start, end) of `chunk`, valid during the call only. 'again': another attempt is better, if it may be. */
  look(chunk: Buffer, start: number, end: number): 'more' | 'take' | 'again'
}

/** The plan as a route runs it. */
export interface RouteRetry {
  readonly plan: RetryPlan
  /** Of this route in this worker. */
  readonly budget: RetryBudget
  /** Largest request body that is kept for another attempt. */
  readonly bodyBytesMax: number
}

/** Of one exchange, from SERVE until its response is taken or it is over. */
export class RetryState {
  readonly route: RouteRetry
  /** Retries so far. */
  count = 0
  /** Choices of the route's backends that were tried. */
  readonly tried: object[] = []
  /** What hooks said about the Host header, before a backend had its say. */
  readonly upstreamHost: string | null
  /** Answer of the precondition; null: not asked yet. */
  allowed: boolean | null = null
  /** The request body so far, or null when it is too long to be kept. */
  kept: Pieces | null = new Pieces()
  /** The answer at hand is looked into. */
  peek: Peek | null = null
  peekedBytes = 0
  #keptBytes = 0
  /** Of those, on the account. */
  #heldBytes = 0

  constructor(route: RouteRetry, ex: Exchange) {
    this.route = route
    this.upstreamHost = ex.upstreamHost
    // Known ahead: nothing is copied in vain.
    if (ex.requestLength > route.bodyBytesMax) this.kept = null
  }

  /** Keeps a copy of body bytes that go to the first attempt now. */
  keep(ex: Exchange, chunk: Buffer, start: number, end: number): void {
    const { kept } = this
    if (kept === null) return
    this.#keptBytes += end - start
    const isRoom = this.#keptBytes <= this.route.bodyBytesMax && hold(ex, end - start)
    if (isRoom) {
      this.#heldBytes += end - start
      kept.push(chunk, start, end)
    } else this.drop(ex)
  }

  /** It is not needed, or too much. */
  drop(ex: Exchange): void {
    this.kept = null
    letGo(ex, this.#heldBytes)
    this.#heldBytes = 0
  }
}
