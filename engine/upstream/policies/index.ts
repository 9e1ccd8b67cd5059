/**
 * Policies of backends about their addresses (docs/design/035-health.md): for all kinds of backends, at every level.
 * Field by field the most precise level holds, as for TLS and TCP.
 */
import { type BackendPolicies, mergedFields, type PolicySets } from '#engine/contract/backend-config.ts'
import type { Transports } from '#engine/contract/backend-transport/policies.ts'
import type { BackendTransport } from '#engine/contract/backend-transport/transport.ts'
import type { Resilience } from '#engine/contract/resilience.ts'
import { circuitBreaker, type FileCircuitBreaker, limitsOf } from './circuit-breaker.ts'
import { type FileHealth, health, healthOf } from './health.ts'
import { type FileLoadBalancing, loadBalancing, loadBalancingOf } from './load-balancing.ts'

export const resiliencePolicies: BackendPolicies = {
  keys: { loadBalancing: 'loadBalancing', health: 'health', circuitBreaker: 'circuitBreaker' },
  schemas: {
    loadBalancing: loadBalancing().optional().describe('Which address of a backend with several gets a request.'),
    health: health().optional().describe('When an address of a backend is left out.'),
    circuitBreaker: circuitBreaker().optional().describe('How much may be under way to a backend.')
  },
  actsOnAll: true,
  needsServers: true,
  words: {
    repeated: () => 'is in another set of this place already: keep one of them',
    misplaced: () => '',
    unreached: () => 'is about servers that get requests, and no backend below has any'
  }
}

interface FileResilience {
  readonly loadBalancing?: FileLoadBalancing
  readonly health?: FileHealth
  readonly circuitBreaker?: FileCircuitBreaker
}

/** Reads what policies say of connections and addresses: what says the same is the same object. */
export class Connections {
  readonly #transports: Transports
  readonly #known = new Map<BackendTransport | undefined, Map<string, BackendTransport>>()

  constructor(transports: Transports) {
    this.#transports = transports
  }

  /** Undefined: `levels` say nothing. Throws a FieldError. */
  of(...levels: readonly PolicySets[]): BackendTransport | undefined {
    const transport = this.#transports.of(...levels)
    const resilience = resilienceOf(mergedFields(resiliencePolicies, levels))
    if (resilience === null) return transport
    const same = this.#known.get(transport) ?? new Map<string, BackendTransport>()
    this.#known.set(transport, same)
    const key = JSON.stringify(resilience)
    const made = same.get(key) ?? { tls: null, tcp: null, ...transport, resilience }
    same.set(key, made)
    return made
  }
}

/** Null: nothing is said. */
function resilienceOf(file: FileResilience): Resilience | null {
  const { loadBalancing: balancing, health: judged, circuitBreaker: limits } = file
  if (balancing === undefined && judged === undefined && limits === undefined) return null
  return {
    ...(limits === undefined ? {} : { limits: limitsOf(limits) }),
    ...(balancing === undefined ? {} : { loadBalancing: loadBalancingOf(balancing) }),
    ...(judged === undefined ? {} : { health: healthOf(judged) })
  }
}
