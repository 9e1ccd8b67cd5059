/**
 * The client connections of a worker, over all of its binds: how many there may be, and which give way
 * when there are more. Without a bound a flood takes every file descriptor: then the kernel's queue is
 * reset unseen, and no backend can be dialled for the clients that are being served.
 */
import { readFileSync } from 'node:fs'

export interface LimitedConnection {
  /** Closes the connection if nothing is under way on it; says whether it did. */
  closeIfIdle(): boolean
  /** Closes it whatever is under way. */
  forceClose(): void
}

/** What the bind knows of its connections, whatever they speak. */
export interface OpenConnection extends LimitedConnection {
  /** The bind drains: close now if nothing is under way, else when that is over. */
  drain(): void
}

/** Connections that are looked at for one that is idle, per newcomer: a flood must not cost a long search. */
const LOOKS_MAX = 64
/** Descriptors of the process and of each worker without any connection; an idle one with two workers has 36. */
const PROCESS_DESCRIPTORS = 32
const WORKER_DESCRIPTORS = 16
/** Part of the others that clients may have; the rest is for backends. */
const CLIENTS_PART = 0.75
/** However few descriptors there are. */
const CLIENTS_MIN = 16

/** Which connection was closed because there were too many: one that waited, or the new one. */
export type Evicted = 'idle' | 'newcomer'

export class ConnectionLimiter {
  readonly #max: number
  readonly #onEvicted: (what: Evicted) => void
  readonly #binds = new Set<Set<LimitedConnection>>()

  constructor(max: number, onEvicted: (what: Evicted) => void = () => {}) {
    this.#max = max
    this.#onEvicted = onEvicted
  }

  /** `members`: the open connections of one bind; it keeps them up to date. */
  add(members: Set<LimitedConnection>): void {
    this.#binds.add(members)
  }

  remove(members: Set<LimitedConnection>): void {
    this.#binds.delete(members)
  }

  /** To be called when `newcomer` has joined its bind: if there are too many, an idle one leaves, else itself. */
  admit(newcomer: LimitedConnection): void {
    let count = 0
    for (const members of this.#binds) count += members.size
    if (count <= this.#max) return
    let looks = LOOKS_MAX
    for (const members of this.#binds) {
      for (const member of members) {
        if (looks <= 0) break
        looks--
        if (member === newcomer) continue
        if (member.closeIfIdle()) {
          this.#onEvicted('idle')
          return
        }
        // Busy: to the back, so that the next search begins with others.
        members.delete(member)
        members.add(member)
      }
    }
    this.#onEvicted('newcomer')
    newcomer.forceClose()
  }
}

/** Client connections that each of `workers` may have, by what the system allows the process. */
export function clientsMax(workers: number, descriptors: number = descriptorsMax()): number {
  const free = descriptors - PROCESS_DESCRIPTORS - WORKER_DESCRIPTORS * workers
  return Math.max(CLIENTS_MIN, Math.floor((free * CLIENTS_PART) / workers))
}

function descriptorsMax(): number {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
  } catch {
    // Only Linux has this file; elsewhere nothing is known, and nothing bounded.
    return Number.POSITIVE_INFINITY
  }
}
