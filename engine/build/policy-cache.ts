/** Policies that are compiled, each distinct configuration once. */
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import type { HookOwner } from '#engine/contract/route.ts'
import type { UsedService } from './services.ts'

/** One configuration of one policy, compiled. */
export interface CompiledPolicy {
  /** Name, JSON of the configuration, and what else it was compiled for. */
  readonly key: string
  readonly policy: Policy
  readonly config: unknown
  readonly compiled: Compiled
  readonly owner: HookOwner
  /** Backends that it asks as services, by name. */
  readonly uses: ReadonlyMap<string, UsedService>
  /** The last configuration that it is a part of, by the number of its build. */
  usedIn: number
}

/** What a configuration has in common with the one before keeps its form, and the caches that are in it. */
export class PolicyCache {
  /** JSON shows secrets as "<redacted>", so there may be several under one key. */
  readonly #entries = new Map<string, CompiledPolicy[]>()

  find(key: string, isWanted: (made: CompiledPolicy) => boolean): CompiledPolicy | undefined {
    return this.#entries.get(key)?.find(isWanted)
  }

  add(made: CompiledPolicy): void {
    const known = this.#entries.get(made.key)
    if (known === undefined) this.#entries.set(made.key, [made])
    else known.push(made)
  }

  /** Takes over `fresh`, and forgets what is not used in this build. */
  keep(build: number, fresh: PolicyCache): void {
    for (const made of fresh.all()) this.add(made)
    for (const [key, entries] of this.#entries) {
      if (entries.every(({ usedIn }) => usedIn === build)) continue
      const used = entries.filter(({ usedIn }) => usedIn === build)
      if (used.length === 0) this.#entries.delete(key)
      else this.#entries.set(key, used)
    }
  }

  *all(): Iterable<CompiledPolicy> {
    for (const entries of this.#entries.values()) yield* entries
  }
}
