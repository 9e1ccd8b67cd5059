/** What a bind does with a new connection before, or instead of, HTTP: PROXY header, ClientHello, TCP. */
import type { TcpTable } from '#engine/contract/tcp.ts'
import type { FrontendSettings } from '#engine/ir/frontend.ts'
import type { TimerWheel } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory } from '#engine/socket/memory.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { Crowd, Member } from './crowd.ts'
import { HelloStage } from './hello-stage.ts'
import { ProxyStage } from './proxy-stage.ts'
import type { TcpMember } from './stage.ts'
import { passOn, type TcpPlace } from './tcp.ts'

/** Envoy's default too (TcpProxy.idle_timeout); dead peers are found by TCP's own probes long before. */
export const TCP_IDLE_TIMEOUT_MS = 3_600_000

export interface TcpBindParts {
  /** Number of the bind in the configuration. */
  readonly bind: number
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  readonly crowd: Crowd
  readonly frontend: FrontendSettings
  /** Of the configuration in force; asked for every connection, so that a reload reaches the next one. */
  readonly table: () => TcpTable | undefined
  /** Makes the connection of clear-text HTTP. */
  readonly http: (wire: Wire) => Member
  readonly closed: () => void
}

export class TcpBind implements TcpPlace {
  /** As clients know it; set when the socket is open. */
  port = 0
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  readonly members = new Set<TcpMember>()
  tcpIdleTimeoutMs = TCP_IDLE_TIMEOUT_MS
  #frontend: FrontendSettings
  readonly #parts: TcpBindParts

  constructor(parts: TcpBindParts) {
    this.#parts = parts
    this.memory = parts.memory
    this.timers = parts.timers
    this.update(parts.frontend)
    this.#frontend = parts.frontend
    parts.crowd.add(this.members)
  }

  update(frontend: FrontendSettings): void {
    this.#frontend = frontend
    this.tcpIdleTimeoutMs = frontend.tcp.idleTimeoutMs ?? TCP_IDLE_TIMEOUT_MS
  }

  recorder() {
    return this.#parts.table()?.recorder(this.#parts.bind) ?? null
  }

  closed(): void {
    this.#parts.closed()
  }

  accept(wire: Wire): void {
    const { proxyProtocol } = this.#frontend
    if (proxyProtocol === null) this.#begin(wire)
    else this.#joined(new ProxyStage(this, wire, proxyProtocol, (behind) => this.#begin(behind)))
  }

  /** What comes now is the client's. */
  #begin(wire: Wire): void {
    const { table, bind, http, crowd } = this.#parts
    const port = table()?.find(bind) ?? null
    if (port === null) crowd.joined(http(wire))
    else if (port.isTls) this.#joined(new HelloStage(this, wire, port, this.#frontend.tls.handshakeTimeoutMs))
    else {
      const connection = passOn(this, wire, port, '', turnStartedAt)
      if (connection === null) return
      this.#joined(connection)
      connection.start()
    }
  }

  #joined(member: TcpMember): void {
    this.#parts.crowd.joined(member)
  }

  stopAccepting(): void {
    this.#parts.crowd.remove(this.members)
  }

  drain(): void {
    enterTurn()
    for (const member of [...this.members]) member.drain()
    leaveTurn()
  }

  closeAll(): void {
    for (const member of [...this.members]) member.cut()
  }
}
