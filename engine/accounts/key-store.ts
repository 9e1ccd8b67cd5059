/**
 * Keys that were made by the API: one line of JSON for each change, on the disk before the answer is. Of a key there is
 * what was asked for, and the SHA-256 of its value.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { writeWhole } from './journal/store.ts'

const FILE = 'keys.jsonl'
const FRESH = 'keys.fresh'

/** A value of a key. Hexadecimal digits, and milliseconds since 1970 until when it is good; null: for good. */
export interface StoredValue {
  readonly hash: string
  readonly validUntil: number | null
}

export interface StoredKey {
  readonly name: string
  /** As the API takes it (madeKeySchema). */
  readonly fields: Readonly<Record<string, unknown>>
  readonly values: readonly StoredValue[]
  /** ISO times. */
  readonly createdAt: string
  readonly changedAt: string
}

/** Where keys of the API are kept. */
export interface KeyStorage {
  readonly keys: ReadonlyMap<string, StoredKey>
  /** Rejects where it cannot be written; then nothing has changed. False: another replica has changed it meanwhile. */
  set(key: StoredKey): Promise<boolean>
  /** As `set`. */
  remove(name: string): Promise<boolean>
}

type Line = { readonly set: StoredKey } | { readonly remove: string }

type Log = (level: 'info' | 'warn' | 'error', message: string) => void

export class KeyStore implements KeyStorage {
  readonly keys = new Map<string, StoredKey>()
  readonly #file: string

  /** `folder` is open (journal/store.ts). Throws where the file cannot be read. */
  constructor(folder: string, log: Log) {
    this.#file = join(folder, FILE)
    const text = existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : ''
    const lines = text.split('\n')
    // A line without its end was being written: nobody got an answer.
    const torn = lines.pop() ?? ''
    for (const [i, line] of lines.entries()) {
      if (!this.#apply(line)) throw new Error(`${this.#file}: line ${i + 1} is no change of a key: mend or remove it`)
    }
    if (torn !== '') log('warn', `the last line of ${this.#file} is no whole one and is left out`)
    if (torn !== '' || lines.length > 2 * this.keys.size) {
      const all = [...this.keys.values()].map((set) => `${JSON.stringify({ set } satisfies Line)}\n`)
      writeWhole(folder, FRESH, FILE, all.join(''))
    }
  }

  async set(key: StoredKey): Promise<boolean> {
    this.#write({ set: key })
    this.keys.set(key.name, key)
    return true
  }

  async remove(name: string): Promise<boolean> {
    this.#write({ remove: name })
    this.keys.delete(name)
    return true
  }

  #write(line: Line): void {
    const fd = openSync(this.#file, 'a', 0o600)
    try {
      writeSync(fd, `${JSON.stringify(line)}\n`)
      fdatasyncSync(fd)
    } finally {
      closeSync(fd)
    }
  }

  #apply(text: string): boolean {
    const line = lineOf(text)
    if (line === null) return false
    if ('set' in line) this.keys.set(line.set.name, line.set)
    else this.keys.delete(line.remove)
    return true
  }
}

/** Null: it is none. */
function lineOf(text: string): Line | null {
  try {
    const line = JSON.parse(text) as Partial<Record<'set' | 'remove', unknown>>
    if (typeof line.remove === 'string') return { remove: line.remove }
    return isStoredKey(line.set) ? { set: line.set } : null
  } catch {
    // No JSON.
    return null
  }
}

export function isStoredKey(value: unknown): value is StoredKey {
  const { name, values, fields } = (value ?? {}) as Partial<StoredKey>
  return typeof name === 'string' && Array.isArray(values) && typeof fields === 'object'
}
