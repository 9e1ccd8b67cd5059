/** Verdicts that are kept: by the values of expressions, for a time that the service may shorten, at most so many. */
import { CelError, toJson, type Value } from '#engine/cel/index.ts'
import type { Evaluation } from '#engine/cel/offload.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import { Lru } from '#engine/kit/lru.ts'
import type { Decision, Failed } from './verdict.ts'

/** Of key and verdict together: larger ones are not kept, so that the number of entries is a bound on memory. */
const ENTRY_BYTES_MAX = 8 * 1024

interface Entry {
  readonly verdict: Decision['verdict']
  readonly until: number
}

export interface Waiter {
  readonly ex: Exchange
  /** Gives what to keep of it; null: nothing. */
  readonly done: (decision: Decision | Failed) => Decision | null
}

/** A check that is under way, and the exchanges that wait for its answer. */
export class PendingCheck {
  readonly waiters: Waiter[] = []
}

export class VerdictCache {
  readonly #keys: readonly Evaluation[]
  readonly #lifetimeMs: number
  /** Checks under way stand where their verdicts will: a map of their own would be filled and emptied per request. */
  readonly #entries: Lru<string, Entry | PendingCheck>
  readonly #now: () => number

  constructor(
    keys: readonly Evaluation[],
    { lifetimeMs, entriesMax }: { readonly lifetimeMs: number; readonly entriesMax: number },
    now: () => number
  ) {
    this.#keys = keys
    this.#lifetimeMs = lifetimeMs
    this.#entries = new Lru(entriesMax)
    this.#now = now
  }

  /** Of `ex`; null: an expression has failed, or its path can be read in several ways, so that it is nobody's. */
  keyOf(ex: Exchange): string | null {
    if (ex.readings !== null) return null
    let key = ''
    for (let i = 0; i < this.#keys.length; i++) {
      const value = this.#keys[i]!.program.run(ex) as Value
      // JSON tells where a value ends: two parts never look like others.
      const json = value instanceof CelError ? value : toJson(value)
      if (typeof json !== 'string') return null
      key += `${json}\n`
    }
    return key
  }

  get(key: string): Decision['verdict'] | PendingCheck | null {
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (entry instanceof PendingCheck) return entry
    if (entry.until > this.#now()) return entry.verdict
    this.#entries.delete(key)
    return null
  }

  /** From now on `get` gives this check, until `end` or `keep`, or until newer keys take its place. */
  begin(key: string): PendingCheck {
    const check = new PendingCheck()
    this.#entries.set(key, check)
    return check
  }

  end(key: string, check: PendingCheck): void {
    if (this.#entries.get(key) === check) this.#entries.delete(key)
  }

  keep(key: string, { verdict, lifetimeMs }: Decision): void {
    const ms = Math.min(this.#lifetimeMs, lifetimeMs ?? this.#lifetimeMs)
    if (ms > 0 && key.length + sizeOf(verdict) <= ENTRY_BYTES_MAX)
      this.#entries.set(key, { verdict, until: this.#now() + ms })
  }
}

/** Near enough: of a page, its bytes. */
function sizeOf(verdict: Decision['verdict']): number {
  if (verdict.kind === 'allowed') return JSON.stringify(verdict).length
  const { reply, metadata } = verdict
  const body = reply?.body.length ?? 0
  return body > ENTRY_BYTES_MAX ? body : body + JSON.stringify([reply?.headers ?? null, metadata]).length
}
