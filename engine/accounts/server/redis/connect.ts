/** Books in Redis or Valkey. */
import { createHash } from 'node:crypto'
import { readBudget, readKeys, readWhole, unreadable } from '#engine/accounts/server/answers.ts'
import type { Applied, BudgetState, Connection, ObjectTable } from '#engine/accounts/server/operations.ts'
import type { StateServerSpec } from '#engine/contract/accounts.ts'
import { OBJECT_KEPT_MS, OBJECTS_MAX, type OwnedObjects } from '#engine/contract/object-owners.ts'
import { openRedis, type Redis } from '#engine/redis/connect.ts'
import { SCRIPT } from './script.ts'

const SHA = createHash('sha1').update(SCRIPT).digest('hex')
const BATCHES_MAX = 16

/** `lost`: the connection is of no more use. Rejects in words without secrets. */
export async function connectRedis(spec: StateServerSpec, lost: (error: Error) => void): Promise<Connection> {
  const base = `{${spec.prefix}}:`
  const prepare = async (redis: Redis) => void (await redis.script('LOAD', SCRIPT))
  const redis = await openRedis(spec, `${base}writers`, { prepare, lost })
  try {
    return new RedisConnection(redis, base, await describe(redis))
  } catch (error) {
    redis.disconnect()
    throw error
  }
}

async function describe(redis: Redis): Promise<Pick<Connection, 'about' | 'warnings'>> {
  const info = await redis.info()
  const read = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1]
  const valkey = read('valkey_version')
  const product =
    valkey === undefined ? `Redis ${read('redis_version') ?? 'of an unknown version'}` : `Valkey ${valkey}`
  const isAppending = read('aof_enabled') === '1'
  const fsync = isAppending ? await appendfsync(redis) : null
  const policy = read('maxmemory_policy') ?? 'noeviction'
  const warnings: string[] = []
  if (policy !== 'noeviction')
    warnings.push(`maxmemory-policy is ${policy}: under memory pressure budgets would be forgotten; set noeviction`)
  if (!isAppending)
    warnings.push('appendonly is off: what was spent since the last snapshot is forgotten when the server ends')
  else if (fsync === 'no')
    warnings.push('appendfsync is no: a loss of power forgets what the system has not written yet')
  return { about: `${product}, ${isAppending ? `appendfsync ${fsync ?? 'unknown'}` : 'no appendonly file'}`, warnings }
}

/** Null: the server does not say, as those of clouds do not. */
async function appendfsync(redis: Redis): Promise<string | null> {
  try {
    const [, value] = (await redis.config('GET', 'appendfsync')) as string[]
    return value ?? null
  } catch {
    return null
  }
}

class RedisConnection implements Connection {
  readonly about: string
  readonly warnings: readonly string[]
  readonly batchesMax = BATCHES_MAX
  readonly objects: ObjectTable
  readonly #redis: Redis
  readonly #base: string

  constructor(redis: Redis, base: string, { about, warnings }: Pick<Connection, 'about' | 'warnings'>) {
    this.#redis = redis
    this.#base = base
    this.about = about
    this.warnings = warnings
    this.objects = new RedisObjects(redis, base)
  }

  async last(writer: string): Promise<number> {
    return readWhole((await this.#redis.hget(`${this.#base}w:${writer}`, 'last')) ?? 0, 'last')
  }

  async apply(writer: string, behind: number, operations: readonly unknown[]): Promise<Applied> {
    const answer = (await this.#run('apply', writer, String(behind), JSON.stringify(operations))) as string
    const { now, fresh, answers } = JSON.parse(answer) as Applied
    // An empty list of Lua is an object.
    return { now, fresh, answers: Array.isArray(answers) ? answers : [] }
  }

  async reap(deadMs: number): Promise<number> {
    return readWhole(await this.#run('reap', String(deadMs)), 'reap')
  }

  async budgets(ids: readonly string[]): Promise<readonly (BudgetState | null)[]> {
    const reading = ids.map((id) => this.#redis.hmget(`${this.#base}b:${id}`, 'used', 'spent', 'end'))
    const rows = await Promise.all(reading)
    return rows.map((row: unknown) => {
      if (!Array.isArray(row) || row.length !== 3) throw unreadable('budgets')
      const [used, spent, end] = row as readonly unknown[]
      return used === null && spent === null && end === null ? null : readBudget(used, spent, end)
    })
  }

  async keysVersion(): Promise<string> {
    return String(readWhole((await this.#redis.get(`${this.#base}version`)) ?? 0, 'keys'))
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    const keys: unknown = await this.#redis.hgetall(`${this.#base}keys`)
    if (typeof keys !== 'object' || keys === null) throw unreadable('keys')
    return readKeys(Object.entries(keys))
  }

  async changeKey(name: string, before: string | null, after: string | null): Promise<boolean> {
    return (await this.#run('changeKey', name, before ?? '', after ?? '')) === 1
  }

  async close(): Promise<void> {
    this.#redis.disconnect()
  }

  #run(command: string, ...args: string[]): Promise<unknown> {
    return this.#redis.evalsha(SHA, 1, this.#base, command, ...args)
  }
}

/** A sorted set for each holder: objects by when they were made or shown. */
class RedisObjects implements ObjectTable {
  readonly #redis: Redis
  readonly #base: string

  constructor(redis: Redis, base: string) {
    this.#redis = redis
    this.#base = `${base}o:`
  }

  async note(holder: string, objects: readonly string[], now: number): Promise<void> {
    const key = this.#base + holder
    const members = objects.flatMap((object) => [now, object])
    const made = await this.#redis
      .multi()
      .zadd(key, ...members)
      .zremrangebyscore(key, '-inf', `(${now - OBJECT_KEPT_MS}`)
      .zremrangebyrank(key, 0, -OBJECTS_MAX - 1)
      .pexpire(key, OBJECT_KEPT_MS)
      .exec()
    for (const [error] of made ?? []) if (error !== null) throw error
  }

  async forget(holder: string, object: string): Promise<void> {
    await this.#redis.zrem(this.#base + holder, object)
  }

  async owned(holder: string, objects: readonly string[], now: number): Promise<OwnedObjects> {
    const key = this.#base + holder
    const [scores, total] = await Promise.all([
      objects.length === 0 ? [] : this.#redis.zmscore(key, ...objects),
      this.#redis.zcount(key, now - OBJECT_KEPT_MS, '+inf')
    ])
    return { isOwn: scores.map((score) => score !== null && Number(score) >= now - OBJECT_KEPT_MS), total }
  }
}
