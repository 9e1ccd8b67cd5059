/**
 * Connections to Redis and Valkey: ioredis without its own ways to connect again and to queue, since those who ask know
 * what may be sent twice.
 */
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { Redis, type RedisOptions } from 'ioredis'
import { reveal, type Secret } from '#engine/kit/secret.ts'

export type { Redis }

/** Of a cluster that moves its slots while one asks. */
const MOVES_MAX = 4
/** ioredis keeps a timer for each connection that it ends, even where there was none: 2 s of its own accord. */
const DISCONNECT_MS = 100
const DATABASES = /^\d{1,4}$/

export interface RedisServer {
  readonly host: string
  readonly port: number
  /** A number. */
  readonly database: string
  readonly username: string | null
  readonly password: Secret | null
  readonly isTls: boolean
  /** A file of authorities, PEM, read at each connection; null: those that Node.js knows. */
  readonly root: string | null
  /** Of the connection, and of each command. */
  readonly timeoutMs: number
}

type Address = Pick<RedisServer, 'host' | 'port'>
type Options = Omit<RedisOptions, 'replyMapping'>

/** Whose certificate it has to be. Addresses are no names to ask for (RFC 6066 section 3). */
const tlsName = (host: string) => (isIP(host) === 0 ? { servername: host } : { host })

/** Throws where the file of authorities cannot be read. */
function optionsOf(server: RedisServer, { host, port }: Address): Options {
  const { username, password, database, isTls, root, timeoutMs } = server
  return {
    ...{ host, port, connectTimeout: timeoutMs, commandTimeout: timeoutMs, disconnectTimeout: DISCONNECT_MS },
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password: reveal(password) }),
    db: DATABASES.test(database) ? Number(database) : 0,
    ...(isTls ? { tls: { ...tlsName(server.host), ...(root === null ? {} : { ca: readFileSync(root) }) } } : {}),
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

/**
 * A connection to the node of a cluster that has `key`, or to the one server. `prepare`: what else has to be well
 * before it is of use. `lost`: it is of no more use. Rejects in words without secrets.
 */
export async function openRedis(
  server: RedisServer,
  key: string,
  { prepare, lost }: { prepare?: (redis: Redis) => Promise<void>; lost: (error: Error) => void }
): Promise<Redis> {
  let address: Address = server
  for (let moves = 0; ; moves++) {
    const redis = new Redis(optionsOf(server, address))
    // What ends it is said by `close`; without a listener it would be thrown.
    let problem = new Error('the connection is closed')
    redis.on('error', (error: Error) => {
      problem = error
    })
    try {
      await redis.connect()
      await redis.exists(key)
      await prepare?.(redis)
      redis.on('close', () => lost(problem))
      return redis
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
