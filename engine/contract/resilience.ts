/**
 * Which of the addresses of a destination gets a request (docs/design/035-health.md). Plain data: it is part of what
 * tells endpoints apart. Expressions are sources that engine/upstream compiles.
 */
import { Slot } from './slot.ts'

/** How an address is chosen, by Envoy's names. */
export type LoadBalancingPolicy = 'RoundRobin' | 'LeastRequest' | 'Random' | 'ConsistentHash'

export interface LoadBalancing {
  readonly policy: LoadBalancingPolicy
  /** CEL: what requests of one address have in common. Null: the policy is not ConsistentHash. */
  readonly hash: string | null
  /** An address takes so many percent of the mean load at most before the next one is chosen; null: any. */
  readonly hashBalanceFactor: number | null
}

/** When an address is left out for a while because of what it does with requests. */
export interface Ejection {
  /** Failed exchanges in a row; 0: they do not matter. */
  readonly consecutive5xx: number
  /** Failed connections in a row; 0: as before. */
  readonly connectFailures: number
  /** Null: it does not matter. */
  readonly latency: LatencyLimit | null
  /** CEL about an answer, in place of "its status is 500 or more"; null: that. */
  readonly unhealthyCondition: string | null
  /** For the first time; it is as much longer as it has been ejected before. */
  readonly baseTimeMs: number
  readonly maxTimeMs: number
  /** Of the addresses; one may always be ejected. */
  readonly maxEjectedPercent: number
}

/** Of the mean time until answers begin. */
export interface LatencyLimit {
  /** Times the median of the other addresses; null: no limit. */
  readonly factor: number | null
  /** Null: no limit. */
  readonly thresholdMs: number | null
  /** Answers that a mean is made of, at least. */
  readonly minRequests: number
}

/** How addresses are checked. */
export type ActiveCheck = CheckTimes & (HttpCheck | GrpcCheck | TcpCheck)

export interface CheckTimes {
  readonly intervalMs: number
  readonly timeoutMs: number
  /** Checks in a row; the first one of all decides alone. */
  readonly healthyThreshold: number
  readonly unhealthyThreshold: number
  /** Instead of that of the host; null: that. */
  readonly port: number | null
}

export interface HttpCheck {
  readonly kind: 'http'
  readonly method: string
  readonly path: string
  /** Null: that of the host. */
  readonly host: string | null
  /** From and to, both of which are good. */
  readonly expectedStatuses: readonly (readonly [number, number])[]
}

/** grpc.health.v1. */
export interface GrpcCheck {
  readonly kind: 'grpc'
  /** '': the server as a whole. */
  readonly service: string
}

/** A connection is all that is wanted, with TLS where that is spoken. */
export interface TcpCheck {
  readonly kind: 'tcp'
}

export interface HealthPlan {
  readonly active: ActiveCheck | null
  readonly ejection: Ejection | null
  /** With fewer usable addresses than so many percent, requests go to all that can be reached. */
  readonly panicThreshold: number
}

/** What may be under way to one endpoint, over all workers; absent: any number. */
export interface ThresholdLimits {
  readonly maxConnections?: number | undefined
  readonly maxPendingRequests?: number | undefined
  readonly maxRequests?: number | undefined
  readonly maxRetries?: number | undefined
}

/** What policies say of the addresses of a destination; absent: nothing. */
export interface Resilience {
  readonly loadBalancing?: LoadBalancing
  readonly health?: HealthPlan
  readonly limits?: ThresholdLimits
}

/** One attempt whose address is judged by what comes of it. */
export interface AttemptWatch {
  /** The attempt is given up because its time is over. */
  timedOut(): void
}

/** Of the attempt at hand, where its endpoint judges addresses. */
export const ATTEMPT_WATCH = new Slot<AttemptWatch>()

/** Says whether an exchange may be tried again. */
export interface RetryGate {
  /** True: it counts as being tried again until it is over. */
  mayRetry(): boolean
}

/** Of the endpoint that the last attempt went to, where it bounds retries. */
export const RETRY_GATE = new Slot<RetryGate>()
