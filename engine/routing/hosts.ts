/** Host names to values: exact names first, then the longest wildcard, then "*". */
import { HOST_LENGTH_MAX } from '#engine/http/authority.ts'

/** Of exact names that are other than in the table that this one was made from. More are put in one table with it. */
const CHANGES_MAX = 64

/**
 * Asked once or twice per request, so the usual answer is one Map lookup. A wildcard covers names
 * any number of labels below it, never the bare domain (Gateway API, HTTPRoute hostnames).
 */
export class HostTable<T> {
  #exact = new Map<string, T>()
  /** They come before `#exact`, which other tables have too; undefined: the name is gone. Null: there are none. */
  #changed: Map<string, T | undefined> | null = null
  /** Keyed by what follows the star: ".example.com". */
  readonly #wildcards = new Map<string, T>()
  #any: T | undefined

  /** The value stored under exactly this host name ("*", "*.example.com" or a name). */
  get(hostname: string): T | undefined {
    if (hostname === '*') return this.#any
    return hostname.startsWith('*.') ? this.#wildcards.get(hostname.slice(1)) : this.#findExact(hostname)
  }

  /** Only of a table that no other one was made from. */
  set(hostname: string, value: T): void {
    if (hostname === '*') this.#any = value
    else if (hostname.startsWith('*.')) this.#wildcards.set(hostname.slice(1), value)
    else this.#exact.set(hostname, value)
  }

  /** The same values, but for these; undefined: the host name is gone. Costs what has changed, not what there is. */
  with(changes: Iterable<readonly [hostname: string, value: T | undefined]>): HostTable<T> {
    const out = new HostTable<T>()
    const changed = new Map(this.#changed)
    out.#any = this.#any
    for (const [suffix, value] of this.#wildcards) out.#wildcards.set(suffix, value)
    for (const [hostname, value] of changes) {
      if (hostname === '*') out.#any = value
      else if (!hostname.startsWith('*.')) changed.set(hostname, value)
      else if (value === undefined) out.#wildcards.delete(hostname.slice(1))
      else out.#wildcards.set(hostname.slice(1), value)
    }
    const isFew = changed.size <= CHANGES_MAX
    out.#exact = isFew ? this.#exact : new Map(exactNames(this.#exact, changed))
    out.#changed = isFew && changed.size > 0 ? changed : null
    return out
  }

  /** The value of the most specific host name that covers `host` (lower case, without port). */
  find(host: string): T | undefined {
    return this.#findExact(host) ?? this.#findWildcard(host) ?? this.#any
  }

  #findExact(host: string): T | undefined {
    const changed = this.#changed
    return changed?.has(host) === true ? changed.get(host) : this.#exact.get(host)
  }

  #findWildcard(host: string): T | undefined {
    // A longer text is no DNS name, and every dot of it would cost a lookup.
    if (this.#wildcards.size === 0 || host.length > HOST_LENGTH_MAX) return undefined
    for (let dot = host.indexOf('.', 1); dot > 0; dot = host.indexOf('.', dot + 1)) {
      const value = this.#wildcards.get(host.substring(dot))
      if (value !== undefined) return value
    }
    return undefined
  }

  /** Replaces every value; `change` gets the host name as it was set. */
  map<U>(change: (value: T, hostname: string) => U): HostTable<U> {
    const out = new HostTable<U>()
    for (const [name, value] of this.entries()) out.set(name, change(value, name))
    return out
  }

  *entries(): Iterable<readonly [hostname: string, value: T]> {
    yield* exactNames(this.#exact, this.#changed ?? new Map())
    for (const [suffix, value] of this.#wildcards) yield [`*${suffix}`, value]
    if (this.#any !== undefined) yield ['*', this.#any]
  }

  /** Values of all host names that cover what `hostname` covers, most specific first. */
  covering(hostname: string): T[] {
    const found: (T | undefined)[] = [hostname === '*' ? undefined : this.get(hostname)]
    const from = hostname.startsWith('*.') ? 2 : 1
    for (let dot = hostname.indexOf('.', from); dot > 0; dot = hostname.indexOf('.', dot + 1)) {
      found.push(this.#wildcards.get(hostname.substring(dot)))
    }
    found.push(this.#any)
    return found.filter((value) => value !== undefined)
  }
}

function* exactNames<T>(
  exact: ReadonlyMap<string, T>,
  changed: ReadonlyMap<string, T | undefined>
): Iterable<[string, T]> {
  for (const [name, value] of exact) if (!changed.has(name)) yield [name, value]
  for (const [name, value] of changed) if (value !== undefined) yield [name, value]
}
