/** The addresses of one destination as they are known now, and which of them is the best choice. */
import type { Address } from '#engine/socket/socket-layer.ts'
import { addressGuard } from './address-guard.ts'
import type { DestinationState } from './destination.ts'
import type { Health } from './health.ts'
import type { Resolved } from './resolver.ts'

/** Addresses of one name that are used. */
const ADDRESSES_MAX = 64

/** One of them, with what its owner keeps for it. */
export interface DialledAddress {
  readonly address: Address
  /** ip:port or unix:path. */
  readonly label: string
  /** What is under way there. */
  readonly busy: number
  readonly health: Health
  /** The name has it no more. */
  closeIdle(): void
}

export class AddressList<A extends DialledAddress> {
  /** Where pick() starts among addresses that are equally busy; moves when one is used, not when one is looked at. */
  next = 0
  /** The guard refuses one of the addresses known now. */
  hasRefusedAddress = false
  #all: readonly A[] = []
  #known: readonly Resolved[] | null = null
  readonly #destination: DestinationState
  readonly #make: (address: Address) => A
  /** Null: every address may be dialled. */
  readonly #mayDial: ((ip: string) => boolean) | null

  constructor(destination: DestinationState, make: (address: Address) => A) {
    const { guarded, allow } = destination.options
    const { unixPath } = destination.destination
    this.#destination = destination
    this.#make = make
    this.#mayDial = guarded ? addressGuard(allow) : null
    if (unixPath !== null) this.#all = [make({ unixPath })]
  }

  /** As they were when one was last picked. */
  get all(): readonly A[] {
    return this.#all
  }

  /** Not all of them are ejected. */
  get isUsable(): boolean {
    const all = this.current()
    return all.length === 0 || all.some(({ health }) => !health.ejected)
  }

  /** Those known now; none: the name has to be resolved first. */
  current(): readonly A[] {
    const { resolver } = this.#destination
    if (resolver === null) return this.#all
    const { addresses } = resolver
    if (addresses !== this.#known) {
      this.#known = addresses
      const before = this.#all
      const { port } = this.#destination.destination
      this.#all = interleaved(addresses, ADDRESSES_MAX).map(({ ip, family }) => {
        const kept = before.find(({ address }) => 'ip' in address && address.ip === ip)
        return kept ?? this.#make({ ip, family, port })
      })
      for (const one of before) if (!this.#all.includes(one)) one.closeIdle()
      this.hasRefusedAddress = this.#mayDial !== null && addresses.some(({ ip }) => !this.#mayDial!(ip))
    }
    return this.#all
  }

  /** The least busy address that works, among those not in `tried`; the one back soonest if none works. */
  pick(tried: readonly A[] | null): A | null {
    const all = this.current()
    if (all.length === 1 && tried === null) return all[0]!
    let best: A | null = null
    const offset = this.next
    // What is wrong with one address is often so with its family (RFC 8305 section 4).
    const last = tried?.at(-1)
    const family = last === undefined ? 0 : familyOf(last)
    for (let i = 0; i < all.length; i++) {
      const one = all[(offset + i) % all.length]!
      if (tried?.includes(one)) continue
      if (best === null || isBetter(one, best, family)) best = one
    }
    return best
  }
}

/** `family`: of the address that was tried last; another one is better. */
function isBetter(one: DialledAddress, best: DialledAddress, family: number): boolean {
  const { ejected, ejectedUntil } = one.health
  if (ejected !== best.health.ejected) return !ejected
  if ((familyOf(one) === family) !== (familyOf(best) === family)) return familyOf(one) !== family
  return ejected ? ejectedUntil < best.health.ejectedUntil : one.busy < best.busy
}

/** 0: a unix socket. */
function familyOf({ address }: DialledAddress): 0 | 4 | 6 {
  return 'unixPath' in address ? 0 : address.family
}

/** ip:port or unix:path, for logs. */
export function labelOf(address: Address): string {
  if ('unixPath' in address) return `unix:${address.unixPath}`
  return address.family === 6 ? `[${address.ip}]:${address.port}` : `${address.ip}:${address.port}`
}

/** The first `max`, one of each family in turn (RFC 8305 section 4): a long list of one does not hide the other. */
function interleaved(addresses: readonly Resolved[], max: number): Resolved[] {
  const first = addresses.filter(({ family }) => family === addresses[0]!.family)
  const second = addresses.filter(({ family }) => family !== addresses[0]!.family)
  const longest = Math.max(first.length, second.length)
  const all = Array.from({ length: longest }, (_, i) => [first[i], second[i]]).flat()
  return all.filter((address) => address !== undefined).slice(0, max)
}
