/** The accounts of one worker: which key a client shows, and what it and its owners may use. */
import { hash as digestOf } from 'node:crypto'
import type { Accounts, Key } from '#engine/contract/accounts.ts'
import type { Buckets, Limit } from '#engine/contract/buckets.ts'
import type { ErrorCode } from '#engine/contract/errors.ts'
import { KeyedHash } from '#engine/kit/keyed-hash.ts'
import { reveal } from '#engine/kit/secret.ts'
import { type Account, type CallParts, limitSpecOf, type Rate, rateText } from './account.ts'
import { beginCall } from './call.ts'
import { ModelNames } from './model-names.ts'
import type { AccountChanges, AccountRow, KeyRow } from './rows.ts'
import { beginServerCall } from './server/call.ts'

/** Clients that call now. A key takes some 100 bytes. */
const RECENT_MAX = 1_024

interface Found {
  readonly key: BookedKey
  readonly validUntil: number | null
}

export class AccountBook implements Accounts {
  readonly parts: CallParts
  readonly #buckets: Buckets
  readonly #accounts = new Map<string, Account>()
  readonly #keys = new Map<string, BookedKey>()
  /** What a client shows is looked up by what no client can compute: how long that takes says nothing of the keys. */
  readonly #keyed = new KeyedHash()
  readonly #byHash = new Map<string, Found>()
  /**
   * Keys that were found since the last change of any: three hashes less for each call of a client that goes on. Only
   * texts that are keys are in it, and V8 compares what has the same hash, under a seed that no client knows.
   */
  readonly #recent = new Map<string, Found>()
  /** One for all accounts with equal numbers: its buckets are told apart by the account's id. */
  readonly #limits = new Map<string, Limit>()

  constructor(parts: CallParts, buckets: Buckets) {
    this.parts = parts
    this.#buckets = buckets
  }

  isComplete = true

  get size(): number {
    return this.#keys.size
  }

  find(shown: string): Key | undefined {
    const found = this.#recent.get(shown) ?? this.#look(shown)
    if (found === undefined) return undefined
    const { key, validUntil } = found
    return validUntil === null || this.parts.wallNow() < validUntil ? key : undefined
  }

  #look(shown: string): Found | undefined {
    const bytes = Buffer.from(shown, 'latin1')
    const found = this.#byHash.get(this.#keyed.of(digestOf('sha256', bytes)))
    if (found === undefined) return undefined
    if (this.#recent.size >= RECENT_MAX) this.#recent.clear()
    // A copy: what is cut out of a header section would keep all of it.
    this.#recent.set(bytes.latin1Slice(), found)
    return found
  }

  /** Exchanges under way keep what they began with. */
  change({ accounts, keys, goneAccounts, goneKeys, isComplete }: AccountChanges): void {
    this.isComplete = isComplete
    this.#recent.clear()
    for (const id of goneAccounts) this.#accounts.delete(id)
    for (const row of accounts) this.#accounts.set(row.id, this.#account(row))
    for (const name of goneKeys) this.#remove(name)
    for (const row of keys) this.#set(row)
  }

  account(id: string): Account | undefined {
    return this.#accounts.get(id)
  }

  #account({ id, budgets, limits, concurrency, models }: AccountRow): Account {
    const rates = limits.map((rate): Rate => {
      const spec = limitSpecOf(rate)
      const name = JSON.stringify(spec)
      const limit = this.#limits.get(name) ?? this.#buckets.limit(spec)
      this.#limits.set(name, limit)
      return { kind: rate.kind, spec: rate, limit, text: rateText(rate) }
    })
    return { id, budgets, rates, concurrency, models: models === null ? null : new ModelNames(models) }
  }

  #remove(name: string): void {
    for (const { hash } of this.#keys.get(name)?.row.values ?? []) this.#byHash.delete(this.#keyed.of(reveal(hash)))
    this.#keys.delete(name)
  }

  #set(row: KeyRow): void {
    this.#remove(row.name)
    const key = new BookedKey(row, this)
    this.#keys.set(row.name, key)
    for (const { hash, validUntil } of row.values) this.#byHash.set(this.#keyed.of(reveal(hash)), { key, validUntil })
  }
}

/** Why it may not be used at `nowMs`; null: it may. */
export function keyRefusal(
  { isRevoked, expiresAt }: Pick<KeyRow, 'isRevoked' | 'expiresAt'>,
  nowMs: number
): ErrorCode | null {
  if (isRevoked) return 'KEY_REVOKED'
  return expiresAt !== null && nowMs >= expiresAt ? 'KEY_EXPIRED' : null
}

export class BookedKey implements Key {
  readonly row: KeyRow
  readonly #book: AccountBook

  constructor(row: KeyRow, book: AccountBook) {
    this.row = row
    this.#book = book
  }

  get name(): string {
    return this.row.name
  }

  get claims(): KeyRow['claims'] {
    return this.row.claims
  }

  get isGlobal(): boolean {
    return this.row.isGlobal
  }

  readonly refusal = (nowMs: number): ErrorCode | null => keyRefusal(this.row, nowMs)

  readonly begin: Key['begin'] = (ex, as) => {
    // Looked up for each call: a team may have other limits by now than when the key was made.
    const accounts = []
    for (const id of this.row.accounts) {
      const account = this.#book.account(id)
      if (account !== undefined) accounts.push(account)
    }
    const { server } = this.#book.parts
    return server === null ? beginCall(ex, accounts, this.#book.parts, as) : beginServerCall(ex, accounts, server, as)
  }
}
