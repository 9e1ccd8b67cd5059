/** The tables of the spend log, and the file that has them. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { COLUMNS } from './record.ts'

/** What sums are told apart by. Empty texts stand for what is not known. */
export const DIMENSIONS = ['key', 'team', 'organisation', 'model', 'provider', 'currency', 'purpose'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** Sums of columns of the same name. */
export const SUMMED = [
  'uncachedInputTokens',
  'cacheReadTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'inputAudioTokens',
  'outputAudioTokens',
  'inputImageTokens',
  'outputImageTokens',
  'cacheReadAudioTokens',
  'cacheReadImageTokens',
  'seconds',
  'pictures',
  'searches',
  'continuations',
  'costNanos'
] as const

/** Counts beside them. */
export const COUNTED = ['calls', 'errors', 'unknownCosts', 'refusals', 'cacheHits'] as const

export const MEASURES = [...COUNTED, ...SUMMED] as const

/** Of the file; another one is not touched. */
const VERSION = 6
/** "weir", as `file` shows it. */
const APPLICATION_ID = 0x77656972
/** Another process of this machine may have the file: the one before a restart, while it drains. */
const BUSY_MS = 5_000
export const FILE = 'spend.db'

const columns = (all: Readonly<Record<string, string>>) =>
  Object.entries(all)
    .map(([name, type]) => `"${name}" ${type}`)
    .join(', ')

/** Sums of calls that were kept ahead of a measure count nothing of it; an older process that still writes, neither. */
const MEASURE = 'INTEGER NOT NULL DEFAULT 0'

/** An older process that still writes knows none of the newer ones. */
const DIMENSION = "TEXT NOT NULL DEFAULT ''"

const HOURS = `
  CREATE TABLE hours (
    hour INTEGER NOT NULL,
    ${DIMENSIONS.map((name) => `"${name}" ${DIMENSION}`).join(', ')},
    ${MEASURES.map((name) => `"${name}" ${MEASURE}`).join(', ')},
    PRIMARY KEY (hour, ${DIMENSIONS.map((name) => `"${name}"`).join(', ')})
  ) STRICT, WITHOUT ROWID;
`

/**
 * What was said in the call of a record, as JSON. Apart, so that a search through records reads none of it; removed
 * with its record, whichever process removes that.
 */
const CONTENTS = `
  CREATE TABLE contents (seq INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
  CREATE TRIGGER contents_end AFTER DELETE ON records BEGIN DELETE FROM contents WHERE seq = old.seq; END;
`

const TABLES = `
  CREATE TABLE records (seq INTEGER PRIMARY KEY, ${columns(COLUMNS)}) STRICT;
  CREATE INDEX records_time ON records (time);
  CREATE INDEX records_key ON records (key, time);
  CREATE INDEX records_id ON records (id);
  ${HOURS}
  ${CONTENTS}
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
`

/** Opens or makes the file in `folder`. Rejects with what is wrong and how to mend it. */
export async function openFile(folder: string): Promise<DatabaseSync> {
  const path = join(folder, FILE)
  try {
    const { DatabaseSync: Database } = await import('node:sqlite')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // SQLite would let others read it; files beside it get the mode of this one.
    closeSync(openSync(path, 'a', 0o600))
    const database = new Database(path, { timeout: BUSY_MS })
    prepare(database)
    return database
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const why =
      code === 'ERR_UNKNOWN_BUILTIN_MODULE'
        ? `Node ${process.versions.node} has no SQLite: use 22.13 or newer`
        : message
    throw new Error(`config.spendLog: ${path} cannot be used: ${why}`, { cause: error })
  }
}

function prepare(database: DatabaseSync): void {
  const version = numberOf(database, 'user_version')
  const id = numberOf(database, 'application_id')
  if (id !== APPLICATION_ID && id + version > 0) throw new Error('it is no spend log: name another folder')
  if (version > VERSION) throw new Error(`a newer weir has written it (version ${version}): use that one`)
  // Before the first table: space of removed records goes back to the disk.
  if (version === 0) database.exec('PRAGMA auto_vacuum = INCREMENTAL')
  // A process that is killed loses nothing that was committed; a loss of power may take the last moments.
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  if (version === 0) makeTables(database)
  else if (version < VERSION) addColumns(database)
}

function makeTables(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    // Another process may have been first.
    if (numberOf(database, 'user_version') === 0) database.exec(TABLES)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/** A file of an older version lacks columns: those that it has are the same. */
function addColumns(database: DatabaseSync): void {
  database.exec('BEGIN IMMEDIATE')
  try {
    const known = columnsOf(database, 'records')
    for (const [name, type] of Object.entries(COLUMNS)) {
      if (!known.has(name)) database.exec(`ALTER TABLE records ADD COLUMN "${name}" ${type}`)
    }
    addToHours(database)
    if (columnsOf(database, 'contents').size === 0) database.exec(CONTENTS)
    database.exec(`PRAGMA user_version = ${VERSION}`)
    database.exec('COMMIT')
  } catch (error) {
    database.exec('ROLLBACK')
    throw error
  }
}

/** What sums are told apart by is their key, which SQLite does not change. Sums from before are those of ''. */
function addToHours(database: DatabaseSync): void {
  const known = columnsOf(database, 'hours')
  if (DIMENSIONS.every((name) => known.has(name))) {
    for (const name of MEASURES) {
      if (!known.has(name)) database.exec(`ALTER TABLE hours ADD COLUMN "${name}" ${MEASURE}`)
    }
    return
  }
  const kept = ['hour', ...DIMENSIONS, ...MEASURES].filter((name) => known.has(name)).map((name) => `"${name}"`)
  database.exec(`
    ALTER TABLE hours RENAME TO hours_before;
    ${HOURS}
    INSERT INTO hours (${kept.join(', ')}) SELECT ${kept.join(', ')} FROM hours_before;
    DROP TABLE hours_before;
  `)
}

const columnsOf = (database: DatabaseSync, table: string): ReadonlySet<unknown> =>
  new Set(
    database
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name)
  )

export function numberOf(database: DatabaseSync, pragma: string): number {
  return Object.values(database.prepare(`PRAGMA ${pragma}`).get()!)[0] as number
}
