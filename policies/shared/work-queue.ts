/** Asynchronous work with a bound on what runs and on what waits; work beyond that is refused at once. */

export class WorkQueue {
  readonly #runningMax: number
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(runningMax: number, waitingMax: number) {
    this.#runningMax = runningMax
    this.#waitingMax = waitingMax
  }

  /** The result of `work`, which begins when it is its turn; null: too much is waiting. */
  run<T>(work: () => Promise<T>): Promise<T> | null {
    if (this.#running < this.#runningMax) return this.#start(work)
    if (this.#waiting.length >= this.#waitingMax) return null
    return new Promise((resolve, reject) => {
      this.#waiting.push(() => this.#start(work).then(resolve, reject))
    })
  }

  #start<T>(work: () => Promise<T>): Promise<T> {
    this.#running++
    return work().finally(() => {
      this.#running--
      this.#waiting.shift()?.()
    })
  }
}
