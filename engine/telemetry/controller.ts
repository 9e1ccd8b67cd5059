/** Metrics of a controller of Kubernetes. */
import { Metrics } from './metrics.ts'
import { MetricsTable } from './metrics-table.ts'
import { processMetrics } from './process-metrics.ts'

/** A handful of series and one histogram. */
const REGION_BYTES = 16 * 1024

export interface ControllerState {
  readonly isLeader: boolean
  readonly gatewayCount: number
  readonly dataPlaneCount: number
}

export interface ControllerMetrics {
  translated(durationMs: number): void
  statusWritten(isWritten: boolean): void
  /** Everything, in the Prometheus text format. */
  expose(state: ControllerState): string
}

/** `version`: of the program. */
export function createControllerMetrics(version: string): ControllerMetrics {
  const table = new MetricsTable()
  const region = new SharedArrayBuffer(REGION_BYTES)
  const own = new Metrics(region, table.attach('main', region))
  const { measure } = processMetrics(own, version)
  const leader = own.gauge('weir_controller_leader', {})
  const gateways = own.gauge('weir_controller_gateways', {})
  const dataPlanes = own.gauge('weir_controller_data_planes', {})
  const translations = own.histogram('weir_controller_translation_seconds', {})
  const written = own.counter('weir_controller_status_writes_total', { result: 'success' })
  const failed = own.counter('weir_controller_status_writes_total', { result: 'failure' })
  return {
    translated: (durationMs) => translations.observe(durationMs / 1000),
    statusWritten: (isWritten) => (isWritten ? written : failed).add(1),
    expose: ({ isLeader, gatewayCount, dataPlaneCount }) => {
      measure()
      leader.set(Number(isLeader))
      gateways.set(gatewayCount)
      dataPlanes.set(dataPlaneCount)
      return table.expose()
    }
  }
}
