/**
 * How many addresses of each configured destination are in which state, for metrics. Of the workers of the process one
 * reports a destination, the one that holds its lease, so that a sum over workers is right.
 */

import type { Background } from '#engine/contract/background.ts'
import type { AddressState } from '#engine/contract/endpoint.ts'
import type { SharedRow, SharedRows } from '#engine/kit/shared-rows.ts'
import type { UpstreamObserver } from './shared.ts'

/** Destinations that are reported, those that were configured first: each is four series. */
const DESTINATIONS_MAX = 1_000
/** Longer than a worker may hang before it is replaced (engine/workers/supervisor.ts): so long its report stands. */
const LEASE_MS = 45_000
const TICK_MS = 100

// Numbers of a lease: in ticks of the clock, and the index of the worker.
const UNTIL = 0
const OWNER = 1

interface Known {
  readonly label: string
  readonly host: { readonly name: string }
  readonly health: { readonly state: AddressState }
}

/** An endpoint, as far as its addresses are counted. */
export interface CountedEndpoint {
  readonly name: string
  /** Those that are known without asking for a name. */
  readonly knownAddresses: readonly Known[]
}

export interface StateParts {
  readonly rows: SharedRows
  readonly worker: { readonly index: number }
  readonly observer: Pick<UpstreamObserver, 'counted'>
}

interface Destination {
  /** That reach it in different ways, and how many configurations in force have each. */
  readonly endpoints: Map<CountedEndpoint, number>
  /** Null: it was never among those that are reported. */
  lease: SharedRow | null
  isReported: boolean
}

export class AddressStates {
  readonly #parts: StateParts
  /** Of the configurations in force. */
  readonly #destinations = new Map<string, Destination>()

  constructor(parts: StateParts) {
    this.#parts = parts
  }

  /** Counts the addresses of `endpoint` while a configuration in force has it. */
  of(endpoint: CountedEndpoint): Background {
    return { begin: () => this.#begin(endpoint), end: () => this.#end(endpoint) }
  }

  #begin(endpoint: CountedEndpoint): void {
    const { name } = endpoint
    const known = this.#destinations.get(name) ?? { endpoints: new Map(), lease: null, isReported: false }
    known.endpoints.set(endpoint, (known.endpoints.get(endpoint) ?? 0) + 1)
    this.#destinations.set(name, known)
  }

  #end(endpoint: CountedEndpoint): void {
    const { name } = endpoint
    const known = this.#destinations.get(name)
    const uses = known?.endpoints.get(endpoint)
    if (known === undefined || uses === undefined) return
    if (uses > 1) known.endpoints.set(endpoint, uses - 1)
    else known.endpoints.delete(endpoint)
    if (known.endpoints.size > 0) return
    this.#leave(name, known)
    this.#destinations.delete(name)
  }

  /** Reports what is this worker's to report. */
  look(): void {
    let left = DESTINATIONS_MAX
    for (const [name, known] of this.#destinations) {
      if (left-- === 0) return
      const counts = countsOf(known.endpoints)
      known.lease ??= this.#parts.rows.row(`addresses ${name}`)
      if (counts === null || !this.#holds(known.lease)) {
        this.#leave(name, known)
        continue
      }
      known.isReported = true
      this.#parts.observer.counted?.(name, counts)
    }
  }

  #holds(lease: SharedRow): boolean {
    const { rows, worker } = this.#parts
    lease.touch()
    // Without room for the row all workers would hold it.
    if (!lease.isShared) return false
    const now = Math.floor(rows.clock() / TICK_MS)
    const until = lease.get(UNTIL)
    const next = now + LEASE_MS / TICK_MS
    if (until > now && lease.get(OWNER) !== worker.index) return false
    if (!lease.swap(UNTIL, until, next)) return false
    lease.set(OWNER, worker.index)
    return true
  }

  /** Another worker may take its place at once. */
  #leave(name: string, known: Destination): void {
    if (!known.isReported) return
    known.isReported = false
    this.#parts.observer.counted?.(name, null)
    const { lease } = known
    if (lease?.get(OWNER) === this.#parts.worker.index) lease.set(UNTIL, 0)
  }
}

/** Null: no address is known. An address that several endpoints have counts once, by the worst of its states. */
function countsOf(endpoints: ReadonlyMap<CountedEndpoint, number>): Record<AddressState, number> | null {
  const [first] = endpoints.keys()
  // Most have one endpoint, some have thousands of addresses, and this runs twice a second.
  if (endpoints.size === 1) return countsIn(first!.knownAddresses.map(({ health }) => health.state))
  const states = new Map<string, AddressState>()
  for (const { knownAddresses } of endpoints.keys()) {
    for (const { label, host, health } of knownAddresses) {
      const key = `${host.name} ${label}`
      if ((states.get(key) ?? 'healthy') === 'healthy') states.set(key, health.state)
    }
  }
  return countsIn([...states.values()])
}

function countsIn(states: readonly AddressState[]): Record<AddressState, number> | null {
  if (states.length === 0) return null
  const counts: Record<AddressState, number> = { healthy: 0, unreachable: 0, unhealthy: 0, ejected: 0 }
  for (const state of states) counts[state]++
  return counts
}
