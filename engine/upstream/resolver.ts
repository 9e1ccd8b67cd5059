/**
 * Names to addresses, with the TTL of the records. The hosts file and other local sources come
 * through getaddrinfo, which has no TTL; names that DNS knows come from DNS. Stale answers are used
 * while the server is down: an unreachable resolver must not take down what worked a moment ago.
 */
import { lookup, resolve4, resolve6 } from 'node:dns/promises'
import { isIP } from 'node:net'
import { turnStartedAt } from '#engine/socket/round.ts'

export interface Resolved {
  readonly ip: string
  readonly family: 4 | 6
}

interface Answer {
  readonly addresses: readonly Resolved[]
  readonly ttlMs: number
}

const TTL_MIN_MS = 1_000
const TTL_MAX_MS = 300_000
/** For answers of getaddrinfo, which carry no TTL. */
const TTL_LOCAL_MS = 10_000
/** How soon a failed name is queried again. */
const RETRY_MS = 1_000
/** How long addresses that are known wait for the TTL of DNS: a server that is silent keeps its askers for 20 s. */
const TTL_WAIT_MS = 500

export class Resolver {
  readonly host: string
  #addresses: readonly Resolved[] = []
  #expiresAt = 0
  #running: Promise<void> | null = null
  readonly #ask: (host: string) => Promise<Answer>

  /** `ask` is replaced in tests. */
  constructor(host: string, ask: (host: string) => Promise<Answer> = askSystem) {
    this.host = host
    this.#ask = ask
    const family = isIP(host)
    if (family === 4 || family === 6) {
      this.#addresses = [{ ip: host, family }]
      this.#expiresAt = Number.POSITIVE_INFINITY
    }
  }

  /** What is known now; starts a refresh in the background when it is old. Empty: call resolve(). */
  get addresses(): readonly Resolved[] {
    if (this.#expiresAt <= turnStartedAt && this.#addresses.length > 0) this.#refresh().catch(() => undefined)
    return this.#addresses
  }

  /** As `addresses`, and where there are none yet it begins to ask for them. */
  get sought(): readonly Resolved[] {
    if (this.#expiresAt <= turnStartedAt) this.#refresh().catch(() => undefined)
    return this.#addresses
  }

  /** Waits until there is an answer; rejects with the system's error when there is none at all. */
  async resolve(): Promise<void> {
    await this.#refresh()
  }

  #refresh(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null
    })
    return this.#running
  }

  async #run(): Promise<void> {
    try {
      const answer = await this.#ask(this.host)
      if (answer.addresses.length === 0) throw new Error(`${this.host} has no address`)
      this.#addresses = answer.addresses
      this.#expiresAt = performance.now() + Math.min(Math.max(answer.ttlMs, TTL_MIN_MS), TTL_MAX_MS)
    } catch (error) {
      this.#expiresAt = performance.now() + RETRY_MS
      if (this.#addresses.length === 0) throw error
    }
  }
}

async function askSystem(host: string): Promise<Answer> {
  const queries = Promise.allSettled([resolve4(host, { ttl: true }), resolve6(host, { ttl: true })])
  const [local] = await Promise.allSettled([lookup(host, { all: true })])
  const results = local.status === 'fulfilled' ? await within(queries, TTL_WAIT_MS) : await queries
  const records = (results ?? []).flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (local.status === 'fulfilled') {
    const addresses = local.value.map(({ address, family }) => ({ ip: address, family: family === 6 ? 6 : 4 }) as const)
    // When DNS gave the same addresses, its TTL holds for them.
    const fromDns = addresses.every(({ ip }) => records.some((record) => record.address === ip))
    const ttlMs = fromDns ? Math.min(...records.map(({ ttl }) => ttl)) * 1000 : TTL_LOCAL_MS
    return { addresses, ttlMs }
  }
  if (records.length === 0) throw local.reason
  const addresses = records.map(({ address }) => ({ ip: address, family: isIP(address) === 6 ? 6 : 4 }) as const)
  return { addresses, ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1000 }
}

/** What `promise` gives, or null when that takes longer than `timeMs`. It must not reject. */
async function within<T>(promise: Promise<T>, timeMs: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, timeMs, null)
  })
  const first = await Promise.race([promise, late])
  clearTimeout(timer)
  return first
}
