/** The addresses of one destination as they are known now, a pool for each, and which of them is the best choice. */
import type { Destination } from '#engine/contract/backend.ts'
import { interleaved, isBetter } from './addresses.ts'
import type { DestinationState } from './destination.ts'
import { Pool, type PoolOwner } from './pool.ts'
import type { Resolver } from './resolver.ts'

/** Addresses of one name that are used. */
const ADDRESSES_MAX = 64

export class AddressPools {
  /** Where pick() starts among addresses that are equally busy; moves when one is used, not when one is looked at. */
  next = 0
  /** The guard refuses one of the addresses known now. */
  hasRefusedAddress = false
  #pools: Pool[] = []
  #known: readonly unknown[] | null = null
  readonly #owner: PoolOwner
  readonly #destination: Destination
  readonly #resolver: Resolver | null
  readonly #mayDial: ((ip: string) => boolean) | null

  /** `mayDial` null: every address may be dialled. */
  constructor(
    owner: PoolOwner,
    { destination, resolver }: DestinationState,
    mayDial: ((ip: string) => boolean) | null
  ) {
    this.#owner = owner
    this.#destination = destination
    this.#resolver = resolver
    this.#mayDial = mayDial
    if (destination.unixPath !== null) this.#pools = [new Pool(owner, { unixPath: destination.unixPath })]
  }

  /** As they were when somebody last looked for one. */
  get pools(): readonly Pool[] {
    return this.#pools
  }

  /** The pools of the addresses known now. */
  current(): readonly Pool[] {
    const resolver = this.#resolver
    if (resolver === null) return this.#pools
    const { addresses } = resolver
    if (addresses !== this.#known) {
      this.#known = addresses
      const before = this.#pools
      this.#pools = interleaved(addresses, ADDRESSES_MAX).map(({ ip, family }) => {
        const kept = before.find((pool) => 'ip' in pool.address && pool.address.ip === ip)
        return kept ?? new Pool(this.#owner, { ip, family, port: this.#destination.port })
      })
      for (const pool of before) if (!this.#pools.includes(pool)) pool.closeIdle()
      this.hasRefusedAddress = this.#mayDial !== null && addresses.some(({ ip }) => !this.#mayDial!(ip))
    }
    return this.#pools
  }

  /** The least busy address that works, among those not in `tried`; the one back soonest if none works. */
  pick(tried: readonly Pool[] | null): Pool | null {
    const pools = this.current()
    if (pools.length === 1 && tried === null) return pools[0]!
    let best: Pool | null = null
    const offset = this.next
    // What is wrong with one address is often so with its family (RFC 8305 section 4).
    const family = tried?.at(-1)?.family ?? 0
    for (let i = 0; i < pools.length; i++) {
      const pool = pools[(offset + i) % pools.length]!
      if (tried?.includes(pool)) continue
      if (best === null || isBetter(pool, best, family)) best = pool
    }
    return best
  }
}
