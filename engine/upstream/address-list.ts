/** The addresses of one destination as they are known now, and which of them gets the next request. */

import type { Exchange } from '#engine/contract/exchange.ts'
import type { MayDial } from '#engine/contract/guarded-fetch.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import type { Address } from '#engine/socket/socket-layer.ts'
import { addressGuard } from './address-guard.ts'
import { type Balanced, Balancer, isUsable } from './balancer.ts'
import type { DestinationState } from './destination.ts'
import type { Health } from './health.ts'
import type { HostSet } from './host-group.ts'
import type { Resolved } from './resolver.ts'

/** Addresses of one host that are used. */
const ADDRESSES_MAX = 64

/** One of them, with what its owner keeps for it. */
export interface DialledAddress extends Balanced {
  readonly address: Address
  /** ip:port or unix:path. */
  readonly label: string
  /** Whose address it is. */
  readonly host: DestinationState
  readonly health: Health
  /** The name has it no more. */
  closeIdle(): void
}

export class AddressList<A extends DialledAddress> {
  /** Where pick() is among addresses that are equally good; moves when one is used, not when one is looked at. */
  next = 0
  /** The guard refuses one of the addresses known now. */
  hasRefusedAddress = false
  #all: readonly A[] = []
  #hosts: readonly DestinationState[] = []
  /** Of each host, as they were when #all was made. */
  #known: readonly (readonly Resolved[])[] = []
  /** Hosts of a group are looked at once a turn. */
  #lookedAt = Number.NEGATIVE_INFINITY
  readonly #set: HostSet
  readonly #make: (address: Address, host: DestinationState) => A
  /** Null: every address may be dialled. */
  readonly #mayDial: MayDial | null
  readonly #balancer: Balancer<A>

  /** `mayDial`: the guard of the process, if it has one. */
  constructor(set: HostSet, make: (address: Address, host: DestinationState) => A, mayDial: MayDial | null = null) {
    const { guarded, allow, resilience } = set.options
    const own = guarded ? addressGuard(allow) : null
    this.#set = set
    this.#make = make
    this.#mayDial = own === null || mayDial === null ? (own ?? mayDial) : (ip, port) => own(ip) && mayDial(ip, port)
    this.#balancer = new Balancer(resilience)
  }

  /** As they were when one was last picked. */
  get all(): readonly A[] {
    return this.#all
  }

  /** Not all of them are ejected. */
  get isUsable(): boolean {
    const all = this.current()
    return all.length === 0 || all.some(isUsable)
  }

  /** Those known now; of names only what is known already: nothing is asked for. */
  get known(): readonly A[] {
    return this.#set.isHostname ? this.#all : this.current()
  }

  /** Those known now; none: the name has to be resolved first. */
  current(): readonly A[] {
    const { hosts } = this.#set
    if (hosts !== this.#hosts) this.#renew(hosts, hosts.map(addressesOf))
    else if (hosts.length === 1) {
      const { resolver } = hosts[0]!
      if (resolver !== null && resolver.addresses !== this.#known[0]) this.#renew(hosts, [resolver.addresses])
    } else if (this.#lookedAt !== turnStartedAt) {
      this.#lookedAt = turnStartedAt
      if (hosts.some((host, i) => addressesOf(host) !== this.#known[i])) this.#renew(hosts, hosts.map(addressesOf))
    }
    return this.#all
  }

  #renew(hosts: readonly DestinationState[], known: readonly (readonly Resolved[])[]): void {
    const before = this.#all
    const byHost = Map.groupBy(before, ({ host }) => host)
    this.#hosts = hosts
    this.#known = known
    const ofHosts = hosts.map((host, i) => {
      const own = byHost.get(host) ?? []
      const { unixPath, port } = host.destination
      if (unixPath !== null) return own.length > 0 ? own : [this.#make({ unixPath }, host)]
      return interleaved(known[i]!, ADDRESSES_MAX).map(
        ({ ip, family }) =>
          own.find(({ address }) => 'ip' in address && address.ip === ip) ?? this.#make({ ip, family, port }, host)
      )
    })
    this.#all = inTurns(ofHosts)
    const kept = new Set(this.#all)
    for (const one of before) if (!kept.has(one)) one.closeIdle()
    this.#balancer.renewed(this.#all)
    this.#set.detector?.renewed(this.#all.map(({ health }) => health))
    const mayDial = this.#mayDial
    this.hasRefusedAddress =
      mayDial !== null && hosts.some(({ destination }, i) => known[i]!.some(({ ip }) => !mayDial(ip, destination.port)))
  }

  /**
   * The address for a request, among those not in `tried`; the one back soonest if none works. `ex`: what is to be
   * sent, null for a connection whose bytes nobody reads.
   */
  pick(tried: readonly A[] | null, ex: Exchange | null = null): A | null {
    const all = this.current()
    if (all.length === 1 && tried === null) return all[0]!
    if (tried === null || tried.length === 0) {
      const chosen = this.#balancer.choose(all, this.next, ex)
      if (chosen !== null) return chosen
    }
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

const NO_ADDRESSES: readonly Resolved[] = []

function addressesOf({ resolver }: DestinationState): readonly Resolved[] {
  return resolver === null ? NO_ADDRESSES : resolver.sought
}

/** `family`: of the address that was tried last; another one is better. */
function isBetter(one: DialledAddress, best: DialledAddress, family: number): boolean {
  const { ejected, ejectedUntil, isUnhealthy } = one.health
  if (ejected !== best.health.ejected) return !ejected
  if (isUnhealthy !== best.health.isUnhealthy) return !isUnhealthy
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
  return inTurns([first, second]).slice(0, max)
}

/** The first of each list, then the second of each, and so on. */
function inTurns<T>(lists: readonly (readonly T[])[]): T[] {
  const longest = Math.max(...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, i) => lists.flatMap((list) => (i < list.length ? [list[i]!] : []))).flat()
}
