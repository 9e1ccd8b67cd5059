/**
 * The first moments of a connection, before its protocol is known: a stage reads until it knows enough,
 * then makes the next owner of the wire and hands it the bytes that are not its own. Bounded in bytes (by
 * what it reads) and in time; counted like every connection of the bind.
 */
import { type TcpReason, type TcpRecorder, TcpSession } from '#engine/contract/tcp.ts'
import type { ReadMemory, ReadSlot } from '#engine/socket/memory.ts'
import { turnStartedAt } from '#engine/socket/round.ts'
import { type TimerWheel, WheelTimer } from '#engine/socket/timer-wheel.ts'
import type { Wire, WireOwner } from '#engine/socket/wire.ts'
import type { OpenConnection } from './connection-limiter.ts'

/** What such connections of one bind share. */
export interface StageContext {
  /** Port of the bind, as clients know it. */
  readonly port: number
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  /** All of the bind, whatever they speak. */
  readonly connections: Set<OpenConnection>
  /** Records what ends before its listener is known. */
  recorder(): TcpRecorder | null
  /** A connection of the bind is over. */
  closed(): void
}

/** More bytes are needed. */
export const MORE = -1
/** Nothing goes on from here: the stage has ended the connection, or goes on by itself with what it has read. */
export const TAKEN = -2

const EMPTY = Buffer.alloc(0)
const BUFFER_BYTES_MIN = 512

export abstract class Stage<Place extends StageContext = StageContext> implements WireOwner, OpenConnection {
  protected readonly context: Place
  protected readonly wire: Wire
  /** When the connection came. */
  readonly startedAt: number
  readonly #timer: WheelTimer
  #kept: Buffer | null = null
  /** What has come in more than one piece is its beginning. */
  #buffer = EMPTY
  protected isOver = false

  constructor(place: Place, wire: Wire, timeoutMs: number, startedAt = turnStartedAt) {
    this.context = place
    this.wire = wire
    this.startedAt = startedAt
    this.#timer = new WheelTimer(() => this.#timedOut())
    wire.owner = this
    place.connections.add(this)
    place.timers.arm(this.#timer, turnStartedAt, timeoutMs)
  }

  /** What the stage makes of everything so far: where the next owner's bytes begin, MORE, or TAKEN. */
  protected abstract decide(bytes: Buffer, start: number, end: number): number

  /** Makes the next owner of the wire. */
  protected abstract proceed(): void

  /** The time is up. True: go on as if the next stage's bytes began here. */
  protected abstract timedOut(hasBytes: boolean): boolean

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    const { memory } = this.context
    const before = this.#kept
    const kept = before === null ? null : this.#append(before, memory.bytes, start, end)
    const at = kept === null ? this.decide(memory.bytes, start, end) : this.decide(kept, 0, kept.length)
    if (at === TAKEN) return
    if (at === MORE) {
      this.#kept = kept ?? Buffer.from(memory.bytes.subarray(start, end))
      return
    }
    this.leave()
    this.proceed()
    if (before === null) this.#pass(at, end, slot)
    else {
      if (at < before.length) this.#passKept(before, at)
      this.#pass(start + Math.max(0, at - before.length), end, slot)
    }
  }

  /** In a buffer that doubles: a client that sends byte by byte must not make us copy everything for each. */
  #append(before: Buffer, bytes: Buffer, start: number, end: number): Buffer {
    const total = before.length + end - start
    if (this.#buffer.length < total) {
      this.#buffer = Buffer.allocUnsafeSlow(Math.max(2 * total, BUFFER_BYTES_MIN))
      before.copy(this.#buffer)
    }
    bytes.copy(this.#buffer, before.length, start, end)
    return this.#buffer.subarray(0, total)
  }

  #pass(start: number, end: number, slot: ReadSlot | null): void {
    if (start < end) this.wire.owner.onRead(start, end, slot)
  }

  /** What was kept is shorter than the scratch memory: stages are bounded. */
  #passKept(kept: Buffer, from: number): void {
    const { bytes, scratch } = this.context.memory
    kept.copy(bytes, scratch, from)
    this.wire.owner.onRead(scratch, scratch + kept.length - from, null)
  }

  #timedOut(): void {
    const kept = this.#kept
    if (this.timedOut(kept !== null)) {
      this.leave()
      this.proceed()
      if (kept !== null) this.#passKept(kept, 0)
    }
  }

  /** From now on no longer than this. */
  protected wait(ms: number): void {
    if (!this.isOver) this.context.timers.arm(this.#timer, turnStartedAt, ms)
  }

  /** The client leaves before it has sent enough. One that has sent nothing (a health check) leaves no trace. */
  onEnd(): void {
    if (this.#kept === null) this.forceClose()
    else this.refuse('CLIENT_GONE')
  }

  onError(_code: string): void {
    this.end()
  }

  onDrain(): void {}

  closeIfIdle(): boolean {
    this.forceClose()
    return true
  }

  drain(): void {
    if (this.#kept === null) this.forceClose()
  }

  forceClose(): void {
    if (this.isOver) return
    this.end()
    this.wire.destroy()
  }

  /** Ends and records the connection. */
  protected refuse(reason: TcpReason, detail = ''): void {
    if (this.isOver) return
    const session = new TcpSession(this.wire, this.context.port, this.startedAt)
    session.reason = reason
    session.detail = detail
    this.end()
    this.wire.close(false)
    this.context.recorder()?.record(session)
  }

  protected leave(): void {
    if (this.isOver) return
    this.isOver = true
    this.context.connections.delete(this)
    this.context.timers.remove(this.#timer)
  }

  /** It is over, and was not handed on. */
  protected end(): void {
    if (this.isOver) return
    this.leave()
    this.context.closed()
  }
}
