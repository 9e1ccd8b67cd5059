/**
 * What this worker knows of a target and keeps with it, over reloads and for all routes to a backend: a reload that
 * does not change the target ends no session.
 */

import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import { configDigest } from '#backends/mcp/targets/config-digest.ts'
import type { TargetTraits } from '#backends/mcp/targets/target.ts'
import { EraCache } from './era-probe.ts'
import { UpstreamPool } from './upstream-pool.ts'
export class TargetState {
  readonly eras: EraCache
  readonly pool = new UpstreamPool()
  /** Active configurations that have the target: two while one replaces another. */
  #configurations = 0

  constructor(traits: TargetTraits) {
    this.eras = new EraCache(traits)
  }

  /** A configuration that has the target is active, with `idleMs` for its sessions. */
  activate(idleMs: number): void {
    this.#configurations++
    this.pool.activate(idleMs)
  }

  deactivate(): void {
    if (--this.#configurations === 0) this.pool.retire()
  }
}

export class TargetStates {
  /** Held by compiled targets: what no configuration has any more is collected. */
  readonly #known = new Map<string, WeakRef<TargetState>>()

  /** The same for two targets of a backend that are configured alike. */
  of(backend: string, target: McpTarget, traits: TargetTraits): TargetState {
    const key = JSON.stringify([backend, configDigest(target)])
    const known = this.#known.get(key)?.deref()
    if (known !== undefined) return known
    for (const [other, one] of this.#known) if (one.deref() === undefined) this.#known.delete(other)
    const state = new TargetState(traits)
    this.#known.set(key, new WeakRef(state))
    return state
  }
}
