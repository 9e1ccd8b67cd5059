/** Listeners by what they take of their ports: 64 ListenerSets have 4,096, and each is compared with all. */
import type { ListenerState, Protocol } from './listeners.ts'

/** What is behind the first byte of a connection. Two of these cannot share a port. */
const FAMILIES: Readonly<Record<Protocol, string>> = { HTTP: 'clear text', HTTPS: 'TLS', TLS: 'TLS', TCP: 'any bytes' }

/** The first two: one of them is another one than who asks. */
type Firsts = ListenerState[]

interface Port {
  readonly families: Map<string, Firsts>
  /** Of HTTP, HTTPS and TLS. */
  readonly hostnames: Map<string, Firsts>
}

export class Ports {
  readonly #ports = new Map<number, Port>()
  readonly #order = new Map<ListenerState, number>()

  add(listener: ListenerState): void {
    const { port, protocol, hostname } = listener
    if (protocol === null) return
    const there = this.#ports.get(port) ?? { families: new Map(), hostnames: new Map() }
    this.#ports.set(port, there)
    this.#order.set(listener, this.#order.size)
    addFirst(there.families, FAMILIES[protocol], listener)
    if (protocol !== 'TCP') addFirst(there.hostnames, hostname, listener)
  }

  /** The first that was added of those that cannot stand beside `listener`, which may be one of them; null: none. */
  conflictOf(listener: ListenerState): ListenerState | null {
    const { port, protocol, hostname } = listener
    const there = this.#ports.get(port)
    if (there === undefined || protocol === null) return null
    // Connections of TCP have nothing by which they could be told apart.
    const others = [...there.families].filter(([family]) => protocol === 'TCP' || family !== FAMILIES[protocol])
    const sameHost = protocol === 'TCP' ? [] : (there.hostnames.get(hostname) ?? [])
    const all = [...others.flatMap(([, firsts]) => firsts), ...sameHost].filter((one) => one !== listener)
    const order = (one: ListenerState) => this.#order.get(one)!
    return all.reduce<ListenerState | null>((a, b) => (a !== null && order(a) < order(b) ? a : b), null)
  }
}

function addFirst(map: Map<string, Firsts>, key: string, listener: ListenerState): void {
  const firsts = map.get(key)
  if (firsts === undefined) map.set(key, [listener])
  else if (firsts.length < 2) firsts.push(listener)
}
