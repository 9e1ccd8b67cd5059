/** The closed loop: every client sends its next request as soon as it has its answer. For CPU per request. */
import { setTimeout as after } from 'node:timers/promises'
import type { Expected, Fault, Job, Outcome, Usage } from './job.ts'
import { Slot, type SlotOwner } from './slot.ts'
import { FAULTS_MAX, Window } from './window.ts'

/** Runs `job` until its window is over, or its count is answered, and every answer has come. */
export async function runClosed(job: Job, expected: Expected, observe: () => Usage): Promise<Outcome> {
  const loop = new ClosedLoop(job, expected, observe)
  return loop.run()
}

class ClosedLoop implements SlotOwner {
  readonly #job: Job
  readonly #slots: Slot[] = []
  readonly #window: Window
  #sent = 0
  #stopped = false
  readonly #idle = Promise.withResolvers<void>()
  readonly #broken = Promise.withResolvers<void>()

  constructor(job: Job, expected: Expected, observe: () => Usage) {
    this.#job = job
    for (let i = 0; i < job.connections; i++) this.#slots.push(new Slot(job, expected, this))
    this.#window = new Window(this.#slots, expected, observe)
  }

  async run(): Promise<Outcome> {
    const { count, warmupMs, windowMs, graceMs } = this.#job
    if (count !== null) this.#window.open()
    for (const slot of this.#slots) this.#send(slot)
    if (count === null) {
      await Promise.race([after(warmupMs), this.#broken.promise])
      this.#window.open()
      await Promise.race([after(windowMs), this.#broken.promise])
      this.#window.close()
      this.#stopped = true
      this.#checkIdle()
    }
    await this.#untilIdle(graceMs)
    this.#window.close()
    for (const slot of this.#slots) slot.close()
    return this.#window.outcome(null)
  }

  onAnswer(slot: Slot): void {
    this.#window.answered()
    this.#send(slot)
  }

  onFault(slot: Slot, fault: Fault): void {
    this.#window.fault(fault)
    if (this.#window.faultCount >= FAULTS_MAX) {
      this.#stopped = true
      this.#broken.resolve()
    }
    this.#send(slot)
  }

  #send(slot: Slot): void {
    const { requests, count } = this.#job
    if (this.#stopped || (count !== null && this.#sent >= count)) {
      this.#checkIdle()
      return
    }
    const request = requests[this.#sent % requests.length]!
    this.#sent++
    slot.send(request, 0)
  }

  #checkIdle(): void {
    if (this.#slots.every((slot) => !slot.busy)) this.#idle.resolve()
  }

  /** Waits until no request is under way, `graceMs` at most. */
  async #untilIdle(graceMs: number): Promise<void> {
    const cancel = new AbortController()
    const late = after(graceMs, null, { signal: cancel.signal }).catch(() => null)
    await Promise.race([late, this.#idle.promise])
    cancel.abort()
    this.#window.fault('timeout', this.#slots.filter((slot) => slot.busy).length)
  }
}
