/** Opens connections, uses each once, and keeps them idle: what does an idle connection cost? */
import { setTimeout as after } from 'node:timers/promises'
import type { Expected, Fault, Job, Outcome, Usage } from './job.ts'
import { Slot, type SlotOwner } from './slot.ts'
import { FAULTS_MAX, Window } from './window.ts'

/** Connections that are being opened at the same time; below any listen backlog. */
const OPENING_MAX = 64

/** Opens job.connections, rests for job.windowMs, then looks at the processes and at every connection. */
export async function runHold(job: Job, expected: Expected, observe: () => Usage): Promise<Outcome> {
  const holder = new Holder(job, expected, observe)
  return holder.run()
}

class Holder implements SlotOwner {
  readonly #job: Job
  readonly #slots: Slot[] = []
  readonly #window: Window
  #started = 0
  #finished = 0
  readonly #held = Promise.withResolvers<void>()

  constructor(job: Job, expected: Expected, observe: () => Usage) {
    this.#job = job
    for (let i = 0; i < job.connections; i++) this.#slots.push(new Slot({ ...job, fresh: false }, expected, this))
    this.#window = new Window(this.#slots, expected, observe)
  }

  async run(): Promise<Outcome> {
    const { connections, windowMs, graceMs } = this.#job
    this.#window.open()
    for (let i = 0; i < Math.min(OPENING_MAX, connections); i++) this.#start()
    const cancel = new AbortController()
    const late = after(graceMs, null, { signal: cancel.signal }).catch(() => null)
    await Promise.race([this.#held.promise, late])
    cancel.abort()
    this.#window.fault('timeout', connections - this.#finished)
    await after(windowMs)
    this.#window.close()
    const lost = this.#slots.filter((slot) => !slot.open).length - this.#window.faultCount
    this.#window.fault('closed', Math.max(0, lost))
    for (const slot of this.#slots) slot.close()
    return this.#window.outcome(null)
  }

  onAnswer(): void {
    this.#window.answered()
    this.#finish()
  }

  onFault(_slot: Slot, fault: Fault): void {
    this.#window.fault(fault)
    this.#finish()
  }

  #finish(): void {
    this.#finished++
    if (this.#started < this.#slots.length && this.#window.faultCount < FAULTS_MAX) this.#start()
    else if (this.#finished === this.#started) this.#held.resolve()
  }

  #start(): void {
    const { requests } = this.#job
    const slot = this.#slots[this.#started]!
    slot.send(requests[this.#started % requests.length]!, 0)
    this.#started++
  }
}
