/**
 * Which of the addresses of a destination gets a request (docs/design/035-health.md). Plain data: it is part of what
 * tells endpoints apart. Expressions are sources that engine/upstream compiles.
 */

/** How an address is chosen, by Envoy's names. */
export type LoadBalancingPolicy = 'RoundRobin' | 'LeastRequest' | 'Random' | 'ConsistentHash'

export interface LoadBalancing {
  readonly policy: LoadBalancingPolicy
  /** CEL: what requests of one address have in common. Null: the policy is not ConsistentHash. */
  readonly hash: string | null
  /** An address takes so many percent of the mean load at most before the next one is chosen; null: any. */
  readonly hashBalanceFactor: number | null
}

/** What policies say of the addresses of a destination; absent: nothing. */
export interface Resilience {
  readonly loadBalancing?: LoadBalancing
}
