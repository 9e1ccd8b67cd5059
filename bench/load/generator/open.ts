/**
 * The open loop: requests are due at a constant rate whatever the answers do, and latency counts
 * from the moment a request was due. A proxy that stalls for 100 ms shows that in every request that
 * was due meanwhile; a closed loop would have asked nothing and seen nothing (coordinated omission).
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as after } from 'node:timers/promises'
import { build } from 'hdr-histogram-js'
import type { Expected, Fault, Job, Latency, Outcome, Usage } from './job.ts'
import { Pacer } from './pacer.ts'
import { Slot, type SlotOwner } from './slot.ts'
import { FAULTS_MAX, Window } from './window.ts'

/** Ten minutes: nothing that a run can see is longer. */
const LATENCY_US_MAX = 600_000_000

/** Sends job.rate requests per second over at most job.connections connections. */
export async function runOpen(job: Job, expected: Expected, observe: () => Usage): Promise<Outcome> {
  const loop = new OpenLoop(job, expected, observe)
  return loop.run()
}

class OpenLoop implements SlotOwner {
  readonly #job: Job
  readonly #slots: Slot[] = []
  readonly #free: Slot[] = []
  readonly #window: Window
  readonly #histogram = build({ bitBucketSize: 32, numberOfSignificantValueDigits: 3, autoResize: true })
  readonly #intervalMs: number
  /** Requests that were sent; request number n is due at start + n * interval. */
  #sent = 0
  #startMs = 0
  #windowMs = 0
  #lastDueMs = 0
  #open = 0
  readonly #done = Promise.withResolvers<void>()

  constructor(job: Job, expected: Expected, observe: () => Usage) {
    this.#job = job
    this.#intervalMs = 1000 / job.rate
    for (let i = 0; i < job.connections; i++) this.#slots.push(new Slot(job.port, job.fresh, expected, this))
    this.#free.push(...this.#slots)
    this.#window = new Window(this.#slots, expected, observe)
  }

  async run(): Promise<Outcome> {
    const { warmupMs, windowMs, graceMs } = this.#job
    this.#startMs = performance.now()
    this.#windowMs = this.#startMs + warmupMs
    this.#lastDueMs = this.#windowMs + windowMs
    const pacer = new Pacer(this.#intervalMs, () => this.#sendDue())
    await after(warmupMs)
    this.#window.open()
    await Promise.race([after(windowMs), this.#done.promise])
    this.#window.close()
    await Promise.race([after(graceMs), this.#done.promise])
    await pacer.stop()
    this.#window.fault('timeout', this.#unanswered())
    for (const slot of this.#slots) slot.close()
    return this.#window.outcome(this.#latency())
  }

  onAnswer(slot: Slot, dueMs: number): void {
    this.#window.answered()
    // The warm-up is not part of the schedule that is judged.
    if (dueMs >= this.#windowMs) this.#record(performance.now() - dueMs)
    this.#release(slot)
  }

  onFault(slot: Slot, fault: Fault): void {
    this.#window.fault(fault)
    if (this.#window.faultCount >= FAULTS_MAX) this.#done.resolve()
    this.#release(slot)
  }

  #release(slot: Slot): void {
    this.#open--
    this.#free.push(slot)
    this.#sendDue()
  }

  #sendDue(): void {
    const now = performance.now()
    const { requests } = this.#job
    for (;;) {
      const due = this.#startMs + this.#sent * this.#intervalMs
      if (due >= this.#lastDueMs) {
        if (this.#open === 0) this.#done.resolve()
        return
      }
      if (due > now) return
      const slot = this.#free.pop()
      if (slot === undefined) return
      this.#open++
      slot.send(requests[this.#sent % requests.length]!, due)
      this.#sent++
    }
  }

  /** Requests of the schedule that have no answer: never sent, or still under way. */
  #unanswered(): number {
    if (this.#window.faultCount >= FAULTS_MAX) return this.#open
    const scheduled = Math.ceil((this.#lastDueMs - this.#startMs) / this.#intervalMs)
    return Math.max(0, scheduled - this.#sent) + this.#open
  }

  #record(ms: number): void {
    this.#histogram.recordValue(Math.min(Math.round(ms * 1000), LATENCY_US_MAX))
  }

  #latency(): Latency {
    const at = (percentile: number) => this.#histogram.getValueAtPercentile(percentile)
    return { p50Us: at(50), p99Us: at(99), p999Us: at(99.9), maxUs: this.#histogram.maxValue }
  }
}
