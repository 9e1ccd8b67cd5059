/**
 * What is kept with targets, and known of them, in this worker: over reloads, and once for all routes to a backend. A
 * reload that does not change a target takes no session away from anybody.
 */
import { createHash } from 'node:crypto'
import type { McpTarget } from '#backends/mcp/config/snapshot.ts'
import type { Target } from '#backends/mcp/targets/target.ts'
import { Eras } from './era-probe.ts'
import { UpstreamPool } from './upstream-pool.ts'

export class KeptTarget {
  readonly eras: Eras
  readonly pool = new UpstreamPool()
  /** Configurations in force that have it: two, while one takes the place of another. */
  #holders = 0

  constructor(kind: Target['kind']) {
    this.eras = new Eras(kind)
  }

  /** A configuration that has it is in force. `idleMs`: as that says. */
  hold(idleMs: number): void {
    this.#holders++
    this.pool.keep(idleMs)
  }

  /** It is in force no more. */
  leave(): void {
    if (--this.#holders === 0) this.pool.retire()
  }
}

export class KeptTargets {
  /** Who compiles one holds it: what has not come into force, or is so no more, is forgotten when it is over. */
  readonly #known = new Map<string, WeakRef<KeptTarget>>()

  /** Of two that are configured alike, whatever the backend is besides, this is one. */
  of(backend: string, target: McpTarget): KeptTarget {
    const place = JSON.stringify([backend, markOf(target)])
    const known = this.#known.get(place)?.deref()
    if (known !== undefined) return known
    for (const [other, one] of this.#known) if (one.deref() === undefined) this.#known.delete(other)
    const made = new KeptTarget(target.kind)
    this.#known.set(place, new WeakRef(made))
    return made
  }
}

const marks = new WeakMap<McpTarget, string>()

/**
 * Of what decides which server it is, and what it is shown; rules are asked anew each time. Secrets are hashed, and
 * documents of megabytes once.
 */
export function markOf(target: McpTarget): string {
  const known = marks.get(target)
  if (known !== undefined) return known
  const { authorization: _, ...said } = target
  const made = createHash('sha256').update(JSON.stringify(said)).digest('base64url')
  marks.set(target, made)
  return made
}
