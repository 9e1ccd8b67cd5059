/** Keys of one worker: one that was found before is looked at anew when any has changed. */
import { equal } from 'node:assert/strict'
import { hash } from 'node:crypto'
import { test } from 'node:test'
import { NO_BUCKETS } from '#engine/contract/buckets.ts'
import { secret } from '#engine/kit/secret.ts'
import { AccountBook } from './account-book.ts'
import { Books, createBooks } from './books.ts'
import type { AccountChanges, KeyRow } from './rows.ts'

const NOTHING: AccountChanges = { accounts: [], keys: [], goneAccounts: [], goneKeys: [], isComplete: true }

function keyRow(name: string, values: readonly (readonly [text: string, validUntil: number | null])[]): KeyRow {
  return {
    name,
    values: values.map(([text, validUntil]) => ({ hash: secret(hash('sha256', text)), validUntil })),
    ...{ accounts: [], claims: {}, expiresAt: null, isRevoked: false, isGlobal: true }
  }
}

function bookAt(clock: { now: number }): AccountBook {
  const books = new Books(createBooks(1))
  return new AccountBook({ books, worker: 0, journal: null, server: null, wallNow: () => clock.now }, NO_BUCKETS)
}

test('a key is found again and again; one that is removed or rotated is not', () => {
  const book = bookAt({ now: 0 })
  const find = (text: string) => book.find(text)?.name
  book.change({ ...NOTHING, keys: [keyRow('a', [['sk-a', null]]), keyRow('b', [['sk-b', null]])] })
  for (let i = 0; i < 3; i++) {
    equal(find('sk-a'), 'a')
    equal(find('sk-b'), 'b')
    equal(find('sk-c'), undefined)
  }
  book.change({ ...NOTHING, goneKeys: ['a'] })
  equal(find('sk-a'), undefined)
  equal(find('sk-b'), 'b')
  book.change({ ...NOTHING, keys: [keyRow('b', [['sk-new', null]])] })
  equal(find('sk-b'), undefined)
  equal(find('sk-new'), 'b')
  // The same text, made a key of somebody else.
  book.change({ ...NOTHING, goneKeys: ['b'], keys: [keyRow('c', [['sk-new', null]])] })
  equal(find('sk-new'), 'c')
})

test('a value whose time is over is not found, though it was before', () => {
  const clock = { now: 0 }
  const book = bookAt(clock)
  book.change({ ...NOTHING, keys: [keyRow('a', [['sk-old', 10]])] })
  equal(book.find('sk-old')?.name, 'a')
  clock.now = 10
  equal(book.find('sk-old'), undefined)
})

test('more keys than are remembered: each is found, and is its own', () => {
  const book = bookAt({ now: 0 })
  const names = Array.from({ length: 3_000 }, (_, i) => `k${i}`)
  book.change({ ...NOTHING, keys: names.map((name) => keyRow(name, [[`sk-${name}`, null]])) })
  for (let round = 0; round < 2; round++) for (const name of names) equal(book.find(`sk-${name}`)?.name, name)
})
