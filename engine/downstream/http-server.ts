/** What the connections of one bind share, whether they speak HTTP/1 or HTTP/2. */
import type { ClientEvents } from '#engine/contract/exchange-events.ts'
import type { Llhttp } from '#engine/http/llhttp.ts'
import type { FrontendHttp2 } from '#engine/ir/frontend.ts'
import type { FrontendSettings } from '#engine/ir/snapshot.ts'
import type { TimerWheel } from '#engine/socket/timer-wheel.ts'
import type { OpenConnection } from './connection-limiter.ts'

export interface HttpServer {
  readonly port: number
  readonly events: ClientEvents
  readonly llhttp: Llhttp
  readonly timers: TimerWheel
  settings: FrontendSettings['http']
  http2: FrontendHttp2
  /** Answers announce the end of their connection, and connections without an exchange end soon. */
  draining: boolean
  /** Answers announce the end of their connection; else all goes on. */
  leaving: boolean
  readonly connections: Set<OpenConnection>
  closed(): void
}
