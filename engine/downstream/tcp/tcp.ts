/**
 * A connection whose bytes are passed on unread: dialled for its route, then one pipe (engine/socket/pipe.ts).
 * While the backend is dialled the client's bytes are kept, up to a bound.
 */
import { type TcpPort, type TcpReason, type TcpRoute, TcpSession } from '#engine/contract/tcp.ts'
import type { OpenConnection } from '#engine/downstream/connection-limiter.ts'
import type { StageContext } from '#engine/downstream/stage.ts'
import type { ReadSlot } from '#engine/socket/memory.ts'
import { PipeEnd } from '#engine/socket/pipe.ts'
import { inTurn } from '#engine/socket/round.ts'
import { WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Wire, WireOwner } from '#engine/socket/wire.ts'

/** Bytes that a client may send before its backend is reached. */
const KEPT_BYTES_MAX = 64 * 1024
/** Checks for traffic per idle timeout: a connection is closed up to a quarter late. */
const LOOKS = 4

export interface TcpContext extends StageContext {
  /** After so long without a byte, either way, a connection is closed. */
  readonly tcpIdleTimeoutMs: number
}

/** A fatal alert, unrecognized_name (RFC 6066 section 3): clients say that, and not "unexpected end". */
export const UNRECOGNIZED_NAME = '\x15\x03\x03\x00\x02\x02\x70'

/**
 * The connection to the route of that name, still to be started; null when there is none: then the wire is closed
 * behind `say`, and that is recorded.
 */
export function passOn(
  place: TcpContext,
  wire: Wire,
  port: TcpPort,
  serverName: string,
  startedAt: number,
  say = ''
): TcpConnection | null {
  const listener = port.find(serverName)
  const route = listener?.route(serverName) ?? null
  const session = new TcpSession(wire, place.port, startedAt)
  session.serverName = serverName
  if (route !== null) return new TcpConnection(place, wire, session, route)
  session.reason = listener === undefined ? 'LISTENER_NOT_FOUND' : 'ROUTE_NOT_FOUND'
  if (say !== '') wire.write(say)
  wire.close(say !== '')
  place.closed()
  ;(listener?.recorder ?? place.recorder())?.record(session)
  return null
}

export class TcpConnection implements WireOwner, OpenConnection {
  readonly #place: TcpContext
  readonly #wire: Wire
  readonly #session: TcpSession
  readonly #route: TcpRoute
  readonly #timer: WheelTimer
  #giveUp: (() => void) | null = null
  #kept: Buffer | null = null
  #hasEnded = false
  #client: Side | null = null
  #server: Side | null = null
  /** Ends of the pipe that are still there. */
  #open = 0
  #isOver = false
  #bytes = 0
  #quiet = 0

  constructor(place: TcpContext, wire: Wire, session: TcpSession, route: TcpRoute) {
    this.#place = place
    this.#wire = wire
    this.#session = session
    this.#route = route
    this.#timer = new WheelTimer(() => this.#look())
    wire.owner = this
    place.connections.add(this)
  }

  /** Dials. Apart from the constructor, because it may fail, and end, at once. */
  start(): void {
    this.#giveUp = this.#route.dial(this.#session, (reason, wire) => {
      this.#giveUp = null
      if (this.#isOver) wire?.destroy()
      else if (wire === null) this.#fail(reason ?? 'CONNECT_FAILURE')
      else this.#join(wire)
    })
    if (this.#isOver || this.#client !== null) this.#giveUp = null
  }

  // --- while the backend is dialled ---

  onRead(start: number, end: number, _slot: ReadSlot | null): void {
    const fresh = this.#place.memory.bytes.subarray(start, end)
    this.#kept = this.#kept === null ? Buffer.from(fresh) : Buffer.concat([this.#kept, fresh])
    if (this.#kept.length >= KEPT_BYTES_MAX) this.#wire.pause()
  }

  /** It may have said all that it wants to say: the backend hears that too. */
  onEnd(): void {
    this.#hasEnded = true
  }

  onError(_code: string): void {
    this.#session.reason = 'CLIENT_GONE'
    this.#giveUp?.()
    this.#over()
  }

  onDrain(): void {}

  #fail(reason: TcpReason): void {
    this.#session.reason = reason
    this.#session.bytesReceived = this.#kept?.length ?? 0
    this.#wire.close(false)
    this.#over()
  }

  // --- the pipe ---

  #join(wire: Wire): void {
    const { memory, timers, tcpIdleTimeoutMs } = this.#place
    const client = new Side(this.#wire, memory.bytes, this.#session, 'CLIENT_RESET', tcpIdleTimeoutMs)
    const server = new Side(wire, memory.bytes, this.#session, 'UPSTREAM_RESET', tcpIdleTimeoutMs)
    this.#client = client
    this.#server = server
    this.#open = 2
    timers.arm(this.#timer, performance.now(), tcpIdleTimeoutMs / LOOKS)
    const closed = () => this.#closed()
    if (this.#kept !== null) client.keep(this.#kept)
    this.#kept = null
    server.join(client, closed)
    client.join(server, closed)
    if (this.#hasEnded) client.onEnd()
  }

  #closed(): void {
    if (--this.#open > 0) return
    this.#session.bytesReceived = this.#client!.bytes
    this.#session.bytesSent = this.#server!.bytes
    this.#over()
  }

  #look(): void {
    const { timers, tcpIdleTimeoutMs } = this.#place
    const bytes = this.#client!.bytes + this.#server!.bytes
    this.#quiet = bytes === this.#bytes ? this.#quiet + 1 : 0
    this.#bytes = bytes
    if (this.#quiet < LOOKS) timers.arm(this.#timer, performance.now(), tcpIdleTimeoutMs / LOOKS)
    else this.#break('IDLE_TIMEOUT')
  }

  #break(reason: TcpReason): void {
    if (this.#isOver) return
    this.#session.reason ??= reason
    inTurn(() => {
      if (this.#client === null) {
        this.#giveUp?.()
        this.#wire.destroy()
        this.#over()
      } else this.#client.cut()
    })
  }

  /** The backend may be at work on it, even when no bytes flow. */
  closeIfIdle(): boolean {
    return false
  }

  /** What has begun goes on until the deadline of the drain. */
  drain(): void {}

  forceClose(): void {
    this.#break('DRAINING')
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#place.timers.remove(this.#timer)
    this.#place.connections.delete(this)
    this.#session.release?.()
    this.#place.closed()
    this.#route.recorder.record(this.#session)
  }
}

/** One end of the pipe, which notes who broke it. */
class Side extends PipeEnd {
  readonly #session: TcpSession
  readonly #broken: TcpReason

  constructor(wire: Wire, memory: Buffer, session: TcpSession, broken: TcpReason, stallMs: number) {
    super(wire, memory, undefined, stallMs)
    this.#session = session
    this.#broken = broken
  }

  override onError(code: string): void {
    this.#session.reason ??= this.#broken
    super.onError(code)
  }

  /** The other end has taken nothing for too long. */
  override destroy(): void {
    this.#session.reason ??= 'STALLED'
    super.destroy()
  }
}
