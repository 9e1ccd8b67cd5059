/** `npm run conformance -- recordings FOLDER`: a table of providers and clients, and what differs. */
import { CLIENTS, type Client, Player } from './play.ts'
import { oddity, recordingsIn } from './read.ts'
import { nameOf } from './recorded.ts'
import { Tally } from './tally.ts'

interface Cell {
  whole: number
  streamed: number
  failed: number
}

export interface Misses {
  readonly source: string
  readonly client: Client
  readonly why: readonly string[]
}

export interface RecordingsRun {
  readonly isSame: boolean
  /** Exchanges of a provider that came through to all clients. */
  readonly tally: Tally
}

/** Whether all of it came through as it was recorded. `only`: a part of the sources' names. */
export async function runRecordings(
  print: (line: string) => void,
  folder: string,
  { only = '', withMisses = false } = {}
): Promise<RecordingsRun> {
  const table = new Map<string, Map<Client, Cell>>()
  const misses: Misses[] = []
  const skipped: string[] = []
  const tally = new Tally()
  const player = await Player.start()
  try {
    for (const recording of recordingsIn(folder)) {
      if (!recording.source.includes(only)) continue
      const odd = oddity(recording)
      if (odd !== null) {
        skipped.push(`${recording.source}: ${odd}`)
        continue
      }
      const row = `${recording.provider}, ${recording.format}`
      const cells = table.get(row) ?? new Map(CLIENTS.map((client) => [client, { whole: 0, streamed: 0, failed: 0 }]))
      table.set(row, cells)
      const before = misses.length
      for (const client of CLIENTS) {
        const { why } = await player.play(recording, client)
        const cell = cells.get(client)!
        cell[recording.isStreamed ? 'streamed' : 'whole']++
        if (why.length === 0) continue
        cell.failed++
        misses.push({ source: recording.source, client, why })
      }
      if (misses.length === before) tally.add(nameOf(recording.provider), recording.format)
    }
  } finally {
    await player.close()
  }
  for (const line of tableOf(table)) print(line)
  if (withMisses) for (const { source, client, why } of misses) print(`${source} to ${client}: ${why.join(' | ')}`)
  if (withMisses) for (const one of skipped) print(`left out: ${one}`)
  const total = sum(table, ({ whole, streamed }) => whole + streamed)
  print(`recordings: ${total - misses.length} passed, ${misses.length} failed, ${skipped.length} left out`)
  return { isSame: misses.length === 0, tally }
}

function sum(table: ReadonlyMap<string, ReadonlyMap<Client, Cell>>, of: (cell: Cell) => number): number {
  return [...table.values()].flatMap((cells) => [...cells.values()]).reduce((total, cell) => total + of(cell), 0)
}

/** Cells: whole answers + streams, and how many of them differ. */
function tableOf(table: ReadonlyMap<string, ReadonlyMap<Client, Cell>>): string[] {
  const rows = [...table]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([name, cells]) => {
      const shown = CLIENTS.map((client) => {
        const { whole, streamed, failed } = cells.get(client)!
        return `${whole} + ${streamed}${failed === 0 ? '' : ` (${failed} differ)`}`
      })
      return `| ${name} | ${shown.join(' | ')} |`
    })
  return [`| provider, format | ${CLIENTS.join(' | ')} |`, `|---|${CLIENTS.map(() => '---|').join('')}`, ...rows]
}
