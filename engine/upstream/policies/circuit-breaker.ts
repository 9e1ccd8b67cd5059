/** The policy `circuitBreaker` of backends: bounds on what is under way to one, by Envoy's names. */
import type { ThresholdLimits } from '#engine/contract/resilience.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { whole, type z } from '#engine/schema/schema.ts'

const MAX = 1_000_000

const SCHEMA = atLeastOne({
  maxConnections: whole(1, MAX)
    .optional()
    .describe('Connections to all of its addresses. Each worker may have one all the same.'),
  maxPendingRequests: whole(0, MAX).optional().describe('Requests that wait for a connection.'),
  maxRequests: whole(1, MAX).optional().describe('Requests under way, without those that wait for a connection.'),
  maxRetries: whole(0, MAX).optional().describe('Requests that are being tried again.')
}).meta({ id: 'CircuitBreaker' })

export const circuitBreaker = () => SCHEMA

export type FileCircuitBreaker = z.output<typeof SCHEMA>

export function limitsOf(file: FileCircuitBreaker): ThresholdLimits {
  return file
}
