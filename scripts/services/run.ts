/**
 * `npm run conformance -- services`: policies that ask services of others, before the same servers as Envoy. What the
 * services were told, what the backend got and what the client got has to be the same, but for what is listed.
 */
import { type Case, observe, type Setup } from './case.ts'
import { CASES } from './cases.ts'
import { type Difference, differences } from './compare.ts'
import { LISTED } from './differences.ts'
import { covers, type Judged, report, tables } from './report.ts'
import { startServers } from './servers.ts'
import { envoySide, weirSide } from './sides.ts'

export interface RunOptions {
  /** A part of names of cases; '': all. */
  readonly only: string
  /** Prints the tables of the page, too. */
  readonly hasTables: boolean
}

/** False: something differs that is not listed. */
export async function runServices(print: (line: string) => void, { only, hasTables }: RunOptions): Promise<boolean> {
  const cases = CASES.filter(({ name }) => name.includes(only))
  const setups: readonly Setup[] = [...new Set(cases.map(({ setup }) => setup))]
  const servers = await startServers()
  const envoy = await envoySide(setups, servers.ports)
  const weir = await weirSide(setups, servers.ports)
  const judged: Judged[] = []
  try {
    for (const one of cases) {
      const theirs = await observe(one, envoy.portOf(one.setup), servers)
      const ours = await observe(one, weir.portOf(one.setup), servers)
      judged.push(judge(one, differences(theirs, ours)))
    }
  } finally {
    await envoy.stop()
    await weir.stop()
    servers.close()
  }
  for (const line of [...report(judged), ...(hasTables ? tables(judged) : [])]) print(line)
  return judged.every(({ faults }) => faults.length === 0)
}

function judge({ name }: Case, found: readonly Difference[]): Judged {
  const listed = LISTED.filter(({ cases }) => cases.includes(name))
  const unlisted = found.filter(({ at }) => !listed.some((entry) => entry.at.some((place) => covers(place, at))))
  const stale = listed.filter(
    ({ at, isRace }) => isRace !== true && !found.some((one) => at.some((place) => covers(place, one.at)))
  )
  const faults = [
    ...unlisted.map(({ at, envoy, weir }) => `${at}: Envoy ${text(envoy)}, Weir ${text(weir)}`),
    ...stale.map(({ at }) => `${at.join(', ')}: listed as different, and is the same`)
  ]
  return { name, found, faults }
}

const text = (value: unknown): string => (value === undefined ? 'has none' : JSON.stringify(value))
