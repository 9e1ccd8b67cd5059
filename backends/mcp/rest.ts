/**
 * Targets that say nothing (failureMode failOpen): everybody would wait for each of them, every time, until its time is
 * up. After the first such wait a target is left alone for a while, and then one request asks it again.
 */
import type { LinkFailure } from './target.ts'

/** The first rest; each further silence doubles it. */
const FIRST_MS = 1_000
const LONGEST_MS = 60_000

/** What `enter` says. */
const RESTS = 0
const ASK = 1
const PROBE = 2
const SILENT: LinkFailure = { kind: 'timeout', status: null, message: 'has not answered lately' }

export class TargetRest {
  readonly #log: (level: 'info' | 'warn', message: string) => void
  #silences = 0
  /** performance.now() of its end. */
  #until = 0
  #isProbed = false

  constructor(log: (level: 'info' | 'warn', message: string) => void) {
    this.#log = log
  }

  /** RESTS: it is not to be asked now. PROBE: whoever asks finds out, and says so by `settled` or `left`. */
  enter(now: number): typeof RESTS | typeof ASK | typeof PROBE {
    if (this.#silences === 0) return ASK
    if (this.#isProbed || now < this.#until) return RESTS
    this.#isProbed = true
    return PROBE
  }

  /** Null, or a failure that is no silence: it is there. */
  settled(failure: LinkFailure | null, now: number): void {
    if (failure?.kind === 'timeout') this.#silent(now)
    else this.#heard()
  }

  #heard(): void {
    if (this.#silences > 0) this.#log('info', 'answers again')
    this.#silences = 0
    this.#isProbed = false
  }

  #silent(now: number): void {
    // Others that were asked at the same time have waited for the same silence.
    if (this.#silences > 0 && !this.#isProbed) return
    if (this.#silences === 0) this.#log('warn', 'does not answer in time: lists are without it until it does')
    this.#until = now + Math.min(FIRST_MS * 2 ** this.#silences, LONGEST_MS)
    this.#silences = Math.min(this.#silences + 1, 16)
    this.#isProbed = false
  }

  /** Whoever probed has gone before there was an answer. */
  left(): void {
    this.#isProbed = false
  }
}

/** Starts what asks the target, unless it rests. `start` is given what is to be told how that ended. */
export function gently(
  rest: TargetRest,
  refuse: (failure: LinkFailure) => void,
  start: (settled: (failure: LinkFailure | null) => void) => () => void
): () => void {
  const entered = rest.enter(performance.now())
  let isOver = false
  if (entered === RESTS) {
    queueMicrotask(() => {
      if (!isOver) refuse(SILENT)
    })
    return () => {
      isOver = true
    }
  }
  const stop = start((failure) => {
    isOver = true
    rest.settled(failure, performance.now())
  })
  return () => {
    if (!isOver && entered === PROBE) rest.left()
    isOver = true
    stop()
  }
}
