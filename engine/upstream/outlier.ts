/**
 * Outlier ejection: an address that fails requests, or is much slower than the others, is left out for a while
 * (docs/design/035-health.md). What the workers of the process see counts together, in rows of shared memory, and an
 * ejection holds for all of them.
 */
import { RESPONSE_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import type { AddressState } from '#engine/contract/endpoint.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { CheckTimes, Ejection, HealthPlan } from '#engine/contract/resilience.ts'
import { GRPC_DEADLINE_EXCEEDED, GRPC_UNAVAILABLE, GRPC_UNKNOWN } from '#engine/http/grpc.ts'
import type { SharedRow, SharedRows } from '#engine/kit/shared-rows.ts'
import { Health } from './health.ts'
import { ObservedEvents } from './observed-events.ts'
import type { EjectedAddress, UpstreamObserver, UpstreamShared } from './shared.ts'

/** Times in shared memory are in this unit: 32 bits of it are years. */
const TICK_MS = 100
/** Means of latency in shared memory, per millisecond. */
const LATENCY_UNIT = 16
/** Weight of the newest latency: 1 / 8. */
const LATENCY_SHIFT = 3
/** A latency is compared each time that so many answers have come. */
const LATENCY_STEP = 8

// Numbers of a row.
const FAILURES = 0
const CONNECT_FAILURES = 1
const LATENCY = 2
const ANSWERS = 3
/** In ticks of the clock; 0: never ejected. */
const EJECTED_UNTIL = 4
const TIMES = 5
const REASON = 6
// Of active checks. In ticks: when the next one is due; 0: now.
const CHECK_DUE = 7
const CHECK_STATE = 8
/** Checks in a row that contradict the state. */
const CHECK_STREAK = 9
/** In ticks: how long the ejection takes whose end nobody has told yet; 0: there is none. */
const UNTOLD = 10
/** In ticks of the clock: when checks have found it unhealthy. */
const UNHEALTHY_SINCE = 11

const UNKNOWN = 0
const HEALTHY = 1
const UNHEALTHY = 2

type EjectionReason = EjectedAddress['reason']
/** As numbers of a row. */
const EJECTION_REASONS = ['', 'consecutive_5xx', 'connect_failures', 'latency'] as const satisfies readonly (
  | EjectionReason
  | ''
)[]

export interface OutlierParts {
  /** Of the endpoint. */
  readonly name: string
  /** Of the endpoint in metrics. */
  readonly metricLabel: string
  /** The same for the same servers asked in the same way, in all workers. */
  readonly key: string
  readonly plan: HealthPlan
  readonly rows: SharedRows
  readonly observer: Pick<UpstreamObserver, 'ejected' | 'returned' | 'checked' | 'expressionFailed'>
}

/** The addresses of one endpoint, as they are compared with each other. */
export class OutlierDetector {
  readonly name: string
  readonly ejection: Ejection | null
  readonly clock: () => number
  readonly #parts: OutlierParts
  readonly #isUnhealthy: ((ex: Exchange) => boolean) | null
  #members: readonly ObservedHealth[] = []

  constructor(parts: OutlierParts) {
    const { ejection } = parts.plan
    this.name = parts.name
    this.ejection = ejection
    this.clock = parts.rows.clock
    this.#parts = parts
    this.#isUnhealthy = conditionOf(ejection?.unhealthyCondition ?? null, parts.observer)
  }

  /** `label`: of the address. `host`: whose it is. */
  healthOf(host: string, label: string): ObservedHealth {
    return new ObservedHealth(this, this.#parts.rows.row(`${this.#parts.key} ${host} ${label}`), label)
  }

  /** The addresses from now on. */
  renewed(members: readonly Health[]): void {
    this.#members = members.filter((health) => health instanceof ObservedHealth)
  }

  /** Whether what has been answered speaks against the server. */
  isFailure(ex: Exchange): boolean {
    if (this.#isUnhealthy !== null) return this.#isUnhealthy(ex)
    if (ex.status >= 500) return true
    // gRPC fails with status 200: UNAVAILABLE, INTERNAL and their like are what 5xx is elsewhere.
    const status = ex.wantsTrailers ? ex.response?.get('grpc-status') : undefined
    return status !== undefined && GRPC_FAILURES.has(Number(status))
  }

  /** Other addresses that have been asked often enough to be compared with, and the median of their means. */
  medianOf(others: ObservedHealth, minRequests: number): number | null {
    const means = this.#members
      .filter((one) => one !== others && one.answers >= minRequests)
      .map((one) => one.latencyMs)
    means.sort((a, b) => a - b)
    return means.length === 0 ? null : means[Math.floor((means.length - 1) / 2)]!
  }

  /** `isHealthy`: what it is from now on; null: what it was. */
  checked(health: ObservedHealth, finding: string | null, isHealthy: boolean | null, unhealthyMs = 0): void {
    this.#parts.observer.checked?.({ ...this.#named(health), finding, isHealthy, unhealthyMs })
  }

  #named({ label: address }: ObservedHealth) {
    return { destination: this.name, metricLabel: this.#parts.metricLabel, address }
  }

  /** Tells of ejections that are over. */
  look(): void {
    for (const health of this.#members) health.lookForReturn()
  }

  returned(health: ObservedHealth, ms: number, reason: EjectionReason): void {
    this.#parts.observer.returned?.({ ...this.#named(health), reason, ms })
  }

  /** Ejects `health`, unless too many are. Whichever worker is first does it. */
  eject(health: ObservedHealth, reason: EjectionReason): void {
    const ejection = this.ejection!
    const out = this.#members.filter((one) => one !== health && one.isOutlier).length
    const most = Math.max(1, Math.floor((this.#members.length * ejection.maxEjectedPercent) / 100))
    if (out >= most) return
    const ms = health.ejectFor(ejection, reason)
    if (ms > 0) this.#parts.observer.ejected?.({ ...this.#named(health), reason, ms })
  }
}

const GRPC_INTERNAL = 13
const GRPC_DATA_LOSS = 15
/** Those that Envoy maps to 500, 503 and 504; UNKNOWN is what an exception of a handler becomes. */
const GRPC_FAILURES: ReadonlySet<number> = new Set([
  GRPC_UNKNOWN,
  GRPC_DEADLINE_EXCEEDED,
  GRPC_INTERNAL,
  GRPC_UNAVAILABLE,
  GRPC_DATA_LOSS
])

/** An expression that fails says nothing against the server. */
function conditionOf(source: string | null, observer: OutlierParts['observer']): ((ex: Exchange) => boolean) | null {
  if (source === null) return null
  const program = compileExpression(source, RESPONSE_HEAD_ROOTS, 'bool')
  return (ex) => {
    const verdict = program.run(ex)
    if (typeof verdict !== 'boolean') observer.expressionFailed?.()
    return verdict === true
  }
}

/** One address whose answers count. */
export class ObservedHealth extends Health {
  readonly label: string
  readonly #detector: OutlierDetector
  readonly #row: SharedRow

  constructor(detector: OutlierDetector, row: SharedRow, label: string) {
    super()
    this.#detector = detector
    this.#row = row
    this.label = label
  }

  override get isUnhealthy(): boolean {
    return this.failsChecks || this.isOutlier
  }

  /** Active checks have found it so. One that nothing is known of is used. */
  get failsChecks(): boolean {
    return this.#row.get(CHECK_STATE) === UNHEALTHY
  }

  /** Milliseconds until its next check. */
  get checkDueMs(): number {
    return this.#row.get(CHECK_DUE) === 0 ? 0 : (this.#row.get(CHECK_DUE) - this.#now) * TICK_MS
  }

  /** False: another worker has taken it. */
  takeCheck(intervalMs: number): boolean {
    this.#row.touch()
    const due = this.#row.get(CHECK_DUE)
    const next = this.#now + Math.max(1, Math.round(intervalMs / TICK_MS))
    return (due === 0 || due <= this.#now) && this.#row.swap(CHECK_DUE, due, next)
  }

  /** `finding`: why it is not well, or null. */
  checked(finding: string | null, { healthyThreshold, unhealthyThreshold }: CheckTimes): void {
    const state = this.#row.get(CHECK_STATE)
    const found = finding === null ? HEALTHY : UNHEALTHY
    this.#detector.checked(this, finding, null)
    if (state === found) {
      this.#row.set(CHECK_STREAK, 0)
      return
    }
    const streak = this.#row.add(CHECK_STREAK, 1)
    if (state !== UNKNOWN && streak < (found === HEALTHY ? healthyThreshold : unhealthyThreshold)) return
    this.#row.set(CHECK_STREAK, 0)
    const unhealthyMs = state === UNHEALTHY ? (this.#now - this.#row.get(UNHEALTHY_SINCE)) * TICK_MS : 0
    // A server that is back is not left out for what it did while it was gone.
    if (state === UNHEALTHY && this.isOutlier) this.#row.set(EJECTED_UNTIL, this.#now)
    if (found === UNHEALTHY) this.#row.set(UNHEALTHY_SINCE, this.#now)
    this.#row.set(CHECK_STATE, found)
    if (state !== UNKNOWN || found === UNHEALTHY) this.#detector.checked(this, finding, found === HEALTHY, unhealthyMs)
  }

  get isOutlier(): boolean {
    const until = this.#row.get(EJECTED_UNTIL)
    return until !== 0 && until > this.#now
  }

  /** Answers since it was last ejected. */
  get answers(): number {
    return this.#row.get(ANSWERS)
  }

  /** Mean of the time until answers begin. */
  get latencyMs(): number {
    return this.#row.get(LATENCY) / LATENCY_UNIT
  }

  get reason(): (typeof EJECTION_REASONS)[number] {
    return EJECTION_REASONS[this.#row.get(REASON)] ?? ''
  }

  override get state(): AddressState {
    if (this.failsChecks) return 'unhealthy'
    return this.isOutlier ? 'ejected' : super.state
  }

  override report(): ReturnType<Health['report']> {
    if (this.failsChecks) return { state: 'unhealthy', reason: 'its health checks fail', forMs: 0 }
    if (this.isOutlier) return { state: 'ejected', reason: this.reason, forMs: this.ejectedForMs }
    return super.report()
  }

  /** Milliseconds until it gets requests again; at least 0. */
  get ejectedForMs(): number {
    return Math.max(0, this.#row.get(EJECTED_UNTIL) - this.#now) * TICK_MS
  }

  get #now(): number {
    return Math.floor(this.#detector.clock() / TICK_MS)
  }

  override sharedOf(shared: UpstreamShared): UpstreamShared {
    return { ...shared, events: new ObservedEvents(this, shared.events) }
  }

  // --- what comes of attempts ---

  answered(ex: Exchange, tookMs: number): void {
    const { ejection } = this.#detector
    if (ejection === null) return
    this.#row.touch()
    if (this.#detector.isFailure(ex)) this.#count(FAILURES, ejection.consecutive5xx, 'consecutive_5xx')
    else if (this.#row.get(FAILURES) !== 0) this.#row.set(FAILURES, 0)
    if (ejection.latency !== null) this.#timed(tookMs)
  }

  override failed(): void {
    const { ejection } = this.#detector
    if (ejection === null) return
    this.#row.touch()
    this.#count(FAILURES, ejection.consecutive5xx, 'consecutive_5xx')
  }

  override connectFailed(): void {
    super.connectFailed()
    const { ejection } = this.#detector
    if (ejection === null) return
    this.#row.touch()
    this.#count(CONNECT_FAILURES, ejection.connectFailures, 'connect_failures')
  }

  override reached(): void {
    super.reached()
    if (this.#row.get(CONNECT_FAILURES) !== 0) this.#row.set(CONNECT_FAILURES, 0)
  }

  #count(field: number, most: number, reason: EjectionReason): void {
    if (this.#row.add(field, 1) >= most && most > 0) this.#detector.eject(this, reason)
  }

  /** Two workers at once may lose one latency of two: it is a mean. */
  #timed(tookMs: number): void {
    const latency = Math.min(tookMs * LATENCY_UNIT, 2 ** 30)
    const answers = this.#row.add(ANSWERS, 1)
    const before = this.#row.get(LATENCY)
    this.#row.set(LATENCY, answers === 1 ? latency : before + ((latency - before) >> LATENCY_SHIFT))
    const { factor, thresholdMs, minRequests } = this.#detector.ejection!.latency!
    if (answers < minRequests || answers % LATENCY_STEP !== 0) return
    const median = factor === null ? null : this.#detector.medianOf(this, minRequests)
    const isSlow = median !== null && this.latencyMs > Math.max(median, 1) * factor!
    if (isSlow || (thresholdMs !== null && this.latencyMs > thresholdMs)) this.#detector.eject(this, 'latency')
  }

  /** Tells of the end of its ejection. Of all workers the first one that looks does. */
  lookForReturn(): void {
    const ticks = this.#row.get(UNTOLD)
    if (ticks === 0) return
    // Nobody asks an ejected address, and its row must not go to another name meanwhile.
    if (this.isOutlier) this.#row.touch()
    else if (this.#row.swap(UNTOLD, ticks, 0)) {
      const { reason } = this
      if (reason !== '') this.#detector.returned(this, ticks * TICK_MS, reason)
    }
  }

  /** Milliseconds; 0: it is ejected already. */
  ejectFor({ baseTimeMs, maxTimeMs }: Ejection, reason: EjectionReason): number {
    const row = this.#row
    const until = row.get(EJECTED_UNTIL)
    const now = this.#now
    if (until > now) return 0
    this.lookForReturn()
    // Each base time that it has been in since then makes up for one ejection.
    const goodTimes = until === 0 ? 0 : Math.floor(((now - until) * TICK_MS) / baseTimeMs)
    const times = Math.max(0, row.get(TIMES) - goodTimes) + 1
    const ms = Math.max(Math.min(baseTimeMs * times, maxTimeMs), TICK_MS)
    if (!row.swap(EJECTED_UNTIL, until, now + Math.ceil(ms / TICK_MS))) return 0
    row.set(TIMES, times)
    row.set(REASON, EJECTION_REASONS.indexOf(reason))
    row.set(UNTOLD, Math.ceil(ms / TICK_MS))
    for (const field of [FAILURES, CONNECT_FAILURES, LATENCY, ANSWERS]) row.set(field, 0)
    return ms
  }
}
