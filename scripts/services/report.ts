/** What a run prints: a line for each case, and the tables of docs/services-conformance.md. */
import type { Difference } from './compare.ts'
import { LISTED } from './differences.ts'
import { ENVOY_VERSION } from './envoy.ts'
import type { Plain } from './record.ts'

export interface Judged {
  readonly name: string
  readonly found: readonly Difference[]
  /** What nothing in the list explains, and what is listed and not so. */
  readonly faults: readonly string[]
}

/** What is listed for a place holds for all that is in it. */
export const covers = (place: string, at: string): boolean => at === place || at.startsWith(`${place}.`)

export function report(judged: readonly Judged[]): string[] {
  const lines: string[] = []
  for (const { name, found, faults } of judged) {
    const word = faults.length > 0 ? 'FAILED ' : found.length > 0 ? 'differs' : 'same   '
    lines.push(`${word} ${name}`, ...faults.map((fault) => `        ${fault}`))
  }
  const failed = judged.filter(({ faults }) => faults.length > 0).length
  const same = judged.filter(isSame).length
  const differ = judged.length - same - failed
  lines.push(`services: Envoy ${ENVOY_VERSION}: ${same} same, ${differ} differ as listed, ${failed} failed`)
  return lines
}

const isSame = ({ found, faults }: Judged): boolean => found.length === 0 && faults.length === 0

export function tables(judged: readonly Judged[]): string[] {
  const groups = new Map<string, Judged[]>()
  for (const one of judged) {
    const [name] = one.name.split(': ', 1)
    groups.set(name!, [...(groups.get(name!) ?? []), one])
  }
  const counts = [...groups].map(([name, all]) => {
    const same = all.filter(isSame).length
    return `| ${name} | ${same} | ${all.length - same} |`
  })
  const rows = LISTED.flatMap(({ cases, at, why }) => {
    const own = judged.filter(({ name }) => cases.includes(name))
    return own.map(({ name, found }) => {
      const seen = found.filter((one) => at.some((place) => covers(place, one.at))).slice(0, SHOWN_PLACES_MAX)
      const column = (of: (one: Difference) => string): string => seen.map(of).join('<br>')
      const both = [column(({ envoy }) => value(envoy)), column(({ weir }) => value(weir))]
      return `| ${[name, column((one) => cell(one.at)), ...both, why].join(' | ')} |`
    })
  })
  const head = ['| case | where | Envoy | Weir | why |', '|---|---|---|---|---|']
  return ['', '| cases | same | differ |', '|---|--:|--:|', ...counts, '', ...head, ...rows]
}

const SHOWN_PLACES_MAX = 3
const SHOWN_CHARS_MAX = 40
const cell = (words: string): string => `\`${words.replaceAll('|', '\\|')}\``

function value(side: Plain | undefined): string {
  if (side === undefined) return 'none'
  const words = JSON.stringify(side)
  return words.length > SHOWN_CHARS_MAX ? `${cell(words.slice(0, SHOWN_CHARS_MAX))}...` : cell(words)
}
