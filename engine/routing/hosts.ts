/** Host names to values: exact names first, then the longest wildcard, then "*". */
import { HOST_LENGTH_MAX } from '#engine/http/authority.ts'

/**
 * Asked once or twice per request, so the usual answer is one Map lookup. A wildcard covers names
 * any number of labels below it, never the bare domain (Gateway API, HTTPRoute hostnames).
 */
export class HostTable<T> {
  readonly #exact = new Map<string, T>()
  /** Keyed by what follows the star: ".example.com". */
  readonly #wildcards = new Map<string, T>()
  #any: T | undefined

  /** The value stored under exactly this host name ("*", "*.example.com" or a name). */
  get(hostname: string): T | undefined {
    if (hostname === '*') return this.#any
    return hostname.startsWith('*.') ? this.#wildcards.get(hostname.slice(1)) : this.#exact.get(hostname)
  }

  set(hostname: string, value: T): void {
    if (hostname === '*') this.#any = value
    else if (hostname.startsWith('*.')) this.#wildcards.set(hostname.slice(1), value)
    else this.#exact.set(hostname, value)
  }

  /** The value of the most specific host name that covers `host` (lower case, without port). */
  find(host: string): T | undefined {
    return this.#exact.get(host) ?? this.#findWildcard(host) ?? this.#any
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
    for (const [name, value] of this.#exact) out.set(name, change(value, name))
    for (const [suffix, value] of this.#wildcards) out.set(`*${suffix}`, change(value, `*${suffix}`))
    if (this.#any !== undefined) out.set('*', change(this.#any, '*'))
    return out
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
