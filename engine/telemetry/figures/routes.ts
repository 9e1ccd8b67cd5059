/** What each route has got in the last minutes, read out of the metrics of all workers. Runs in the main thread. */
import type { MetricsTable } from '#engine/telemetry/metrics-table.ts'
import type { Labels } from './table.ts'
import { Window } from './window.ts'

/** About 150 bytes each in every snapshot: 3 MB at most, whatever is configured. */
export const ROUTES_MAX = 2048

export interface RouteTraffic {
  readonly port: number
  readonly listener: string
  /** Its name without that of a rule: the rules of a route are counted together. '': no route took the request. */
  readonly route: string
  /** Requests that ended; connections, of a route of TCP or TLS. */
  readonly requests: number
  /** Answered with 4xx. */
  readonly refused: number
  /** Answered with 5xx; connections that a side did not end by itself. */
  readonly failed: number
  /** Requests since the gateway has started. */
  readonly total: number
}

export interface Traffic {
  /** How long ago the counting began: less than five minutes after a start only. */
  readonly seconds: number
  /** The busiest first. */
  readonly routes: readonly RouteTraffic[]
  /** Routes with traffic that are not listed, since there are more than ROUTES_MAX. */
  readonly leftOut: number
}

interface Counts {
  requests: number
  refused: number
  failed: number
}

interface Read {
  /** By place: JSON of port, listener and route. */
  readonly counts: ReadonlyMap<string, Counts>
  readonly leftOut: number
}

export class RouteCounts {
  readonly #table: Pick<MetricsTable, 'each'>
  readonly #window: Window<Read>

  /** `clock`: milliseconds that only rise. */
  constructor(table: Pick<MetricsTable, 'each'>, clock = () => performance.now()) {
    this.#table = table
    this.#window = new Window(() => this.#read(), clock)
  }

  /** To be called every second or so. */
  sample(): void {
    this.#window.sample()
  }

  traffic(): Traffic {
    const { seconds, before, now } = this.#window.look()
    const routes = [...now.counts].map(([place, counts]): RouteTraffic => {
      const [port, listener, route] = JSON.parse(place) as [string, string, string]
      const then = before.counts.get(place) ?? { requests: 0, refused: 0, failed: 0 }
      return {
        ...{ port: Number(port), listener, route, total: counts.requests },
        requests: counts.requests - then.requests,
        refused: counts.refused - then.refused,
        failed: counts.failed - then.failed
      }
    })
    const busiest = routes.toSorted((a, b) => b.requests - a.requests || b.total - a.total)
    return { seconds, routes: busiest, leftOut: now.leftOut }
  }

  #read(): Read {
    const counts = new Map<string, Counts>()
    const leftOut = new Set<string>()
    const countsOf = ({ port, listener, route }: Labels): Counts | null => {
      const place = JSON.stringify([port, listener, route])
      const known = counts.get(place)
      if (known !== undefined) return known
      if (counts.size >= ROUTES_MAX) {
        leftOut.add(place)
        return null
      }
      const made = { requests: 0, refused: 0, failed: 0 }
      counts.set(place, made)
      return made
    }
    this.#table.each((name, labels, values, slot) => {
      if (name !== 'weir_requests_total' && name !== 'weir_tcp_connections_total') return
      const of = countsOf(labels)
      if (of === null) return
      const { status = '', reason } = labels
      of.requests += values[slot]!
      if (status.startsWith('4')) of.refused += values[slot]!
      const isFailed = name === 'weir_requests_total' ? status.startsWith('5') : reason !== ''
      if (isFailed) of.failed += values[slot]!
    })
    return { counts, leftOut: leftOut.size }
  }
}
