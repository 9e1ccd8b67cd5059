/** Host names of listeners at which TLS ends, to find those that overlap without a comparison of each with each. */
import { isServed, type ListenerState } from './listeners.ts'

export const endsTls = (one: ListenerState): boolean => one.certificates !== null && isServed(one)

/** How many listeners of one port have a name, or have it as the end of theirs (".example.com"). */
class Names {
  count = 0
  readonly #exact = new Map<string, number>()
  readonly #ends = new Map<string, number>()

  add(hostname: string): void {
    this.count++
    increase(this.#exact, hostname)
    for (const end of endsOf(hostname)) increase(this.#ends, end)
  }

  exact(hostname: string): number {
    return this.#exact.get(hostname) ?? 0
  }

  ending(end: string): number {
    return this.#ends.get(end) ?? 0
  }
}

export class Overlaps {
  readonly #ports = new Map<number, Names>()

  constructor(listeners: readonly ListenerState[]) {
    for (const listener of listeners) {
      if (!endsTls(listener)) continue
      const names = this.#ports.get(listener.port) ?? new Names()
      this.#ports.set(listener.port, names)
      names.add(listener.hostname)
    }
  }

  /** Whether a name of another one covers that of this one, or the other way round (hostnames.ts). */
  hasAnother({ port, hostname }: ListenerState): boolean {
    const names = this.#ports.get(port)!
    if (names.exact(hostname) > 1) return true
    if (hostname === '*') return names.count > 1
    if (names.exact('*') > 0) return true
    const isWild = hostname.startsWith('*.')
    // Of a wildcard the first end is its own.
    if (isWild && names.ending(hostname.slice(1)) > 1) return true
    return endsOf(hostname)
      .slice(isWild ? 1 : 0)
      .some((end) => names.exact(`*${end}`) > 0)
  }
}

/** "*.a.example" and "x.a.example": ".a.example", ".example". A name has 253 characters. */
function endsOf(hostname: string): string[] {
  const ends: string[] = []
  for (let dot = hostname.indexOf('.'); dot !== -1; dot = hostname.indexOf('.', dot + 1)) ends.push(hostname.slice(dot))
  return ends
}

const increase = (counts: Map<string, number>, key: string): unknown => counts.set(key, (counts.get(key) ?? 0) + 1)
