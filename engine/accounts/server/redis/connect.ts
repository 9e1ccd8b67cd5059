/**
 * Books in Redis or Valkey. The client is ioredis without its own ways to reconnect and to queue: the writer's
 * (client.ts) know what may be sent twice.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis, type RedisOptions } from 'ioredis'
import type { Applied, BudgetState, Connection } from '#engine/accounts/server/operations.ts'
import type { StateServerSpec } from '#engine/contract/accounts.ts'
import { reveal } from '#engine/kit/secret.ts'
import { SCRIPT } from './script.ts'

const SHA = createHash('sha1').update(SCRIPT).digest('hex')
/** Of a cluster that moves its slots while one asks. */
const MOVES_MAX = 4
const BATCHES_MAX = 16
const DATABASES = /^\d{1,4}$/

type Options = Omit<RedisOptions, 'replyMapping'>

interface Address {
  readonly host: string
  readonly port: number
}

/** Throws where the file of authorities cannot be read. */
export function redisOptions(spec: StateServerSpec, { host, port }: Address = spec): Options {
  const { username, password, database, isTls, root, timeoutMs } = spec
  return {
    ...{ host, port, connectTimeout: timeoutMs, commandTimeout: timeoutMs },
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password: reveal(password) }),
    db: DATABASES.test(database) ? Number(database) : 0,
    ...(isTls ? { tls: { servername: spec.host, ...(root === null ? {} : { ca: readFileSync(root) }) } } : {}),
    // Proxies before Redis often know no other one.
    protocol: 2,
    lazyConnect: true,
    retryStrategy: () => null,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    disableClientInfo: true
  }
}

/** `lost`: the connection is of no more use. Rejects in words without secrets. */
export async function connectRedis(spec: StateServerSpec, lost: (error: Error) => void): Promise<Connection> {
  const base = `{${spec.prefix}}:`
  let address: Address = spec
  for (let moves = 0; ; moves++) {
    const redis = new Redis(redisOptions(spec, address))
    // What ends it is said by `close`; without a listener it would be thrown.
    let problem = new Error('the connection is closed')
    redis.on('error', (error: Error) => {
      problem = error
    })
    try {
      await redis.connect()
      await redis.script('LOAD', SCRIPT)
      await redis.exists(`${base}writers`)
      redis.on('close', () => lost(problem))
      return new RedisConnection(redis, base, await describe(redis))
    } catch (error) {
      redis.disconnect()
      const moved = moves < MOVES_MAX ? movedTo(error as Error) : null
      if (moved === null) throw problemOf(error as Error, problem)
      address = moved
    }
  }
}

/** "MOVED 3999 127.0.0.1:6381": another node of the cluster has the slot. */
function movedTo({ message }: Error): Address | null {
  const [, host, port] = /^MOVED \d+ (.+):(\d+)$/.exec(message) ?? []
  return host === undefined ? null : { host, port: Number(port) }
}

/** "Connection is closed." says less than the error that has closed it. */
const problemOf = (error: Error, problem: Error): Error =>
  /^Connection is closed/.test(error.message) ? problem : error

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
  readonly #redis: Redis
  readonly #base: string

  constructor(redis: Redis, base: string, { about, warnings }: Pick<Connection, 'about' | 'warnings'>) {
    this.#redis = redis
    this.#base = base
    this.about = about
    this.warnings = warnings
  }

  async last(writer: string): Promise<number> {
    return Number((await this.#redis.hget(`${this.#base}w:${writer}`, 'last')) ?? 0)
  }

  async apply(writer: string, behind: number, operations: readonly unknown[]): Promise<Applied> {
    const answer = (await this.#run('apply', writer, String(behind), JSON.stringify(operations))) as string
    const { now, fresh, answers } = JSON.parse(answer) as Applied
    // An empty list of Lua is an object.
    return { now, fresh, answers: Array.isArray(answers) ? answers : [] }
  }

  async reap(deadMs: number): Promise<number> {
    return (await this.#run('reap', String(deadMs))) as number
  }

  async budgets(ids: readonly string[]): Promise<readonly (BudgetState | null)[]> {
    const reading = ids.map((id) => this.#redis.hmget(`${this.#base}b:${id}`, 'used', 'spent', 'end'))
    const rows = await Promise.all(reading)
    return rows.map(([used, spent, end]) =>
      used == null || spent == null ? null : { used: BigInt(used), spent: BigInt(spent), end: Number(end) }
    )
  }

  async keysVersion(): Promise<string> {
    return (await this.#redis.get(`${this.#base}version`)) ?? ''
  }

  async keys(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(await this.#redis.hgetall(`${this.#base}keys`)))
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
