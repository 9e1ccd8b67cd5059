/** What is known of the connections of clients, whatever they carry. */
import type { Logger } from './log.ts'
import type { Counter, Gauge, Metrics } from './metrics.ts'

/** One TLS handshake that is over. */
export interface Handshake {
  readonly port: number
  /** One of a few words. */
  readonly result: string
  readonly seconds: number
  readonly remoteAddress: string
  readonly serverName: string
  readonly detail: string
}

interface DownstreamSeries {
  readonly open: Gauge
  readonly total: Counter
}

export function downstreamTelemetry(metrics: Metrics, logger: Pick<Logger, 'log' | 'enabled'>) {
  // Keyed by numbers, so that a flood of connections builds no strings.
  const byTransport = new Map<string, Map<number, DownstreamSeries>>()

  function series(port: number, transport: string): DownstreamSeries {
    let byPort = byTransport.get(transport)
    if (byPort === undefined) {
      byPort = new Map()
      byTransport.set(transport, byPort)
    }
    let found = byPort.get(port)
    if (found === undefined) {
      const labels = { port: String(port), transport }
      found = {
        open: metrics.gauge('weir_downstream_connections', labels),
        total: metrics.counter('weir_downstream_connections_total', labels)
      }
      byPort.set(port, found)
    }
    return found
  }

  const evictions = {
    idle: metrics.counter('weir_downstream_connections_evicted_total', { which: 'idle' }),
    newcomer: metrics.counter('weir_downstream_connections_evicted_total', { which: 'newcomer' })
  }

  return {
    opened: (port: number, transport: string): void => {
      const { open, total } = series(port, transport)
      open.add(1)
      total.add(1)
    },
    closed: (port: number, transport: string): void => {
      series(port, transport).open.add(-1)
    },
    /** There were too many: one that waited for a request was closed, or the new one. */
    evicted: (what: 'idle' | 'newcomer'): void => evictions[what].add(1),
    handshake: (report: Handshake): void => {
      const { port, result, seconds } = report
      const labels = { port: String(port) }
      metrics.counter('weir_tls_handshakes_total', { ...labels, result }).add(1)
      if (result === 'ok' || result === 'resumed') {
        metrics.histogram('tls_handshake_duration_seconds', labels).observe(seconds)
      } else if (logger.enabled('debug', 'tls')) {
        const { remoteAddress, serverName, detail } = report
        const fields = { port, result, src: remoteAddress, sni: serverName, detail }
        logger.log('debug', 'tls', 'a client has got no TLS connection', fields)
      }
    }
  }
}
