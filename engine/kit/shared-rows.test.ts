/** Rows that threads share: one for a name, and one that nobody uses goes to another name. */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { SharedRows } from './shared-rows.ts'

test('a name has one row in all threads, and others have their own', () => {
  const memory = SharedRows.create()
  const [a, b] = [new SharedRows(memory, () => 0), new SharedRows(memory, () => 0)]
  a.row('one').add(0, 5)
  a.row('two').add(0, 7)
  equal(b.row('one').add(0, 1), 6)
  equal(b.row('two').get(0), 7)
  ok(b.row('one').swap(0, 6, 9))
  ok(!a.row('one').swap(0, 6, 10))
  equal(a.row('one').get(0), 9)
})

test('a full table gives away what was not used for long, empty, and its holder finds another one', () => {
  let now = 0
  const rows = new SharedRows(SharedRows.create(), () => now)
  const early = rows.row('early')
  early.set(3, 42)
  for (let i = 0; i < 20_000; i++) rows.row(`crowd ${i}`)
  // All were used a moment ago: who comes now counts for itself.
  const late = rows.row('late')
  late.set(3, 1)
  equal(late.get(3), 1)
  equal(rows.row('early').get(3), 42)
  now = 601_000
  for (let i = 0; i < 20_000; i++) rows.row(`others ${i}`)
  equal(rows.row('newest').get(3), 0)
  early.touch()
  equal(early.get(3), 0)
  early.set(3, 4)
  equal(early.get(3), 4)
})

test('who only reads a row never sees the numbers of the name that has it now, and finds it where it is', () => {
  let now = 0
  const rows = new SharedRows(SharedRows.create(), () => now)
  const [reader, owner] = [rows.row('one'), rows.row('one')]
  owner.set(3, 1)
  now = 601_000
  for (let i = 0; i < 20_000; i++) rows.row(`crowd ${i}`).set(3, 99)
  equal(reader.get(3), 0)
  now = 1_202_000
  owner.touch()
  owner.set(3, 2)
  equal(rows.row('one').get(3), 2)
})
