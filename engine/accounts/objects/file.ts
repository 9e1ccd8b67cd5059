/**
 * Whose the objects of providers are, in `config.state.path`: one SQLite file for all workers of the process. A commit
 * outlives the process; what a loss of power takes is said by `fsync`. Opened when something is to be written or read.
 */
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { Fsync } from '#engine/contract/accounts.ts'
import { OBJECT_KEPT_MS, OBJECTS_MAX, type ObjectOwners, type OwnedObjects } from '#engine/contract/object-owners.ts'

const FILE = 'objects.db'
const VERSION = 1
/** Another worker writes: a commit takes some 30 us (docs/design/045-keys-and-money.md). */
const BUSY_MS = 1_000

const TABLES = `
  CREATE TABLE IF NOT EXISTS objects (
    holder TEXT NOT NULL, object TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (holder, object)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS objects_at ON objects (holder, at);
  CREATE INDEX IF NOT EXISTS objects_age ON objects (at);
  PRAGMA user_version = ${VERSION};
`

export interface ObjectFilePlace {
  readonly folder: string
  readonly fsync: Fsync
}

export class ObjectFile implements ObjectOwners {
  readonly #place: ObjectFilePlace
  readonly #now: () => number
  #opening: Promise<DatabaseSync> | null = null

  /** `now`: milliseconds since 1970. */
  constructor(place: ObjectFilePlace, now: () => number) {
    this.#place = place
    this.#now = now
  }

  async note(holder: string, objects: readonly string[]): Promise<void> {
    const database = await this.#database()
    const now = this.#now()
    database.exec('BEGIN IMMEDIATE')
    try {
      const insert = database.prepare(
        'INSERT INTO objects VALUES (?, ?, ?) ON CONFLICT (holder, object) DO UPDATE SET at = excluded.at'
      )
      for (const object of objects) insert.run(holder, object, now)
      database.prepare('DELETE FROM objects WHERE at < ?').run(now - OBJECT_KEPT_MS)
      const surplus = countOf(database, holder) - OBJECTS_MAX
      if (surplus > 0) {
        const oldest = 'SELECT object FROM objects WHERE holder = ? ORDER BY at LIMIT ?'
        database.prepare(`DELETE FROM objects WHERE holder = ? AND object IN (${oldest})`).run(holder, holder, surplus)
      }
      database.exec('COMMIT')
    } catch (error) {
      database.exec('ROLLBACK')
      throw error
    }
  }

  async forget(holder: string, object: string): Promise<void> {
    const database = await this.#database()
    database.prepare('DELETE FROM objects WHERE holder = ? AND object = ?').run(holder, object)
  }

  async owned(holder: string, objects: readonly string[]): Promise<OwnedObjects> {
    const database = await this.#database()
    const find = database.prepare('SELECT 1 FROM objects WHERE holder = ? AND object = ?')
    const isOwn = objects.map((object) => find.get(holder, object) !== undefined)
    return { isOwn, total: countOf(database, holder) }
  }

  async close(): Promise<void> {
    const database = await this.#opening?.catch(() => null)
    this.#opening = null
    database?.close()
  }

  #database(): Promise<DatabaseSync> {
    this.#opening ??= open(this.#place)
    // A disk that was full may have room the next time.
    this.#opening.catch(() => {
      this.#opening = null
    })
    return this.#opening
  }
}

const countOf = (database: DatabaseSync, holder: string): number =>
  Number(database.prepare('SELECT count(*) AS count FROM objects WHERE holder = ?').get(holder)!.count)

async function open({ folder, fsync }: ObjectFilePlace): Promise<DatabaseSync> {
  const { DatabaseSync: Database } = await import('node:sqlite')
  const path = join(folder, FILE)
  // SQLite would let others read it.
  closeSync(openSync(path, 'a', 0o600))
  const database = new Database(path, { timeout: BUSY_MS })
  try {
    prepare(database, path, fsync)
  } catch (error) {
    database.close()
    throw error
  }
  return database
}

/** Throws where it is no such file. */
function prepare(database: DatabaseSync, path: string, fsync: Fsync): void {
  const version = Number(Object.values(database.prepare('PRAGMA user_version').get()!)[0])
  if (version > VERSION)
    throw new Error(`config.state.path: a newer weir has written ${path} (version ${version}): use that one`)
  database.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${fsync === 'always' ? 'FULL' : 'NORMAL'}`)
  if (version < VERSION) database.exec(TABLES)
}
