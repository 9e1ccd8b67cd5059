/**
 * Whether there is room for one more process, or wire: of a backend, of all of them, and of one party, so that no party
 * holds them all. Where there is none, the one that has been idle longest makes some, if it has been so for long: for
 * a party that has its share, one of its own.
 */
import { isBelowThreshold } from '#engine/kit/dynamic-threshold.ts'
import type { SentSpec } from './messages.ts'

/** As many as `childrenMax` for all backends where that is more. */
const CHILDREN_MAX = 512
const CHILDREN_PER_BACKEND_MAX = 128
/** A wire is a connection, and no process. */
const WIRES_MAX = 8192
const WIRES_PER_BACKEND_MAX = 4096
const EVICT_IDLE_MS = 10_000

export interface Running {
  readonly session: {
    readonly spec: Pick<SentSpec, 'isWire' | 'backend'>
    readonly isIdle: boolean
    readonly usedAt: number
  }
  /** The party that had it started. */
  readonly party: string
}

export interface Wanted {
  readonly spec: Pick<SentSpec, 'isWire' | 'backend'>
  readonly party: string
  /** Processes that are about to end: they are processes too. */
  readonly ending: number
  readonly childrenMax: number | undefined
  readonly now: number
}

/** `end`: the name of one that ends for it; null: none has to. `why`: none is left, or none for this party. */
export type Admission = { readonly end: string | null } | { readonly why: 'all' | 'share' }

type Named = readonly [id: string, one: Running]

export function admit(running: ReadonlyMap<string, Running>, wanted: Wanted): Admission {
  const { spec, party, ending, now } = wanted
  const max = spec.isWire ? WIRES_PER_BACKEND_MAX : (wanted.childrenMax ?? CHILDREN_PER_BACKEND_MAX)
  const allMax = spec.isWire ? WIRES_MAX : Math.max(CHILDREN_MAX, max)
  const alike = [...running].filter(([, { session }]) => session.spec.isWire === spec.isWire)
  const ofBackend = alike.filter(([, { session }]) => session.spec.backend === spec.backend)
  const ofParty = (all: readonly Named[]): readonly Named[] => all.filter(([, one]) => one.party === party)
  for (const [all, count, most] of [
    [ofBackend, ofBackend.length, max],
    [alike, alike.length + ending, allMax]
  ] as const) {
    const own = ofParty(all)
    if (isBelowThreshold(own.length, count, most)) continue
    const isFull = count >= most
    // A party with more than its share of the last few makes room among its own.
    const end = idlest(isFull && isBelowThreshold(own.length, most - 1, most) ? all : own, now)
    return end === null || ending >= allMax ? { why: isFull ? 'all' : 'share' } : { end }
  }
  return { end: null }
}

function idlest(all: readonly Named[], now: number): string | null {
  let found: string | null = null
  let oldest = now - EVICT_IDLE_MS
  for (const [id, { session }] of all) {
    if (!session.isIdle || session.usedAt > oldest) continue
    found = id
    oldest = session.usedAt
  }
  return found
}
