/**
 * Which of several addresses gets a request (docs/design/035-health.md). A choice depends on a ticket, which changes
 * only when an address is used: who looks twice sees the same address twice. Nothing is allocated for a choice.
 */
import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression, type Expression } from '#engine/cel/expression.ts'
import { CelError } from '#engine/cel/index.ts'
import type { Exchange } from '#engine/contract/exchange.ts'
import type { LoadBalancingPolicy, Resilience } from '#engine/contract/resilience.ts'

/** An address, as far as a choice depends on it. */
export interface Balanced {
  /** ip:port or unix:path. */
  readonly label: string
  /** What is under way there. */
  readonly busy: number
  readonly host: { readonly name: string; readonly weight: number }
  readonly health: {
    /** Connecting has failed lately. */
    readonly ejected: boolean
    /** Its answers, or checks, speak against it. */
    readonly isUnhealthy: boolean
  }
}

/** 2 ** 32 divided by the golden ratio: its multiples are spread as evenly as can be, however many there are. */
const GOLDEN = 0x9e37_79b9
const RANGE = 2 ** 32

export class Balancer<A extends Balanced> {
  readonly #policy: LoadBalancingPolicy
  readonly #hash: Expression | null
  readonly #hashBalanceFactor: number
  readonly #panicThreshold: number
  /** They do not all have the same weight. */
  #isWeighted = false
  #hashes = new Map<A, number>()
  /** What is left of the list in one choice. */
  readonly #left: A[] = []

  constructor({ loadBalancing, health }: Resilience = {}) {
    const { policy = 'LeastRequest', hash = null, hashBalanceFactor = null } = loadBalancing ?? {}
    this.#policy = policy
    this.#hash = hash === null ? null : compileExpression(hash, REQUEST_HEAD_ROOTS)
    this.#panicThreshold = health?.panicThreshold ?? 0
    this.#hashBalanceFactor = hashBalanceFactor ?? Number.POSITIVE_INFINITY
  }

  /** `all` is the list from now on. */
  renewed(all: readonly A[]): void {
    this.#isWeighted = all.some(({ host }) => host.weight !== all[0]!.host.weight)
    if (this.#hash !== null) this.#hashes = new Map(all.map((one) => [one, hashOf(`${one.host.name} ${one.label}`)]))
    this.#left.length = 0
  }

  /** Null: none of them is usable. */
  choose(all: readonly A[], ticket: number, ex: Exchange | null): A | null {
    if (all.length === 0) return null
    const key = this.#hash === null || ex === null ? null : keyOf(this.#hash, ex)
    const first = this.#draw(all, ticket, key)
    if (isUsable(first)) return first
    const left = this.#left
    left.length = 0
    for (let i = 0; i < all.length; i++) if (isUsable(all[i]!)) left.push(all[i]!)
    if (left.length * 100 < all.length * this.#panicThreshold) {
      // Those that are left would be given too much: all that can be reached share it.
      left.length = 0
      for (let i = 0; i < all.length; i++) if (!all[i]!.health.ejected) left.push(all[i]!)
    }
    return left.length === 0 ? null : this.#draw(left, ticket, key)
  }

  #draw(list: readonly A[], ticket: number, key: number | null): A {
    if (list.length === 1) return list[0]!
    if (key !== null) return this.#byHash(list, key)
    if (this.#policy === 'RoundRobin') return this.#inTurn(list, ticket)
    if (this.#policy !== 'LeastRequest') return this.#at(list, mixed(ticket))
    const one = this.#inTurn(list, ticket)
    const other = this.#at(list, mixed(ticket))
    return isFreer(other, one) ? other : one
  }

  /** Each as often as its weight says, as evenly as can be. */
  #inTurn(list: readonly A[], ticket: number): A {
    return this.#isWeighted ? this.#at(list, Math.imul(ticket, GOLDEN) >>> 0) : list[ticket % list.length]!
  }

  /** `point`: 0 <= x < 2 ** 32, of which each has a part of the size of its weight. */
  #at(list: readonly A[], point: number): A {
    if (!this.#isWeighted) return list[Math.floor((point / RANGE) * list.length)]!
    let total = 0
    for (let i = 0; i < list.length; i++) total += list[i]!.host.weight
    let left = (point / RANGE) * total
    for (let i = 0; i < list.length; i++) {
      left -= list[i]!.host.weight
      if (left < 0) return list[i]!
    }
    return list.at(-1)!
  }

  /**
   * Rendezvous hashing (Thaler and Ravishankar, 1998), with weights: who comes or goes moves its own keys and no
   * others. An address with too much under way is passed over (consistent hashing with bounded loads, 2016).
   */
  #byHash(list: readonly A[], key: number): A {
    const bound = this.#loadBound(list)
    let best = list[0]!
    let bestScore = Number.NEGATIVE_INFINITY
    for (let i = 0; i < list.length; i++) {
      const one = list[i]!
      if (one.busy >= bound * one.host.weight) continue
      const share = (mixed(key ^ this.#hashes.get(one)!) + 0.5) / RANGE
      const score = -one.host.weight / Math.log(share)
      if (score <= bestScore) continue
      best = one
      bestScore = score
    }
    return best
  }

  /** Exchanges per weight; some address has less under way. */
  #loadBound(list: readonly A[]): number {
    if (this.#hashBalanceFactor === Number.POSITIVE_INFINITY) return this.#hashBalanceFactor
    let busy = 1
    let weight = 0
    for (let i = 0; i < list.length; i++) {
      busy += list[i]!.busy
      weight += list[i]!.host.weight
    }
    return ((busy / weight) * this.#hashBalanceFactor) / 100
  }
}

export function isUsable({ health }: Pick<Balanced, 'health'>): boolean {
  return !health.ejected && !health.isUnhealthy
}

function isFreer(one: Balanced, other: Balanced): boolean {
  return one.busy * other.host.weight < other.busy * one.host.weight
}

/** Null: it has no value, and any address does. */
function keyOf(hash: Expression, ex: Exchange): number | null {
  const value = hash.run(ex)
  if (value === null || value instanceof CelError) return null
  return hashOf(typeof value === 'string' ? value : JSON.stringify(value, withoutBigInts))
}

function withoutBigInts(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c_9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x0100_0193)
  return hash >>> 0
}

/** The finalizer of MurmurHash3: 0 <= x < 2 ** 32, in which no pattern of `value` is left. */
function mixed(value: number): number {
  let hash = value ^ (value >>> 16)
  hash = Math.imul(hash, 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
