/** What all workers know of the addresses of backends, for the admin port. */
import type { AddressReport, EndpointReport } from '#engine/contract/endpoint.ts'

/** A worker that takes longer is left out: it is busy, or about to be replaced. */
const WAIT_MS = 1_000

interface Round {
  readonly missing: Set<number>
  readonly found: EndpointReport[][]
  readonly done: () => void
}

export class EndpointReports {
  readonly #ask: () => readonly number[]
  #round: Round | null = null
  #running: Promise<readonly EndpointReport[]> | null = null

  /** `ask`: asks all workers, and says which. */
  constructor(ask: () => readonly number[]) {
    this.#ask = ask
  }

  /** Of all workers together. Two that are interested at once get one answer. */
  async collect(): Promise<readonly EndpointReport[]> {
    this.#running ??= this.#collect().finally(() => {
      this.#running = null
    })
    return await this.#running
  }

  async #collect(): Promise<readonly EndpointReport[]> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const round: Round = { missing: new Set(), found: [], done: resolve }
    this.#round = round
    for (const worker of this.#ask()) round.missing.add(worker)
    const timer = setTimeout(resolve, WAIT_MS)
    if (round.missing.size > 0) await promise
    clearTimeout(timer)
    this.#round = null
    return merged(round.found.flat())
  }

  take(worker: number, endpoints: readonly EndpointReport[]): void {
    const round = this.#round
    if (round === null || !round.missing.delete(worker)) return
    round.found.push([...endpoints])
    if (round.missing.size === 0) round.done()
  }
}

/** Requests add up; of states the worst is told. */
function merged(all: readonly EndpointReport[]): EndpointReport[] {
  const byName = new Map<string, Map<string, AddressReport>>()
  for (const { destination, addresses } of all) {
    const known = byName.get(destination) ?? new Map<string, AddressReport>()
    byName.set(destination, known)
    for (const one of addresses) {
      const key = `${one.host} ${one.address}`
      const before = known.get(key)
      const worse = before === undefined || before.state === 'healthy' ? one : before
      known.set(key, { ...worse, requests: one.requests + (before?.requests ?? 0) })
    }
  }
  const names = [...byName.keys()].sort()
  return names.map((destination) => ({ destination, addresses: [...byName.get(destination)!.values()] }))
}
