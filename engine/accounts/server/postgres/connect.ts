/** Books in PostgreSQL: one connection, one batch at a time. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import pg from 'pg'
import { readBudget, readKeys, readWhole } from '#engine/accounts/server/answers.ts'
import type { Applied, BudgetState, Connection, ObjectTable } from '#engine/accounts/server/operations.ts'
import type { StateServerSpec } from '#engine/contract/accounts.ts'
import { OBJECT_KEPT_MS, type OwnedObjects } from '#engine/contract/object-owners.ts'
import { reveal } from '#engine/kit/secret.ts'
import { FUNCTIONS, SCHEMA_VERSION, TABLES } from './functions.ts'

const DIGEST = createHash('sha256').update(FUNCTIONS).digest('hex')
/** 15 is the oldest that the suite runs. */
const VERSION_MIN = 14

/** `lost`: the connection is of no more use. Rejects in words without secrets. */
export async function connectPostgres(spec: StateServerSpec, lost: (error: Error) => void): Promise<Connection> {
  const { host, port, username, password, database, isTls, root, timeoutMs } = spec
  const client = new pg.Client({
    ...{ host, port, database, application_name: 'weir', keepAlive: true },
    user: username ?? 'weir',
    ...(password === null ? {} : { password: reveal(password) }),
    // Without `host` the certificate of an address would have to be that of localhost.
    ssl: isTls ? { host, ...(root === null ? {} : { ca: readFileSync(root) }) } : false,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs
  })
  let isConnected = false
  client.on('error', (error: Error) => {
    if (isConnected) lost(error)
  })
  client.on('end', () => {
    if (isConnected) lost(new Error('the connection is closed'))
  })
  try {
    await client.connect()
    const schema = `"${spec.prefix}"`
    await prepare(client, schema)
    const about = await describe(client)
    isConnected = true
    return new PostgresConnection(client, schema, about)
  } catch (error) {
    void client.end().catch(() => undefined)
    throw error
  }
}

const sql = (text: string, schema: string): string =>
  text.replaceAll("'SCHEMA'", `'weir ${schema}'`).replaceAll('SCHEMA', schema)

/** Makes what is not there; a role without the right to do so needs it made before. */
async function prepare(client: pg.Client, schema: string): Promise<void> {
  if (await isPrepared(client, schema)) return
  await client.query('begin')
  try {
    // Replicas that start together: one makes it.
    await client.query(`select pg_advisory_xact_lock(hashtext('weir ${schema}'))`)
    if (!(await isPrepared(client, schema))) {
      await client.query(sql(TABLES, schema))
      await client.query(sql(FUNCTIONS, schema))
      await client.query(`update ${schema}.version set functions = $1`, [DIGEST])
    }
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function isPrepared(client: pg.Client, schema: string): Promise<boolean> {
  const { rows } = await client.query('select to_regclass($1) as found', [`${schema}.version`])
  if (rows[0]?.found === null) return false
  const { rows: versions } = await client.query(`select version, functions from ${schema}.version`)
  const { version, functions } = (versions[0] ?? {}) as { version?: number; functions?: string }
  if (version !== SCHEMA_VERSION)
    throw new Error(`the tables in ${schema} are of version ${version}, this program is for ${SCHEMA_VERSION}`)
  return functions === DIGEST
}

async function describe(client: pg.Client): Promise<Pick<Connection, 'about' | 'warnings'>> {
  const names = ['server_version', 'synchronous_commit', 'fsync'] as const
  const { rows } = await client.query(
    `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
  )
  const { server_version: version, synchronous_commit: commit, fsync } = rows[0] as Record<string, string>
  if (Number.parseInt(version ?? '', 10) < VERSION_MIN)
    throw new Error(`PostgreSQL ${version} is too old: ${VERSION_MIN} is the least`)
  const warnings: string[] = []
  if (commit === 'off') warnings.push('synchronous_commit is off: a crash of the server forgets the last moments')
  if (fsync === 'off') warnings.push('fsync is off: a loss of power may lose everything')
  return { about: `PostgreSQL ${version}`, warnings }
}

class PostgresConnection implements Connection {
  readonly about: string
  readonly warnings: readonly string[]
  readonly batchesMax = 1
  readonly objects: ObjectTable
  readonly #client: pg.Client
  readonly #schema: string

  constructor(client: pg.Client, schema: string, { about, warnings }: Pick<Connection, 'about' | 'warnings'>) {
    this.#client = client
    this.#schema = schema
    this.about = about
    this.warnings = warnings
    this.objects = {
      note: async (holder, objects, now) => {
        await this.#query('noteObjects', `select ${schema}.note_objects($1, $2, $3)`, [holder, objects, now])
      },
      forget: async (holder, object) => {
        const text = `delete from ${schema}.object where holder = $1 and object = $2`
        await this.#query('forgetObject', text, [holder, object])
      },
      owned: async (holder, objects, now) => await this.#owned(holder, objects, now - OBJECT_KEPT_MS)
    }
  }

  async #owned(holder: string, objects: readonly string[], since: number): Promise<OwnedObjects> {
    const own = `${this.#schema}.object where holder = $1 and at >= $2`
    const text = `select array(select object from ${own} and object = any($3)) as found, (select count(*) from ${own}) as total`
    const [row] = await this.#query('ownedObjects', text, [holder, since, objects])
    const found = new Set(row?.found as string[])
    return { isOwn: objects.map((object) => found.has(object)), total: Number(row?.total) }
  }

  async last(writer: string): Promise<number> {
    const rows = await this.#query('last', `select last from ${this.#schema}.writer where name = $1`, [writer])
    return readWhole(rows[0]?.last ?? 0, 'last')
  }

  async apply(writer: string, behind: number, operations: readonly unknown[]): Promise<Applied> {
    const text = `select ${this.#schema}.apply($1, $2, $3) as applied`
    const rows = await this.#query('apply', text, [writer, behind, JSON.stringify(operations)])
    return rows[0]?.applied as Applied
  }

  async reap(deadMs: number): Promise<number> {
    const rows = await this.#query('reap', `select ${this.#schema}.reap($1) as calls`, [deadMs])
    return readWhole(rows[0]?.calls, 'reap')
  }

  async budgets(ids: readonly string[]): Promise<readonly (BudgetState | null)[]> {
    const text = `select id, used, spent, ends from ${this.#schema}.budget where id = any($1)`
    const rows = await this.#query('budgets', text, [ids])
    const known = new Map(rows.map(({ id, used, spent, ends }) => [id, readBudget(used, spent, ends)]))
    return ids.map((id) => known.get(id) ?? null)
  }

  async keysVersion(): Promise<string> {
    const rows = await this.#query('version', `select count from ${this.#schema}.changes`, [])
    return String(readWhole(rows[0]?.count, 'keys'))
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#query('keys', `select name, value from ${this.#schema}.key`, [])
    return readKeys(rows.map(({ name, value }) => [name, value]))
  }

  async changeKey(name: string, before: string | null, after: string | null): Promise<boolean> {
    const text = `select ${this.#schema}.change_key($1, $2, $3) as changed`
    return (await this.#query('changeKey', text, [name, before, after]))[0]?.changed === true
  }

  async close(): Promise<void> {
    await this.#client.end()
  }

  /** `name`: of the prepared statement. */
  async #query(name: string, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return (await this.#client.query<Record<string, unknown>>({ name, text, values })).rows
  }
}
