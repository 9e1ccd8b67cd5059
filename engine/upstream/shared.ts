/** What all upstream connections of a worker have in common. */

import type { AddressState } from '#engine/contract/endpoint.ts'
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import type { MayDial } from '#engine/contract/guarded-fetch.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { MeshTls } from './mesh.ts'

/** What every endpoint of a worker shares. */
export interface UpstreamShared {
  readonly sockets: SocketLayer
  readonly mesh: MeshTls
  readonly llhttp: Llhttp
  readonly timers: TimerWheel
  readonly events: ServerEvents
  readonly idleTimeoutMs: number
  /** Connections per endpoint. */
  readonly poolMax: number
  readonly requestsPerConnectionMax: number
  /** Absent: a backend may have any address. */
  readonly mayDial?: MayDial | null
  readonly observer: UpstreamObserver
}

/** One address of an endpoint. */
interface NamedAddress {
  /** Of the endpoint. */
  readonly destination: string
  /** The endpoint in metrics: those that clients name have one label in common. */
  readonly metricLabel: string
  readonly address: string
}

/** An address gets no requests for a while. */
export interface EjectedAddress extends NamedAddress {
  readonly reason: 'consecutive_5xx' | 'connect_failures' | 'latency'
  /** For so long. */
  readonly ms: number
}

/** An active check is over. */
export interface CheckedAddress extends NamedAddress {
  /** Null: it passed. */
  readonly finding: string | null
  /** It has become healthy, or unhealthy; null: no change. A change is reported behind the check itself. */
  readonly isHealthy: boolean | null
  /** How long it was unhealthy, where it has become healthy; else 0. */
  readonly unhealthyMs: number
}

/** Addresses by state. */
export type AddressCounts = Readonly<Record<AddressState, number>>

/** Observes events that metrics count. */
export interface UpstreamObserver {
  connected(): void
  /** A handshake is done: with a session of before, or in full. */
  secured?(resumed: boolean): void
  connectFailed(code: string): void
  /** What is wrong with the TLS of a destination, for the log of the process; not more often than is of use. */
  insecure?(destination: string, reason: string): void
  retried(): void
  ejected?(address: EjectedAddress): void
  /** An ejection is over; told by one worker. */
  returned?(address: EjectedAddress): void
  checked?(address: CheckedAddress): void
  /** Something was refused because as much is under way to the endpoint as may be. */
  overflowed?(metricLabel: string, kind: string): void
  /** An expression about answers has failed. */
  expressionFailed?(): void
  /** The addresses of a configured destination. Null: this worker does not report them, or no more. */
  counted?(destination: string, counts: AddressCounts | null): void
}
