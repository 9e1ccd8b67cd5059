/**
 * The first moments of a connection, before its protocol is known: a stage reads until it knows enough,
 * then makes the next owner of the wire and hands it the bytes that are not its own. Bounded in bytes (by
 * what it reads) and in time; counted like every connection of the bind.
 */
import { type TcpReason, type TcpRecorder, TcpSession } from '#engine/contract/tcp.ts'
import { type TimerWheel, WheelTimer } from '#engine/kit/timer-wheel.ts'
import type { ReadMemory, ReadSlot } from '#engine/socket/memory.ts'
import { enterTurn, leaveTurn, turnStartedAt } from '#engine/socket/round.ts'
import type { Wire, WireOwner } from '#engine/socket/wire.ts'
import type { Member } from './crowd.ts'

/** A connection of a bind that is not HTTP, or not yet. */
export interface TcpMember extends Member {
  /** The bind takes no new connections any more. */
  drain(): void
}

/** What such connections of one bind share. */
export interface StagePlace {
  /** Port of the bind, as clients know it. */
  readonly port: number
  readonly memory: ReadMemory
  readonly timers: TimerWheel
  readonly members: Set<TcpMember>
  /** Records what ends before its listener is known. */
  recorder(): TcpRecorder | null
  /** A connection of the bind is over. */
  closed(): void
}

/** More bytes are needed. */
export const MORE = -1
/** The stage has ended the connection. */
export const ENDED = -2

export abstract class Stage implements WireOwner, TcpMember {
  protected readonly place: StagePlace
  protected readonly wire: Wire
  /** When the connection came. */
  readonly startedAt: number
  readonly #timer: WheelTimer
  #kept: Buffer | null = null
  #isOver = false

  constructor(place: StagePlace, wire: Wire, timeoutMs: number, startedAt = turnStartedAt) {
    this.place = place
    this.wire = wire
    this.startedAt = startedAt
    this.#timer = new WheelTimer(() => this.#timedOut())
    wire.owner = this
    place.members.add(this)
    place.timers.arm(this.#timer, turnStartedAt, timeoutMs)
  }

  /** What the stage makes of everything so far: where the next owner's bytes begin, MORE, or ENDED. */
  protected abstract decide(bytes: Buffer, start: number, end: number): number

  /** Makes the next owner of the wire. */
  protected abstract proceed(): void

  /** The time is up. True: go on as if the next stage's bytes began here. */
  protected abstract late(hasBytes: boolean): boolean

  onRead(start: number, end: number, slot: ReadSlot | null): void {
    const { memory } = this.place
    const before = this.#kept
    const kept = before === null ? null : Buffer.concat([before, memory.bytes.subarray(start, end)])
    const at = kept === null ? this.decide(memory.bytes, start, end) : this.decide(kept, 0, kept.length)
    if (at === ENDED) return
    if (at === MORE) {
      this.#kept = kept ?? Buffer.from(memory.bytes.subarray(start, end))
      return
    }
    this.#leave()
    this.proceed()
    if (before === null) this.#pass(at, end, slot)
    else {
      if (at < before.length) this.#passKept(before, at)
      this.#pass(start + Math.max(0, at - before.length), end, slot)
    }
  }

  #pass(start: number, end: number, slot: ReadSlot | null): void {
    if (start < end) this.wire.owner.onRead(start, end, slot)
  }

  /** What was kept is shorter than the scratch memory: stages are bounded. */
  #passKept(kept: Buffer, from: number): void {
    const { bytes, scratch } = this.place.memory
    kept.copy(bytes, scratch, from)
    this.wire.owner.onRead(scratch, scratch + kept.length - from, null)
  }

  #timedOut(): void {
    enterTurn()
    const kept = this.#kept
    if (this.late(kept !== null)) {
      this.#leave()
      this.proceed()
      if (kept !== null) this.#passKept(kept, 0)
    }
    leaveTurn()
  }

  /** The client goes before it has said enough. One that has said nothing (a health check) leaves no trace. */
  onEnd(): void {
    if (this.#kept === null) this.cut()
    else this.refuse('CLIENT_GONE')
  }

  onError(_code: string): void {
    this.#end()
  }

  onDrain(): void {}

  giveWay(): boolean {
    this.cut()
    return true
  }

  drain(): void {
    if (this.#kept === null) this.cut()
  }

  cut(): void {
    if (this.#isOver) return
    this.#end()
    this.wire.destroy()
  }

  /** Ends and records the connection. */
  protected refuse(reason: TcpReason, detail = ''): void {
    if (this.#isOver) return
    const session = new TcpSession(this.wire, this.place.port, this.startedAt)
    session.reason = reason
    session.detail = detail
    this.#end()
    this.wire.close(false)
    this.place.recorder()?.record(session)
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.place.members.delete(this)
    this.place.timers.remove(this.#timer)
  }

  #end(): void {
    if (this.#isOver) return
    this.#leave()
    this.place.closed()
  }
}
