/** What an endpoint is and has, for its pools: nothing here changes. */
import type { ServerEvents } from '#engine/contract/transport.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { TimerWheel } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import type { TlsClient } from '#engine/socket/tls.ts'
import type { SocketLayer } from '#engine/socket/wire.ts'
import type { Site } from './destination.ts'
import type { Health } from './health.ts'
import type { UpstreamShared } from './shared.ts'

export class EndpointFacts {
  readonly name: string
  readonly hostHeader: string
  readonly isHostname: boolean
  protected readonly site: Site
  protected readonly shared: UpstreamShared

  constructor(site: Site, shared: UpstreamShared) {
    this.name = site.name
    this.hostHeader = site.hostHeader
    this.isHostname = site.isHostname
    this.site = site
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
    return this.site.options.connectTimeoutMs
  }

  get keepaliveMs(): number | undefined {
    return this.site.options.keepaliveMs
  }

  get http2Tls(): TlsClient | null {
    return this.site.http2Tls
  }

  /** What connections begin with, before TLS; '' for nothing. */
  get hello(): string {
    return ''
  }

  /** Others wait for the room that an idle connection takes. */
  get isCrowded(): boolean {
    return false
  }

  get idleTimeoutMs(): number {
    return this.shared.idleTimeoutMs
  }

  get requestsPerConnectionMax(): number {
    return this.shared.requestsPerConnectionMax
  }

  healthOf(label: string): Health {
    return this.site.healthOf(label)
  }
}
