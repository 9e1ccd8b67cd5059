/**
 * Connects an attempt to one of the addresses of a destination, whatever is to be sent there. An address that fails or
 * hangs is followed by another one, and one that is slow may be raced by another one (RFC 8305 section 5). What comes
 * of it is the health of the addresses, which all attempts share.
 */
import type { Exchange } from '#engine/contract/exchange.ts'
import { inTurn } from '#engine/socket/round.ts'
import type { Connected, DialOptions, TlsOutcome } from '#engine/socket/socket-layer.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Wire } from '#engine/socket/wire.ts'
import type { AddressList, DialledAddress } from './address-list.ts'
import { type Connector, connectTo, NO_MESH_CERTIFICATE } from './connect.ts'
import type { HostSet } from './host-group.ts'
import { HTTP1, NOT_HTTP2 } from './http-version.ts'

/** Connections tried for one exchange over all addresses and repetitions, or for one backend of a TCP connection. */
export const ATTEMPTS_MAX = 4
/** How often the same failure of a destination is logged. */
const SAME_FAULT_MS = 60_000

/** Why there is no connection. */
export type DialError =
  | ('ADDRESS_REFUSED' | 'DNS_FAILURE' | 'NO_ENDPOINT' | 'CONNECT_FAILURE' | 'CONNECT_TIMEOUT')
  | ('UPSTREAM_TLS' | 'UPSTREAM_NOT_HTTP2' | 'NO_MESH_CERTIFICATE')

/** One connection that is being made. */
export interface Dial<A> {
  readonly address: A
  /** Null: for no exchange. */
  readonly exchange: Exchange | null
  giveUp: () => void
}

/** The clocks of an attempt end here. */
interface AttemptOwner<A> {
  onTimeout(attempt: DialAttempt<A>): void
  onSlow(attempt: DialAttempt<A>): void
}

/** One connection that is wanted, and the connections that are being made for it. */
export class DialAttempt<A> {
  /** What is told of it. */
  readonly record: { attempts: number; endpoint: string | null }
  readonly exchange: Exchange | null
  /** With so many `record.attempts` no further address is tried. */
  readonly attemptsMax: number
  /** Of the last connection that was begun, or of waiting. */
  readonly timer: WheelTimer
  readonly slow: WheelTimer
  /** Addresses that have been tried. */
  readonly tried: A[] = []
  /** Under way, the eldest first. */
  readonly dials: Dial<A>[] = []
  cancelled = false

  constructor(
    owner: AttemptOwner<A>,
    record: DialAttempt<A>['record'],
    exchange: Exchange | null,
    attemptsMax = ATTEMPTS_MAX
  ) {
    this.record = record
    this.attemptsMax = attemptsMax
    this.exchange = exchange
    this.timer = new WheelTimer(() => owner.onTimeout(this))
    this.slow = new WheelTimer(() => owner.onSlow(this))
  }

  /** It also waits for connections that others make. */
  get isSharing(): boolean {
    return false
  }

  /** `dial` is no longer under way. False: it was not any more. */
  over(dial: Dial<A>): boolean {
    const index = this.dials.indexOf(dial)
    if (index >= 0) this.dials.splice(index, 1)
    return index >= 0
  }
}

export interface DiallerShared extends Connector {
  readonly timers: TimerWheel
  readonly observer: {
    connected(): void
    secured?(resumed: boolean): void
    connectFailed(code: string): void
    insecure?(destination: string, reason: string): void
  }
}

/** An endpoint that wants connections. */
export interface DialOwner<A, T extends DialAttempt<A>> {
  /** What a connection begins with, before TLS; '' for nothing. */
  preambleOf(attempt: T): string
  /** How long an address may take before another one is tried beside it, in milliseconds; null: for ever. */
  readonly raceAfterMs: number | null
  /** Goes on with `attempt`: by next() and connect(), at once or when there may be another connection. */
  dial(attempt: T): void
  dialling(dial: Dial<A>): void
  /** `dial` is over, however it ended. */
  dialled(dial: Dial<A>): void
  connected(attempt: T, address: A, wire: Wire): void
  /** A connection that was being made did not come about. */
  closed(): void
  /** Something is wrong with the TLS of the destination; it is logged here. */
  noteFault(attempt: T, reason: string): void
  /** Its time is over, and no connection was being made for it. */
  waitedTooLong(attempt: T): void
  report(attempt: T, code: DialError): void
}

