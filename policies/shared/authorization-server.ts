/**
 * Authorization server metadata (RFC 8414, OpenID Connect Discovery 1.0) of one issuer: fetched on demand,
 * kept for a while, and for longer while the issuer does not answer.
 */

import { type FetchedText, fetchText } from '#engine/contract/outbound-text.ts'
import { parseJson } from '#engine/kit/json.ts'

export type Metadata = Readonly<Record<string, unknown>>

/** How long it is used without being fetched again; how long after a failure it is not fetched. */
const FRESH_MS = 300_000
const FAILED_MS = 5_000
const FETCH = { bytesMax: 256 * 1024, timeoutMs: 5_000 }

/** Where to ask, in this order (MCP 2025-11-25, authorization: Authorization Server Metadata Discovery). */
export function metadataUrls(issuer: string, isOpenIdOnly: boolean): string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  const appended = `${origin}${path}/.well-known/openid-configuration`
  if (isOpenIdOnly) return [appended]
  const inserted = `${origin}/.well-known/oauth-authorization-server${path}`
  const openId = `${origin}/.well-known/openid-configuration${path}`
  return [...new Set([inserted, openId, appended])]
}

/** What the world gives: a test has its own clock. */
interface World {
  readonly now: () => number
  readonly log: (level: 'info' | 'warn', message: string) => void
}

/** One issuer, as one thread knows it. */
export class AuthorizationServer {
  #metadata: Metadata | null = null
  /** Milliseconds of a monotonic clock at which it is asked for again. */
  #due = Number.NEGATIVE_INFINITY
  #fetching: Promise<Metadata | null> | null = null
  #isAwaited = false
  #giveUp = new AbortController()
  #hasFailed = false
  readonly #issuer: string
  readonly #isOpenIdOnly: boolean
  readonly #world: World

  constructor(issuer: string, isOpenIdOnly: boolean, world: World) {
    this.#issuer = issuer
    this.#isOpenIdOnly = isOpenIdOnly
    this.#world = world
  }

  /** Null: it cannot be had at the moment. */
  async metadata(): Promise<Metadata | null> {
    if (this.#world.now() < this.#due) return this.#metadata
    this.#fetching ??= this.#fetch()
    // What is known is as good as ever while it is asked for again.
    if (this.#metadata !== null) return this.#metadata
    this.#isAwaited = true
    return await this.#fetching
  }

  /** No configuration in force uses it (Fetcher.abandon). */
  abandon(): void {
    if (this.#fetching === null || this.#isAwaited) return
    this.#fetching = null
    this.#giveUp.abort()
  }

  async #fetch(): Promise<Metadata | null> {
    const { now, log } = this.#world
    this.#isAwaited = false
    this.#giveUp = new AbortController()
    const { signal } = this.#giveUp
    const found = await fetchMetadata(this.#issuer, this.#isOpenIdOnly, signal)
    if (signal.aborted) return this.#metadata
    this.#fetching = null
    if (typeof found !== 'string') {
      this.#metadata = found
      this.#hasFailed = false
      this.#due = now() + FRESH_MS
      return found
    }
    if (!this.#hasFailed) log('warn', `cannot fetch the metadata of the authorization server ${this.#issuer}: ${found}`)
    this.#hasFailed = true
    this.#due = now() + FAILED_MS
    return this.#metadata
  }
}

/** A text says why there is none. Never rejects. */
async function fetchMetadata(issuer: string, isOpenIdOnly: boolean, signal: AbortSignal): Promise<Metadata | string> {
  let reason = ''
  for (const url of metadataUrls(issuer, isOpenIdOnly)) {
    let answer: FetchedText
    try {
      answer = await fetchText(url, { headers: { accept: 'application/json' } }, { ...FETCH, signal })
    } catch (error) {
      // Another path of the same server would fare no better.
      return (error as Error).message
    }
    if (answer.status === 200) return readMetadata(answer.text, issuer)
    reason = `the answer has status ${answer.status}`
  }
  return reason
}

function readMetadata(text: string, issuer: string): Metadata | string {
  const value = parseJson(text)
  if (value === undefined) return 'the answer is no JSON'
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'the answer is no JSON object'
  // RFC 8414 section 3.3: it is not to be used. A final slash is a difference that files of users have.
  const own = (value as Metadata).issuer
  const isIts = typeof own === 'string' && own.replace(/\/$/, '') === issuer.replace(/\/$/, '')
  return isIts ? (value as Metadata) : 'its issuer is another one'
}
