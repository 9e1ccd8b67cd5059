/**
 * Texts at URLs that a configuration refers to (documents of APIs): fetched before it is in force, fetched again from
 * time to time, and kept while their server does not answer. In the main thread, which serves no traffic.
 */
import { fetchRemote, type RemoteAnswer, type RemoteState } from './remote-fetch.ts'

/** RFC 9111 would let servers say it; documents of APIs change by releases. */
const REFRESH_MS = 300_000

/** Thrown for what has not been asked for yet: who loads a configuration has it fetched, and loads again. */
const LATER = 'it has not been fetched yet'

interface Entry extends RemoteState {
  text: string | null
  /** Why there is no text, in words. */
  reason: string | null
  hasFailed: boolean
}

export interface RemoteOptions {
  readonly refreshMs?: number
  readonly fetch?: (url: string, state: RemoteState) => Promise<RemoteAnswer>
}

export class RemoteTexts {
  /** A text that is in use has become another one. */
  onChange: () => void = () => {}
  log: (level: 'warn', message: string) => void = () => {}
  readonly #refreshMs: number
  readonly #fetch: (url: string, state: RemoteState) => Promise<RemoteAnswer>
  readonly #entries = new Map<string, Entry>()
  readonly #missing = new Set<string>()
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor({ refreshMs = REFRESH_MS, fetch = fetchRemote }: RemoteOptions = {}) {
    this.#refreshMs = refreshMs
    this.#fetch = fetch
  }

  /** Throws an Error that says in words why there is no text. */
  readonly read = (url: string): string => {
    const entry = this.#entries.get(url)
    if (entry === undefined) this.#missing.add(url)
    else if (entry.text !== null) return entry.text
    throw new Error(`cannot fetch ${shown(url)}: ${entry?.reason ?? LATER}`)
  }

  /** Loads what is to be loaded, again and again until every text that it asks for was asked for. */
  async loaded<T>(load: () => T): Promise<T> {
    for (const [url, { text }] of this.#entries) if (text === null) this.#entries.delete(url)
    for (;;) {
      this.#missing.clear()
      const result = load()
      if (this.#missing.size === 0) return result
      await Promise.all([...this.#missing].map((url) => this.#first(url)))
    }
  }

  /** These are in use; others are left only if `isAll`: a configuration with mistakes may not have named all. */
  follow(urls: Iterable<string>, isAll: boolean): void {
    const wanted = new Set(urls)
    if (isAll) for (const url of this.#entries.keys()) if (!wanted.has(url)) this.#entries.delete(url)
    if (this.#entries.size === 0 || this.#isClosed) this.#stop()
    // One that runs goes on: a configuration that is loaded every minute must not put it off for ever.
    else this.#timer ??= setInterval(() => void this.refresh(), this.#refreshMs).unref()
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
  }

  /** Asks for all again. Never rejects. */
  async refresh(): Promise<void> {
    const changed = await Promise.all([...this.#entries].map(([url, entry]) => this.#again(url, entry)))
    if (changed.includes(true) && !this.#isClosed) this.onChange()
  }

  async #first(url: string): Promise<void> {
    const entry: Entry = { text: null, reason: null, hasFailed: false, etag: null, modified: null }
    const answer = await this.#fetch(url, entry)
    if (answer.kind === 'text') Object.assign(entry, { text: answer.text }, answer.state)
    else entry.reason = answer.kind === 'failed' ? answer.reason : 'the answer has status 304'
    this.#entries.set(url, entry)
  }

  /** True: its text has changed. */
  async #again(url: string, entry: Entry): Promise<boolean> {
    const answer = await this.#fetch(url, entry)
    if (answer.kind === 'failed') {
      const message = `cannot fetch ${shown(url)} again: ${answer.reason}; what is known stays in force`
      if (!entry.hasFailed) this.log('warn', message)
      entry.hasFailed = true
      return false
    }
    entry.hasFailed = false
    if (answer.kind === 'same') return false
    Object.assign(entry, answer.state)
    if (answer.text === entry.text) return false
    entry.text = answer.text
    return true
  }
}

/** Without its query, which may hold a token. */
function shown(url: string): string {
  return url.replace(/[?#].*$/, '')
}
