/** What all upstream connections of a worker have in common. */
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'

/** What every endpoint of a worker shares. */
export interface UpstreamShared {
  readonly sockets: SocketLayer
  readonly llhttp: Llhttp
  readonly timers: TimerWheel
  readonly events: ServerEvents
  readonly idleTimeoutMs: number
  /** Connections per endpoint. */
  readonly poolMax: number
  readonly requestsPerConnectionMax: number
  readonly observer: UpstreamObserver
}

/** An address gets no requests for a while. */
export interface EjectedAddress {
  /** Of the endpoint. */
  readonly destination: string
  readonly address: string
  readonly reason: 'consecutive_5xx' | 'connect_failures' | 'latency'
  /** For so long. */
  readonly ms: number
}

/** An active check is over. */
export interface CheckedAddress {
  /** Of the endpoint. */
  readonly destination: string
  readonly address: string
  /** Null: it is well. */
  readonly finding: string | null
  /** It has become well, or unwell; null: it is what it was. Told once more, behind the check itself. */
  readonly isWell: boolean | null
}

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
  checked?(address: CheckedAddress): void
  /** Something was refused because as much is under way to the endpoint as may be. */
  overflowed?(destination: string, kind: string): void
}
