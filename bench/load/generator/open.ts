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

/**
 * Between two looks at what is due: the clock ticks by itself and not with the schedule, so that a request may be
 * sent as much too late. A slow proxy's rate is ten requests per second.
 */
const PERIOD_MS_MAX = 0.5

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
  /** Schedule of the present phase: request number n of `total` is due at start + n * interval. */
  #startMs = 0
  #total = 0
  #sent = 0
  #finished = 0
  #judged = false
  #done = Promise.withResolvers<void>()

  constructor(job: Job, expected: Expected, observe: () => Usage) {
    this.#job = job
    this.#intervalMs = 1000 / job.rate
    for (let i = 0; i < job.connections; i++) this.#slots.push(new Slot(job, expected, this))
    this.#free.push(...this.#slots)
    this.#window = new Window(this.#slots, expected, observe)
  }

  async run(): Promise<Outcome> {
    const { warmupMs, windowMs } = this.#job
    const pacer = new Pacer(Math.min(this.#intervalMs, PERIOD_MS_MAX), () => this.#sendDue())
    // The warm-up has a schedule of its own: what it is late with is not carried into the window.
    await this.#phase(warmupMs)
    this.#judged = true
    this.#window.open()
    await this.#phase(windowMs)
    this.#window.close()
    await pacer.stop()
    for (const slot of this.#slots) slot.close()
    return this.#window.outcome(this.#latency())
  }

  onAnswer(slot: Slot, dueMs: number): void {
    this.#window.answered()
    if (this.#judged) this.#record(performance.now() - dueMs)
    this.#release(slot)
  }

  onFault(slot: Slot, fault: Fault): void {
    this.#window.fault(fault)
    if (this.#window.faultCount >= FAULTS_MAX) this.#done.resolve()
    this.#release(slot)
  }

  /** Sends the requests of `ms` milliseconds and waits for their answers. */
  async #phase(ms: number): Promise<void> {
    this.#sent = 0
    this.#finished = 0
    this.#total = Math.round(this.#job.rate * (ms / 1000))
    this.#startMs = performance.now()
    this.#done = Promise.withResolvers<void>()
    if (this.#total === 0) return
    const cancel = new AbortController()
    const late = after(ms + this.#job.graceMs, null, { signal: cancel.signal }).catch(() => null)
    await Promise.race([this.#done.promise, late])
    cancel.abort()
    // Never sent, or still under way.
    if (this.#window.faultCount < FAULTS_MAX) this.#window.fault('timeout', this.#total - this.#finished)
  }

  #release(slot: Slot): void {
    this.#free.push(slot)
    this.#finished++
    if (this.#finished === this.#total) this.#done.resolve()
    else this.#sendDue()
  }

  #sendDue(): void {
    const now = performance.now()
    const { requests } = this.#job
    while (this.#sent < this.#total) {
      const due = this.#startMs + this.#sent * this.#intervalMs
      if (due > now) return
      const slot = this.#free.pop()
      if (slot === undefined) return
      const request = requests[this.#sent % requests.length]!
      this.#sent++
      slot.send(request, due)
    }
  }

  #record(ms: number): void {
    this.#histogram.recordValue(Math.min(Math.round(ms * 1000), LATENCY_US_MAX))
  }

  #latency(): Latency {
    const at = (percentile: number) => this.#histogram.getValueAtPercentile(percentile)
    return { p50Us: at(50), p99Us: at(99), p999Us: at(99.9), maxUs: this.#histogram.maxValue }
  }
}
