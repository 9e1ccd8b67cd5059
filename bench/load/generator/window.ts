/** Counts of one run, and the snapshots at both ends of the measured window. */
import { performance } from 'node:perf_hooks'
import type { AnswerReader } from './answer.ts'
import type { Expected, Fault, Faults, Latency, Outcome, Usage } from './job.ts'

/** A run with more faults than this is over: nothing can be learned from it. */
export const FAULTS_MAX = 100

interface Receiver {
  readonly reader: Pick<AnswerReader, 'bodyBytes'>
}

export class Window {
  answers = 0
  readonly faults: Faults = {}
  faultCount = 0
  readonly #observe: () => Usage
  readonly #slots: readonly Receiver[]
  readonly #bodyBytes: number
  #open = false
  #startMs = 0
  #endMs = 0
  #startBytes = 0
  #endBytes = 0
  #start: Usage = { cpuNs: 0, rssBytes: 0 }
  #end: Usage = { cpuNs: 0, rssBytes: 0 }

  /** `observe` reads CPU time and memory of the processes under test. */
  constructor(slots: readonly Receiver[], expected: Expected, observe: () => Usage) {
    this.#slots = slots
    this.#bodyBytes = expected.body.length
    this.#observe = observe
  }

  open(): void {
    this.#open = true
    this.answers = 0
    this.#startBytes = this.#received()
    this.#start = this.#observe()
    this.#startMs = performance.now()
  }

  close(): void {
    if (!this.#open) return
    this.#open = false
    this.#endMs = performance.now()
    this.#end = this.#observe()
    this.#endBytes = this.#received()
  }

  answered(): void {
    if (this.#open) this.answers++
  }

  /** Faults count whenever they happen, also outside of the window. */
  fault(kind: Fault, count = 1): void {
    if (count === 0) return
    this.faults[kind] = (this.faults[kind] ?? 0) + count
    this.faultCount += count
  }

  outcome(latency: Latency | null): Outcome {
    return {
      answers: this.answers,
      shares: (this.#endBytes - this.#startBytes) / this.#bodyBytes,
      seconds: (this.#endMs - this.#startMs) / 1000,
      faults: this.faults,
      cpuUs: (this.#end.cpuNs - this.#start.cpuNs) / 1000,
      rssBytes: this.#end.rssBytes,
      latency
    }
  }

  #received(): number {
    let bytes = 0
    for (const slot of this.#slots) bytes += slot.reader.bodyBytes
    return bytes
  }
}
