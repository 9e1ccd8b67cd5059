/**
 * Circuit breakers for targets that time out (failureMode failOpen): without one, every request to all targets waits
 * for the silent one until its timeout. All workers learn of an open breaker. When its pause is over one request
 * probes the target; that client does not wait for it either.
 */
import { createHash } from 'node:crypto'
import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { Bus } from '#backends/mcp/workers/bus.ts'
import { CircuitBreaker } from '#engine/kit/circuit-breaker.ts'
import { Lru } from '#engine/kit/lru.ts'
import { configDigest } from './config-digest.ts'
import { failure, type LinkFailure } from './target.ts'

const PAUSES = { firstMs: 1_000, maxMs: 60_000 }
/** Breakers that one thread remembers. */
const BREAKERS_MAX = 4096
const OPEN = failure('timeout', 'has not answered lately')

interface BreakerOptions {
  readonly log: (level: 'info' | 'warn', message: string) => void
  /** To the other workers: timeouts in a row, and for how many milliseconds the breaker is open. */
  readonly publish?: (timeouts: number, openMs: number) => void
}

export class TargetBreaker {
  readonly #options: BreakerOptions
  readonly #breaker = new CircuitBreaker(PAUSES)

  constructor(options: BreakerOptions) {
    this.#options = options
  }

  /** What another worker has found out. */
  adopt(timeouts: number, openMs: number, now: number): void {
    this.#breaker.adopt(timeouts, now + openMs)
    this.#breaker.probes = 0
  }

  /** `probe`: the caller is the one request of a half-open breaker, and must call `record` or `abandonProbe`. */
  admit(now: number): 'closed' | 'open' | 'probe' {
    if (this.#breaker.isClosed) return 'closed'
    if (!this.#breaker.allows(now)) return 'open'
    this.#breaker.probes = 1
    return 'probe'
  }

  /** Null, or a failure other than a timeout: the target is there. */
  record(outcome: LinkFailure | null, now: number): void {
    const breaker = this.#breaker
    if (outcome?.kind !== 'timeout') {
      if (!breaker.isClosed) {
        this.#options.log('info', 'answers again')
        this.#options.publish?.(0, 0)
      }
      breaker.succeeded()
      this.abandonProbe()
      return
    }
    // Requests that were under way together are one timeout.
    if (!breaker.isClosed && breaker.probes === 0) return
    if (breaker.isClosed) this.#options.log('warn', 'does not answer in time: lists are without it until it does')
    breaker.failed(now)
    this.abandonProbe()
    this.#options.publish?.(breaker.failures, breaker.openUntil - now)
  }

  /** The probe was given up before its outcome was known. */
  abandonProbe(): void {
    this.#breaker.probes = 0
  }
}

/**
 * Starts a request unless the breaker is open: then `refuse` is called. `start` gets what to call with the outcome, and
 * whether the client waits for it: a probe runs aside, its client is refused at once. Null: there is no breaker.
 */
export function throughBreaker(
  breaker: TargetBreaker | null,
  refuse: (failure: LinkFailure) => void,
  start: (record: (outcome: LinkFailure | null) => void, isWaited: boolean) => () => void
): () => void {
  if (breaker === null) return start(() => undefined, true)
  const admitted = breaker.admit(performance.now())
  let isOver = false
  const record = (outcome: LinkFailure | null): void => {
    isOver = true
    breaker.record(outcome, performance.now())
  }
  if (admitted === 'closed') return start(record, true)
  let isCancelled = false
  queueMicrotask(() => {
    if (!isCancelled) refuse(OPEN)
  })
  if (admitted === 'probe') {
    const stop = start(record, false)
    // A probe without any outcome must not keep the breaker half open.
    setTimeout(() => {
      if (isOver) return
      stop()
      breaker.abandonProbe()
    }, PAUSES.maxMs).unref()
  }
  return () => {
    isCancelled = true
  }
}

/** Of all backends of a thread, over reloads. */
export class TargetBreakers {
  readonly #bus: Bus
  readonly #breakers = new Lru<string, TargetBreaker>(BREAKERS_MAX)

  constructor(bus: Bus) {
    this.#bus = bus
    bus.subscribe((message) => {
      if (message.kind !== 'breaker') return
      this.#breakers.get(message.key)?.adopt(message.timeouts, message.openMs, performance.now())
    })
  }

  /** A target whose configuration has changed begins with a closed breaker. */
  of(backend: string, target: McpTarget, log: BreakerOptions['log']): TargetBreaker {
    const key = createHash('sha256')
      .update(JSON.stringify([backend, configDigest(target)]))
      .digest('base64url')
    const known = this.#breakers.get(key)
    if (known !== undefined) return known
    const publish = (timeouts: number, openMs: number) => this.#bus.publish({ kind: 'breaker', key, timeouts, openMs })
    const breaker = new TargetBreaker({ log, publish })
    this.#breakers.set(key, breaker)
    return breaker
  }
}
