/** What is seen of controllers while their API server is away: connections they try, memory, and who leads. */
import { readFileSync } from 'node:fs'
import type { RunningProgram } from '#engine/testing/program.ts'
import type { FaultStage } from './fault-stage.ts'
import type { Judged } from './judge.ts'

const SECOND = 1000
const ROLE_MS = 50
/** Pauses have become long by then. */
const SETTLED_SECONDS = 30
/**
 * For each controller: some twenty kinds wait for 5 to 10 s each (client/backoff.ts), and the Lease is asked for every
 * two seconds.
 */
const CONNECTIONS_PER_SECOND_MAX = 5
/** All kinds at once, twice: pauses without chance would do it. */
const CONNECTIONS_IN_A_SECOND_MAX = 12
const GROWTH_MIB_MAX = 16

const HOLDS = 'this controller holds the Lease'
const LETS_GO = 'this controller does not hold the Lease any more'

export class OutageWatch {
  readonly #stage: FaultStage
  readonly #controllers: readonly RunningProgram[]
  readonly #connections: number[] = []
  readonly #memory: number[] = []
  #last: number
  #leadersMax = 0
  readonly #timers: readonly NodeJS.Timeout[]

  constructor(stage: FaultStage, controllers: readonly RunningProgram[]) {
    this.#stage = stage
    this.#controllers = controllers
    this.#last = stage.toApi.count
    this.#timers = [
      setInterval(() => this.#measure(), SECOND),
      setInterval(() => {
        this.#leadersMax = Math.max(this.#leadersMax, controllers.filter(isLeader).length)
      }, ROLE_MS)
    ]
  }

  #measure(): void {
    const { count } = this.#stage.toApi
    this.#connections.push(count - this.#last)
    this.#last = count
    this.#memory.push(Math.max(...this.#controllers.map(residentMib)))
  }

  /** Ends it. What was seen of connections and memory ends with the outage: call it before servers are started. */
  measured(name: string): readonly Judged[] {
    clearInterval(this.#timers[0])
    const settled = this.#connections.slice(SETTLED_SECONDS)
    const memory = this.#memory.slice(SETTLED_SECONDS)
    const controllers = this.#controllers.length
    const mean = settled.reduce((sum, count) => sum + count, 0) / settled.length / controllers
    const most = Math.max(...settled) / controllers
    const growth = memory.at(-1)! - memory[0]!
    const first = this.#connections.slice(0, SETTLED_SECONDS).join(' ')
    console.log(`${name}: connections to the API server in each of the first ${SETTLED_SECONDS} s: ${first}`)
    console.log(
      `${name}: then ${mean.toFixed(1)} a second of each controller, ${most} at most; memory ${memory[0]} MiB, ` +
        `${memory.at(-1)} MiB after ${settled.length} s`
    )
    return [
      within(`${name}: connections a second`, mean, CONNECTIONS_PER_SECOND_MAX),
      within(`${name}: connections in one second`, most, CONNECTIONS_IN_A_SECOND_MAX),
      within(`${name}: MiB more than at the start`, growth, GROWTH_MIB_MAX)
    ]
  }

  /** Ends it, some time after servers are there again. */
  led(name: string): readonly Judged[] {
    clearInterval(this.#timers[1])
    const leaders = this.#controllers.filter(isLeader).length
    return [
      within(`${name}: controllers that led at the same time`, this.#leadersMax, 1),
      { name: `${name}: one controller leads afterwards`, why: leaders === 1 ? null : `${leaders} do` }
    ]
  }
}

const within = (name: string, found: number, most: number): Judged => ({
  name,
  why: found <= most ? null : `${found} instead of ${most} at most`
})

const isLeader = ({ output }: RunningProgram): boolean => output.lastIndexOf(HOLDS) > output.lastIndexOf(LETS_GO)

/** Throws an Error with its last words when it has ended. */
function residentMib({ child, output }: RunningProgram): number {
  if (child.exitCode !== null || child.signalCode !== null)
    throw new Error(`a controller has ended (${child.exitCode ?? child.signalCode}): ${output.slice(-2_000)}`)
  const kib = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kib) / 1024)
}
