/**
 * Targets that say nothing (failureMode failOpen): everybody would wait for each of them, every time, until its time is
 * up. After the first such wait a target is left alone for a while, by all workers, and then asked again aside: nobody
 * waits for that.
 */
import { createHash } from 'node:crypto'
import { markOf } from '#backends/mcp/bridge/target-state.ts'
import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { Bus } from '#backends/mcp/workers/bus.ts'
import { CircuitBreaker } from '#engine/kit/circuit-breaker.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { LinkFailure } from './target.ts'

const PAUSES = { firstMs: 1_000, maxMs: 60_000 }
/** Targets that one thread remembers this of. */
const RESTS_MAX = 4096

/** What `enter` says. */
const RESTS = 0
const ASK = 1
const PROBE = 2
const SILENT: LinkFailure = { kind: 'timeout', status: null, message: 'has not answered lately' }

interface RestOptions {
  readonly log: (level: 'info' | 'warn', message: string) => void
  /** To the other workers: how often it has been silent in a row, and for how many milliseconds it rests. */
  readonly tell?: (silences: number, restMs: number) => void
}

export class TargetRest {
  readonly #options: RestOptions
  readonly #breaker = new CircuitBreaker(PAUSES)

  constructor(options: RestOptions) {
    this.#options = options
  }

  /** What another worker has found out. */
  learn(silences: number, restMs: number, now: number): void {
    this.#breaker.adopt(silences, now + restMs)
    this.#breaker.probes = 0
  }

  /** RESTS: it is not to be asked now. PROBE: whoever asks finds out, and says so by `settled` or `left`. */
  enter(now: number): typeof RESTS | typeof ASK | typeof PROBE {
    if (this.#breaker.isClosed) return ASK
    if (!this.#breaker.allows(now)) return RESTS
    this.#breaker.probes = 1
    return PROBE
  }

  /** Null, or a failure that is no silence: it is there. */
  settled(failure: LinkFailure | null, now: number): void {
    if (failure?.kind === 'timeout') this.#silent(now)
    else this.#heard()
  }

  #heard(): void {
    if (!this.#breaker.isClosed) {
      this.#options.log('info', 'answers again')
      this.#options.tell?.(0, 0)
    }
    this.#breaker.succeeded()
    this.left()
  }

  #silent(now: number): void {
    const breaker = this.#breaker
    // Others that were asked at the same time have waited for the same silence.
    if (!breaker.isClosed && breaker.probes === 0) return
    if (breaker.isClosed) this.#options.log('warn', 'does not answer in time: lists are without it until it does')
    breaker.failed(now)
    this.left()
    this.#options.tell?.(breaker.failures, breaker.openUntil - now)
  }

  /** Whoever probed has gone before there was an answer. */
  left(): void {
    this.#breaker.probes = 0
  }
}

/**
 * Starts what asks the target, unless it rests. `start` is given what is to be told how that ended, and whether anybody
 * waits for the answer: who asks a target that has been silent is refused at once, and asks for the others.
 */
export function gently(
  rest: TargetRest,
  refuse: (failure: LinkFailure) => void,
  start: (settled: (failure: LinkFailure | null) => void, isWaited: boolean) => () => void
): () => void {
  const entered = rest.enter(performance.now())
  let isOver = false
  const settled = (failure: LinkFailure | null): void => {
    isOver = true
    rest.settled(failure, performance.now())
  }
  if (entered === ASK) {
    const stop = start(settled, true)
    return () => {
      isOver = true
      stop()
    }
  }
  let isGivenUp = false
  queueMicrotask(() => {
    if (!isGivenUp) refuse(SILENT)
  })
  if (entered === PROBE) {
    const stop = start(settled, false)
    // What is answered nowhere must not keep the others from asking.
    setTimeout(() => {
      if (isOver) return
      stop()
      rest.left()
    }, PAUSES.maxMs).unref()
  }
  return () => {
    isGivenUp = true
  }
}

/** Of all backends of a thread, over reloads. */
export class Rests {
  readonly #bus: Bus
  readonly #rests = new Lru<string, TargetRest>(RESTS_MAX)

  constructor(bus: Bus) {
    this.#bus = bus
    bus.listen((word) => {
      if (word.kind === 'silence') this.#rests.get(word.place)?.learn(word.silences, word.restMs, performance.now())
    })
  }

  /** `target`: one that is configured otherwise has not been silent yet. */
  of(backend: string, target: McpTarget, log: RestOptions['log']): TargetRest {
    const place = createHash('sha256')
      .update(JSON.stringify([backend, markOf(target)]))
      .digest('base64url')
    const known = this.#rests.get(place)
    if (known !== undefined) return known
    const tell = (silences: number, restMs: number) => this.#bus.tell({ kind: 'silence', place, silences, restMs })
    const made = new TargetRest({ log, tell })
    this.#rests.set(place, made)
    return made
  }
}
