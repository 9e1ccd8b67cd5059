/**
 * Slow password hashes, verified in the offload pool and remembered: one verifier per thread. It keeps attackers from
 * making others wait: few passwords per name at a time, few in the pool, and a bounded line before it.
 */
import type { Offload } from '#engine/contract/policy.ts'
import { KeyedHash } from '#engine/kit/keyed-hash.ts'
import { Lru } from '#engine/kit/lru.ts'
import { PASSWORD_JOB, type PasswordJob } from '#engine/kit/password/job.ts'
import { WorkQueue } from './work-queue.ts'

/** Each takes some hundred bytes. */
const REMEMBERED_MAX = 10_000
/** How long a password that was right need not be verified again. */
const REMEMBERED_MS = 10 * 60_000
/** Different passwords for one name that may wait at the same time: a person has one, an attacker many. */
const PER_NAME_MAX = 4
/** All that may wait; with bcrypt of cost 10 the last of them waits twelve seconds. */
const WAITING_MAX = 64
/** In the pool at the same time: what else needs it (expressions over bodies) waits for two at most. */
const RUNNING_MAX = 2

/** Null: it could not be verified, because the pool has refused or lost it. */
export type Answer = boolean | null

export class PasswordVerifier {
  readonly #offload: Offload
  readonly #clock: () => number
  readonly #keyed = new KeyedHash()
  /** Until when a password need not be verified, by keyed hash of stored hash and password. */
  readonly #remembered = new Lru<string, number>(REMEMBERED_MAX)
  /** Answers that are on their way, by keyed hash of name, stored hash and password. */
  readonly #flights = new Map<string, Promise<Answer>>()
  /** How many passwords of a name are on their way. */
  readonly #perName = new Map<string, number>()
  readonly #queue = new WorkQueue(RUNNING_MAX, WAITING_MAX)

  /** `clock`: monotonic milliseconds. */
  constructor(offload: Offload, clock: () => number) {
    this.#offload = offload
    this.#clock = clock
  }

  /**
   * Whether `password` has lately been right for `hash`. What is remembered is about the two and nothing else, so
   * a user whose hash has changed is not affected by it. Both are latin1 text.
   */
  remembers(hash: string, password: string): boolean {
    const until = this.#remembered.get(this.#keyed.of(`${hash}\n${password}`))
    return until !== undefined && until > this.#clock()
  }

  /**
   * `name`: who the client says it is, known or not. The same question asked again while the first one waits
   * shares its answer. Null when too much waits already.
   */
  verify(name: string, hash: string, password: string): Promise<Answer> | null {
    const key = this.#keyed.of(`${name}\n${hash}\n${password}`)
    const flight = this.#flights.get(key)
    if (flight !== undefined) return flight
    const ofName = this.#perName.get(name) ?? 0
    if (ofName >= PER_NAME_MAX) return null
    const queued = this.#queue.run(() => this.#ask({ hash, password }))
    if (queued === null) return null
    this.#perName.set(name, ofName + 1)
    const answer = queued.then((result) => {
      this.#flights.delete(key)
      this.#leave(name)
      if (result === true) this.#remember(hash, password)
      return result
    })
    this.#flights.set(key, answer)
    return answer
  }

  #ask(job: PasswordJob): Promise<Answer> {
    return this.#offload.run(PASSWORD_JOB, job).then(
      (result) => result === true,
      () => null
    )
  }

  #leave(name: string): void {
    const left = this.#perName.get(name)! - 1
    if (left === 0) this.#perName.delete(name)
    else this.#perName.set(name, left)
  }

  #remember(hash: string, password: string): void {
    this.#remembered.set(this.#keyed.of(`${hash}\n${password}`), this.#clock() + REMEMBERED_MS)
  }
}
