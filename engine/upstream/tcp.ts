/**
 * One destination of connections whose bytes are passed on unread. No pool: every client has a connection of its own.
 */

import type { Background } from '#engine/contract/background.ts'
import type { EndpointOptions } from '#engine/contract/endpoint.ts'
import type { Dialled, StreamEndpoint, TcpReason, TcpSession } from '#engine/contract/tcp.ts'
import type { Address } from '#engine/socket/socket-layer.ts'
import type { Wire } from '#engine/socket/wire.ts'
import { AddressList, type DialledAddress, labelOf } from './address-list.ts'
import type { DestinationState } from './destination.ts'
import {
  ATTEMPTS_MAX,
  type Dial,
  DialAttempt,
  type DialError,
  Dialler,
  type DiallerShared,
  type DialOwner
} from './dialler.ts'
import type { Health } from './health.ts'
import type { HostSet } from './host-group.ts'
import { isOwnAddress } from './own-addresses.ts'

/** Nothing is known of the protocol of the bytes, so none is offered (ALPN) but what the configuration says. */
export function ofBytes(options: EndpointOptions): EndpointOptions {
  const { tls } = options
  return tls === null ? options : { ...options, tls: { ...tls, alpn: tls.alpn ?? [] } }
}

class TcpAddress implements DialledAddress {
  readonly address: Address
  readonly label: string
  readonly host: DestinationState
  readonly health: Health
  /** Connections that exist or are being made. */
  busy = 0

  constructor(address: Address, host: DestinationState) {
    this.address = address
    this.label = labelOf(address)
    this.host = host
    this.health = host.healthOf(this.label)
  }

  closeIdle(): void {}
}

class TcpAttempt extends DialAttempt<TcpAddress> {
  readonly session: TcpSession
  readonly preamble: string
  readonly done: Dialled

  constructor(dialler: Dialler<TcpAddress, TcpAttempt>, session: TcpSession, preamble: string, done: Dialled) {
    // Those of the backends before this one are in session.attempts too, and none of its addresses has been tried.
    super(dialler, session, null, session.attempts + ATTEMPTS_MAX)
    this.session = session
    this.preamble = preamble
    this.done = done
  }
}

export class TcpEndpoint implements StreamEndpoint, DialOwner<TcpAddress, TcpAttempt> {
  readonly name: string
  readonly hosts: HostSet
  /** Some servers speak first, and lock out clients that connect and leave: one connection at a time. */
  readonly raceAfterMs = null
  /** Connections that exist or are being made. */
  total = 0
  background?: Background
  readonly #dialler: Dialler<TcpAddress, TcpAttempt>

  constructor(hosts: HostSet, shared: DiallerShared) {
    this.hosts = hosts
    this.name = hosts.name
    const addresses = new AddressList(hosts, (address, host) => new TcpAddress(address, host), shared.mayDial)
    this.#dialler = new Dialler(this, hosts, shared, addresses)
  }

  get usable(): boolean {
    return this.#dialler.addresses.isUsable
  }

  connect(session: TcpSession, preamble: string, done: Dialled): () => void {
    const attempt = new TcpAttempt(this.#dialler, session, preamble, done)
    this.total++
    this.dial(attempt)
    return () => this.#giveUp(attempt)
  }

  dial(attempt: TcpAttempt): void {
    const next = this.#dialler.next(attempt)
    if (next === null) return
    const { address } = next
    const isLoop = 'ip' in address && address.port === attempt.session.localPort && isOwnAddress(address.ip)
    if (isLoop) this.#end(attempt, 'LOOP_DETECTED')
    else this.#dialler.connect(attempt, next)
  }

  preambleOf({ preamble }: TcpAttempt): string {
    return preamble
  }

  dialling({ address }: Dial<TcpAddress>): void {
    address.busy++
  }

  dialled({ address }: Dial<TcpAddress>): void {
    address.busy--
  }

  connected(attempt: TcpAttempt, address: TcpAddress, wire: Wire): void {
    address.busy++
    attempt.session.release = () => {
      address.busy--
      this.total--
    }
    attempt.cancelled = true
    attempt.done(null, wire)
  }

  closed(): void {}

  noteFault({ session }: TcpAttempt, reason: string): void {
    session.detail = reason
  }

  waitedTooLong(attempt: TcpAttempt): void {
    this.#end(attempt, 'CONNECT_TIMEOUT')
  }

  report(attempt: TcpAttempt, code: DialError): void {
    this.#end(attempt, code === 'UPSTREAM_TLS' || code === 'UPSTREAM_NOT_HTTP2' ? 'CONNECT_FAILURE' : code)
  }

  #end(attempt: TcpAttempt, reason: TcpReason): void {
    if (this.#leave(attempt)) attempt.done(reason, null)
  }

  #giveUp(attempt: TcpAttempt): void {
    if (this.#leave(attempt)) this.#dialler.abandon(attempt)
  }

  /** It gets no connection any more. False: it has one, or is over. */
  #leave(attempt: TcpAttempt): boolean {
    if (attempt.cancelled) return false
    attempt.cancelled = true
    this.total--
    this.#dialler.stopTimers(attempt)
    return true
  }
}
