/**
 * Coarse timers for connections and exchanges: arming one is two field writes in the usual case.
 *
 * A hashed wheel of linked lists. A timer that is armed for later than it already is just keeps its
 * place and is moved when the wheel reaches it, so a keepalive connection that answers a thousand
 * requests a second never touches a list. Resolution is one tick; timers never fire early. A timer fires in a turn of
 * its own (round.ts): what it calls need not enter one.
 */
import { inTurn } from './round.ts'

const TICK_MS = 20
const SLOTS = 512

/** Anything that waits: the owner embeds one and sets `onTimeout` once. */
export class WheelTimer {
  /** When it fires, in milliseconds of the wheel's clock; 0 when it is not armed. */
  deadline = 0
  /** Tick under which it is filed; -1 when it is in no list. */
  tick = -1
  prev: WheelTimer | null = null
  next: WheelTimer | null = null
  readonly onTimeout: () => void

  constructor(onTimeout: () => void) {
    this.onTimeout = onTimeout
  }
}

export class TimerWheel {
  readonly #slots: (WheelTimer | null)[] = new Array<WheelTimer | null>(SLOTS).fill(null)
  readonly #clock: () => number
  #tick: number
  #count = 0
  #interval: NodeJS.Timeout | null = null

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock
    this.#tick = Math.floor(clock() / TICK_MS)
  }

  /** Fires `timer` once, `delayMs` after `now`. Arming an armed timer moves it. */
  arm(timer: WheelTimer, now: number, delayMs: number): void {
    const deadline = now + delayMs
    timer.deadline = deadline
    const due = Math.ceil(deadline / TICK_MS)
    if (timer.tick >= 0) {
      if (timer.tick <= due) return
      this.#unlink(timer)
    }
    this.#link(timer, due)
  }

  /** The timer will not fire. It may stay filed until the wheel passes it: that costs nothing. */
  disarm(timer: WheelTimer): void {
    timer.deadline = 0
  }

  /** Takes the timer out at once: for owners that end, so that the wheel does not keep them alive. */
  remove(timer: WheelTimer): void {
    timer.deadline = 0
    if (timer.tick >= 0) this.#unlink(timer)
  }

  get size(): number {
    return this.#count
  }

  /** Milliseconds of its clock. */
  get now(): number {
    return this.#clock()
  }

  /** Fires what is due. Called by the wheel's own interval; tests call it with their clock. */
  advance(): void {
    const now = this.#clock()
    const last = Math.floor(now / TICK_MS)
    // After a long stall one turn of the wheel visits every list.
    if (last - this.#tick > SLOTS) this.#tick = last - SLOTS
    while (this.#tick < last) {
      this.#tick++
      this.#visit(this.#tick, now)
    }
    if (this.#count === 0) this.#stop()
  }

  #visit(tick: number, now: number): void {
    // Taken out first, then fired: a callback may arm or remove any timer, also one of this list.
    const due: WheelTimer[] = []
    let timer = this.#slots[tick % SLOTS] ?? null
    while (timer !== null) {
      const next: WheelTimer | null = timer.next
      if (timer.tick <= tick) {
        this.#unlink(timer)
        if (timer.deadline > 0) due.push(timer)
      }
      timer = next
    }
    for (const timer of due) {
      if (timer.tick >= 0 || timer.deadline === 0) continue
      if (timer.deadline > now) this.#link(timer, Math.ceil(timer.deadline / TICK_MS))
      else {
        timer.deadline = 0
        inTurn(timer.onTimeout)
      }
    }
  }

  #link(timer: WheelTimer, due: number): void {
    if (this.#count === 0) this.#start()
    // A due time that has passed while the wheel slept belongs to the next tick.
    const tick = due <= this.#tick ? this.#tick + 1 : due
    timer.tick = tick
    const slot = tick % SLOTS
    const head = this.#slots[slot] ?? null
    timer.next = head
    timer.prev = null
    if (head !== null) head.prev = timer
    this.#slots[slot] = timer
    this.#count++
  }

  #unlink(timer: WheelTimer): void {
    const slot = timer.tick % SLOTS
    if (timer.prev === null) this.#slots[slot] = timer.next
    else timer.prev.next = timer.next
    if (timer.next !== null) timer.next.prev = timer.prev
    timer.prev = null
    timer.next = null
    timer.tick = -1
    this.#count--
  }

  #start(): void {
    this.#tick = Math.floor(this.#clock() / TICK_MS)
    if (this.#interval !== null) return
    this.#interval = setInterval(() => this.advance(), TICK_MS)
    // Waiting for a timeout must not keep a draining process alive.
    this.#interval.unref()
  }

  #stop(): void {
    if (this.#interval === null) return
    clearInterval(this.#interval)
    this.#interval = null
  }
}