export class Dialler<A extends DialledAddress, T extends DialAttempt<A>> implements AttemptOwner<A> {
  readonly addresses: AddressList<A>
  readonly #owner: DialOwner<A, T>
  readonly #hosts: HostSet
  readonly #shared: DiallerShared
  /** The last failure of its TLS, and when it was logged. */
  #fault = { reason: '', at: 0 }

  constructor(owner: DialOwner<A, T>, hosts: HostSet, shared: DiallerShared, addresses: AddressList<A>) {
    this.#owner = owner
    this.#hosts = hosts
    this.#shared = shared
    this.addresses = addresses
  }

  /** The address to try next; null: there is none yet, or none at all, which has been reported. */
  next(attempt: T): A | null {
    if (this.addresses.current().length === 0) {
      if (this.#hosts.isEmpty) this.#owner.report(attempt, 'NO_ENDPOINT')
      else this.#resolve(attempt)
      return null
    }
    if (this.addresses.hasRefusedAddress) {
      // One refused address of a name is enough: picking the others would make the guard a lottery.
      this.abandon(attempt)
      this.#owner.report(attempt, 'ADDRESS_REFUSED')
      return null
    }
    const address = this.addresses.pick(attempt.tried, attempt.exchange)
    if (address === null) this.#owner.report(attempt, 'CONNECT_FAILURE')
    return address
  }

  /** Starts the clock of an attempt that waits, for a name or for others. */
  startTimer(attempt: T): void {
    this.#shared.timers.arm(attempt.timer, performance.now(), this.#hosts.options.connectTimeoutMs)
  }

  stopTimers(attempt: T): void {
    this.#shared.timers.remove(attempt.timer)
    this.#shared.timers.remove(attempt.slow)
  }

  #resolve(attempt: T): void {
    this.startTimer(attempt)
    const resolved = (isFound: boolean) => {
      // Its time was for the name. An attempt that shares connections has no clock: the dial has one.
      this.#shared.timers.disarm(attempt.timer)
      if (attempt.cancelled) return
      if (isFound) this.#owner.dial(attempt)
      else this.#owner.report(attempt, 'DNS_FAILURE')
    }
    this.#hosts.resolve().then(
      () => inTurn(resolved, true),
      () => inTurn(resolved, false)
    )
  }

  connect(attempt: T, address: A): void {
    this.addresses.next++
    const { record } = attempt
    record.attempts++
    record.endpoint = address.label
    attempt.tried.push(address)
    address.health.dialling()
    this.startTimer(attempt)
    this.startRace(attempt)
    const dial: Dial<A> = { address, exchange: attempt.exchange, giveUp: () => {} }
    attempt.dials.push(dial)
    this.#owner.dialling(dial)
    const done: Connected = (code, wire, tls) => {
      if (!attempt.over(dial)) return
      this.#owner.dialled(dial)
      if (wire === null) this.#failed(attempt, address, code ?? 'EIO', tls)
      else if (tls?.protocol !== 'h2') this.#connected(attempt, address, wire, tls)
      else {
        // Settings may have left the server no choice but HTTP/2: what is sent here would only make it close.
        wire.destroy()
        const reason = 'it agreed to h2 alone, and this is HTTP/1.1: allow it in alpn'
        this.#failed(attempt, address, 'ERR_ALPN', { ...tls, reason })
      }
    }
    dial.giveUp = connectTo(address, HTTP1, this.#shared, done, this.#options(attempt))
  }

  #options(attempt: T): DialOptions {
    const { keepaliveMs } = this.#hosts.options
    const preamble = this.#owner.preambleOf(attempt)
    const reached = () => this.#shared.timers.disarm(attempt.slow)
    return keepaliveMs === undefined ? { preamble, reached } : { keepaliveMs, preamble, reached }
  }

  #mayTryOther(attempt: T): boolean {
    return attempt.record.attempts < attempt.attemptsMax && this.addresses.pick(attempt.tried) !== null
  }

  #connected(attempt: T, address: A, wire: Wire, tls: TlsOutcome | undefined): void {
    const { observer } = this.#shared
    observer.connected()
    if (tls !== undefined) observer.secured?.(tls.resumed)
    address.health.reached()
    // Those that were first and are not here yet are slow at best: others are to be preferred for a while.
    this.abandon(attempt, attempt.tried.indexOf(address))
    // Where it goes, and not what was tried last.
    attempt.record.endpoint = address.label
    this.stopTimers(attempt)
    this.#owner.connected(attempt, address, wire)
  }

  /** Gives up what is under way; addresses that were tried before the `first` ones count as failed. */
  abandon(attempt: T, first = 0): void {
    for (const dial of attempt.dials.splice(0)) {
      const { address } = dial
      dial.giveUp()
      this.#owner.dialled(dial)
      if (attempt.tried.indexOf(address) < first) address.health.connectFailed()
      else address.health.abandoned()
      this.#owner.closed()
    }
  }

  #failed(attempt: T, address: A, code: string, tls?: TlsOutcome): void {
    this.#shared.observer.connectFailed(code)
    address.health.connectFailed()
    this.#owner.closed()
    this.tryNext(attempt, code, tls)
  }

  /** A connection failed with `code`: nothing was sent, so the next address may always be tried. */
  tryNext(attempt: T, code: string, tls?: TlsOutcome): void {
    if (tls !== undefined && tls.reason !== '') this.#note(attempt, tls.reason)
    if (attempt.cancelled) return
    if (this.#mayTryOther(attempt)) this.#owner.dial(attempt)
    else if (attempt.dials.length === 0 && !attempt.isSharing) this.#owner.report(attempt, errorOf(code))
  }

  /** In the log once in a while: each request may find the same. */
  #note(attempt: T, reason: string): void {
    this.#owner.noteFault(attempt, reason)
    const now = performance.now()
    if (this.#fault.reason === reason && now - this.#fault.at < SAME_FAULT_MS) return
    this.#fault = { reason, at: now }
    this.#shared.observer.insecure?.(this.#hosts.name, reason)
  }

  /** Another address is tried soon beside those that are under way. */
  startRace(attempt: T): void {
    const { raceAfterMs } = this.#owner
    if (raceAfterMs !== null && this.#mayTryOther(attempt))
      this.#shared.timers.arm(attempt.slow, performance.now(), raceAfterMs)
  }

  onTimeout(attempt: T): void {
    if (attempt.dials.length === 0) this.#owner.waitedTooLong(attempt)
    else {
      // An address that does not answer is as good as one that refuses: there may be others.
      const [last, ...others] = attempt.dials.splice(0).toReversed()
      for (const dial of others) {
        this.#hung(dial)
        this.#shared.observer.connectFailed('ETIMEDOUT')
        dial.address.health.connectFailed()
        this.#owner.closed()
      }
      this.#hung(last!)
      this.#failed(attempt, last!.address, 'ETIMEDOUT')
    }
  }

  #hung(dial: Dial<A>): void {
    dial.giveUp()
    this.#owner.dialled(dial)
  }

  onSlow(attempt: T): void {
    if ((attempt.dials.length === 0 && !attempt.isSharing) || !this.#mayTryOther(attempt)) return
    this.#owner.dial(attempt)
  }
}

/** Codes of the system (E...) are about reaching the server; the others are what TLS finds wrong with it. */
function errorOf(code: string): DialError {
  if (code === 'ETIMEDOUT') return 'CONNECT_TIMEOUT'
  if (code === NOT_HTTP2) return 'UPSTREAM_NOT_HTTP2'
  if (code === NO_MESH_CERTIFICATE) return code
  return /^E(?!RR_|PROTO)/.test(code) ? 'CONNECT_FAILURE' : 'UPSTREAM_TLS'
}
