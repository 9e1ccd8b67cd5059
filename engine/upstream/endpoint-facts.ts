/** What an endpoint is and has, for its pools: nothing here changes. */
import type { ServerEvents } from '#engine/contract/exchange-events.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import type { SocketLayer } from '#engine/socket/socket-layer.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { TlsClient } from '#engine/socket/tls.ts'
import type { DestinationState } from './destination.ts'
import type { Health } from './health.ts'
import type { UpstreamShared } from './shared.ts'

export class EndpointFacts {
  readonly name: string
  readonly hostHeader: string
  readonly isHostname: boolean
  protected readonly destination: DestinationState
  protected readonly shared: UpstreamShared

  constructor(destination: DestinationState, shared: UpstreamShared) {
    this.name = destination.name
    this.hostHeader = destination.hostHeader
    this.isHostname = destination.isHostname
    this.destination = destination
    this.shared = shared
  }

  get llhttp(): Llhttp {
    return this.shared.llhttp
  }

  get events(): ServerEvents {
    return this.shared.events
  }

  get timers(): TimerWheel {
    return this.shared.timers
  }

  get sockets(): SocketLayer {
    return this.shared.sockets
  }

  get memory(): ReadMemory {
    return this.shared.llhttp.memory
  }

  get connectTimeoutMs(): number {
    return this.destination.options.connectTimeoutMs
  }

  get keepaliveMs(): number | undefined {
    return this.destination.options.keepaliveMs
  }

  get http2Tls(): TlsClient | null {
    return this.destination.http2Tls
  }

  /** What connections begin with, before TLS; '' for nothing. */
  get preamble(): string {
    return ''
  }

  /** Others wait for the room that an idle connection takes. */
  get isContended(): boolean {
    return false
  }

  get idleTimeoutMs(): number {
    return this.shared.idleTimeoutMs
  }

  get requestsPerConnectionMax(): number {
    return this.shared.requestsPerConnectionMax
  }

  healthOf(label: string): Health {
    return this.destination.healthOf(label)
  }
}
