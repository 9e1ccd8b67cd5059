/** Answers that replicas share, in Redis or Valkey: what is not there in time is not there. */
import type { Background } from '#engine/contract/background.ts'
import { Link } from '#engine/kit/link.ts'
import type { RedisServer } from '#engine/redis/connect.ts'
import { nameOf, open, seal } from './sealed.ts'
import type { Kept } from './store.ts'

/** In a cluster all of it is in one slot. */
const PREFIX = '{weir:cache}:'
/** Answers on their way to the server; beyond they are not sent. */
const SENDING_BYTES_MAX = 16 * 1024 * 1024

/** What is used of a connection. */
export interface CacheServer {
  get(name: string): Promise<Buffer | null>
  set(name: string, value: Buffer, ttlMs: number): Promise<void>
  close(): Promise<void>
}

export interface SharedStoreOptions {
  readonly connect: (lost: (error: Error) => void) => Promise<CacheServer>
  /** Of one answer; a larger one is not taken from the server. */
  readonly entryBytesMax: number
  /** That the first connection is waited for, by who looks for an answer. */
  readonly timeoutMs: number
  readonly log: (level: 'info' | 'warn', message: string) => void
}

export class SharedStore {
  readonly #options: SharedStoreOptions
  /** Null: nobody has asked yet, or nobody will any more. */
  #link: Link<CacheServer> | null = null
  #users = 0
  #sendingBytes = 0
  /** The first connection is neither there nor given up. */
  #isBeginning = false

  constructor(options: SharedStoreOptions) {
    this.#options = options
  }

  /** Of a backend, while its configuration is in force: the connection ends with the last one. */
  use(): Background {
    return {
      begin: () => {
        this.#users++
      },
      end: () => {
        if (--this.#users === 0) void this.#close()
      }
    }
  }

  /** Whether it is worth asking: there is a connection, or the first one is on its way. The first caller begins it. */
  isWorthAsking(): boolean {
    // What began with a configuration that is gone connects no more.
    if (this.#link === null && this.#users > 0) this.#link = this.#connect()
    return this.#link !== null && (this.#isBeginning || this.#link.connection !== null)
  }

  #connect(): Link<CacheServer> {
    const { log, connect } = this.#options
    this.#isBeginning = true
    const link: Link<CacheServer> = new Link({
      connect,
      up: async () => {
        if (link.isAway) log('info', 'the server of the cache answers again')
      },
      away: ({ message }) => log('warn', `the server of the cache is away (${message}): providers are asked instead`)
    })
    void link.first.then(() => {
      if (this.#link === link) this.#isBeginning = false
    })
    return link
  }

  /** Never rejects. Null: there is none, or none that can be had in time. */
  async get(digest: string, ttlMs: number): Promise<Kept | null> {
    const link = this.#link
    if (link === null) return null
    if (this.#isBeginning) await this.#begun(link)
    const { connection } = link
    if (connection === null) return null
    try {
      const sealed = await connection.get(PREFIX + nameOf(digest))
      if (sealed === null || sealed.length > 2 * this.#options.entryBytesMax + 65_536) return null
      const now = performance.now()
      const kept = open(digest, sealed, now, Date.now())
      // Another replica may keep answers for longer.
      return kept === null || now - kept.at >= ttlMs ? null : kept
    } catch (error) {
      link.lose(connection, error as Error)
      return null
    }
  }

  /** The first connection is there, or cannot be had in time. */
  async #begun({ first }: Link<CacheServer>): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#options.timeoutMs)
    })
    await Promise.race([first, late])
    clearTimeout(timer)
  }

  /** The server forgets it by itself. */
  set(digest: string, kept: Kept, ttlMs: number): void {
    const link = this.#link
    const connection = link?.connection ?? null
    if (link === null || connection === null || this.#sendingBytes + kept.bytes.length > SENDING_BYTES_MAX) return
    const sealed = seal(digest, kept, performance.now(), Date.now())
    this.#sendingBytes += sealed.length
    connection
      .set(PREFIX + nameOf(digest), sealed, ttlMs)
      .catch((error: unknown) => link.lose(connection, error as Error))
      .finally(() => {
        this.#sendingBytes -= sealed.length
      })
  }

  async #close(): Promise<void> {
    const link = this.#link
    this.#link = null
    this.#isBeginning = false
    await link?.close()
  }
}

/** The client is loaded where it is used. */
export async function connectCache(server: RedisServer, lost: (error: Error) => void): Promise<CacheServer> {
  const { openRedis } = await import('#engine/redis/connect.ts')
  const redis = await openRedis(server, PREFIX, { lost })
  return {
    get: async (name) => await redis.getBuffer(name),
    set: async (name, value, ttlMs) => void (await redis.set(name, value, 'PX', Math.ceil(ttlMs))),
    close: async () => redis.disconnect()
  }
}
