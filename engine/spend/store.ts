/**
 * The file of the spend log: records as they come, and sums of them by hour, written in one transaction, so that sums
 * and records never disagree. Runs on a thread of its own, since SQLite waits for the disk.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { isFromCache } from '#engine/contract/model-use.ts'
import type { SpendLogSpec } from '#engine/contract/spend.ts'
import { COLUMN_NAMES, type Column, type Row } from './record.ts'
import { DIMENSIONS, MEASURES, numberOf, openFile, SUMMED } from './tables.ts'

export const HOUR_MS = 3_600_000
/** Removed at a time: some 20 ms, between two batches. */
const SLICE_ROWS = 5_000
/** Pages that are given back to the disk at a time. */
const SLICE_PAGES = 2_000

const PLACE = Object.fromEntries(COLUMN_NAMES.map((name, i) => [name, i])) as Readonly<Record<Column, number>>
const DIMENSION_PLACES = DIMENSIONS.map((name) => PLACE[name])
const SUMMED_PLACES = SUMMED.map((name) => PLACE[name])
const quoted = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ')

const INSERT = `INSERT INTO records (${quoted(COLUMN_NAMES)}) VALUES (${COLUMN_NAMES.map(() => '?').join(', ')})`
const INSERT_CONTENT = 'INSERT INTO contents (seq, content) VALUES (?, ?)'
const KEYS = ['hour', ...DIMENSIONS]
const ADD = `
  INSERT INTO hours (${quoted([...KEYS, ...MEASURES])}) VALUES (${[...KEYS, ...MEASURES].map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET ${MEASURES.map((name) => `"${name}" = "${name}" + excluded."${name}"`).join(', ')}
`

/** Sums of one batch. */
interface HourSums {
  readonly keys: readonly (string | number)[]
  readonly measures: number[]
}

export class SpendStore {
  readonly database: DatabaseSync
  readonly #spec: SpendLogSpec
  readonly #insert: StatementSync
  readonly #insertContent: StatementSync
  readonly #add: StatementSync

  private constructor(spec: SpendLogSpec, database: DatabaseSync) {
    this.#spec = spec
    this.database = database
    this.#insert = database.prepare(INSERT)
    this.#insertContent = database.prepare(INSERT_CONTENT)
    this.#add = database.prepare(ADD)
  }

  /** Rejects with what is wrong with config.spendLog. */
  static async open(spec: SpendLogSpec): Promise<SpendStore> {
    return new SpendStore(spec, await openFile(spec.path))
  }

  /** All of them, or none: throws what SQLite says. */
  append(rows: readonly Row[]): void {
    this.#atOnce(() => {
      const sums = new Map<string, HourSums>()
      for (const row of rows) {
        const content = row[COLUMN_NAMES.length]
        if (content === undefined) this.#insert.run(...row)
        else this.#insertContent.run(this.#insert.run(...row.slice(0, COLUMN_NAMES.length)).lastInsertRowid, content)
        addTo(sums, row)
      }
      for (const { keys, measures } of sums.values()) this.#add.run(...keys, ...measures)
    })
  }

  /**
   * Removes some of what is too old or too much. `now`: milliseconds since 1970. True: there may be more of it.
   */
  prune(now: number): boolean {
    const { recordsMaxAgeMs, sumsMaxAgeMs, bytesMax } = this.#spec
    const { database } = this
    const oldest = now - recordsMaxAgeMs
    const hour = Math.floor((now - sumsMaxAgeMs) / HOUR_MS)
    database.prepare('DELETE FROM hours WHERE hour < ?').run(hour)
    const isFull = this.bytes > bytesMax
    const slice = `SELECT seq FROM records ${isFull ? '' : 'WHERE time < ?'} ORDER BY time LIMIT ${SLICE_ROWS}`
    const removal = database.prepare(`DELETE FROM records WHERE seq IN (${slice})`)
    const { changes } = isFull ? removal.run() : removal.run(oldest)
    // A step for each page: all of them are read.
    const free = database.prepare(`PRAGMA incremental_vacuum(${SLICE_PAGES})`).all().length
    return changes === SLICE_ROWS || free > 0 || (changes > 0 && this.bytes > bytesMax)
  }

  /** Of what is in use in the file. */
  get bytes(): number {
    const { database } = this
    return (numberOf(database, 'page_count') - numberOf(database, 'freelist_count')) * numberOf(database, 'page_size')
  }

  get keepsPrompts(): boolean {
    return this.#spec.prompts !== undefined
  }

  close(): void {
    this.database.close()
  }

  #atOnce(work: () => void): void {
    this.database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.database.exec('COMMIT')
    } catch (error) {
      // A full disk has rolled it back already.
      if (this.database.isTransaction) this.database.exec('ROLLBACK')
      throw error
    }
  }
}

function addTo(sums: Map<string, HourSums>, row: Row): void {
  const hour = Math.floor((row[PLACE.time] as number) / HOUR_MS)
  const keys = [hour, ...DIMENSION_PLACES.map((place) => (row[place] as string | null) ?? '')]
  const id = JSON.stringify(keys)
  let found = sums.get(id)
  if (found === undefined) {
    found = { keys, measures: MEASURES.map(() => 0) }
    sums.set(id, found)
  }
  const { measures } = found
  measures[0]!++
  if (row[PLACE.errorType] !== null) measures[1]!++
  if (row[PLACE.costUnknown] !== null || row[PLACE.costNanos] === null) measures[2]!++
  if (row[PLACE.costBasis] === 'none') measures[3]!++
  if (isFromCache(row[PLACE.cache] as string | null)) measures[4]!++
  const first = MEASURES.length - SUMMED.length
  for (const [i, place] of SUMMED_PLACES.entries()) measures[first + i]! += (row[place] as number | null) ?? 0
}
