import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HostTable } from './hosts.ts'

function tableOf(...names: readonly string[]): HostTable<string> {
  const table = new HostTable<string>()
  for (const name of names) table.set(name, name)
  return table
}

test('exact, then the longest wildcard, then any', () => {
  const table = tableOf('*', '*.com', '*.a.com', 'b.a.com')
  assert.equal(table.find('b.a.com'), 'b.a.com')
  assert.equal(table.find('c.b.a.com'), '*.a.com')
  assert.equal(table.find('a.com'), '*.com')
  assert.equal(table.find('com'), '*')
  assert.equal(tableOf('*.com').find('com'), undefined)
  assert.equal(tableOf('*.com').find('.com'), undefined)
})

test('a text too long for a name is looked up exactly or not at all', () => {
  assert.equal(tableOf('*.com').find(`${'a.'.repeat(200)}com`), undefined)
})

test('patterns that cover a host name, most specific first', () => {
  const table = tableOf('*', '*.com', '*.a.com', 'b.a.com')
  assert.deepEqual(table.covering('b.a.com'), ['b.a.com', '*.a.com', '*.com', '*'])
  assert.deepEqual(table.covering('*.a.com'), ['*.a.com', '*.com', '*'])
  assert.deepEqual(table.covering('*'), ['*'])
})

test('map keeps every host name', () => {
  const names = ['*', '*.com', 'a.com']
  const seen: string[] = []
  const mapped = tableOf(...names).map((value, hostname) => {
    seen.push(hostname)
    return value.length
  })
  assert.deepEqual(seen.toSorted(), names)
  assert.equal(mapped.find('a.com'), 5)
})

test('a table made from another one has its values but for the changes, however many were made', () => {
  const names = ['*', '*.com', '*.a.com', ...Array.from({ length: 150 }, (_, i) => `h${i}.a.com`)]
  const change = fc.tuple(fc.constantFrom(...names), fc.option(fc.nat(), { nil: undefined, freq: 3 }))
  const rounds = fc.array(fc.array(change, { minLength: 1, maxLength: 9 }), { maxLength: 60 })
  const check = fc.property(rounds, (all) => {
    let table = new HostTable<number>()
    const expected = new Map<string, number>()
    for (const changes of all) {
      const before = table
      const held = [...before.entries()]
      table = before.with(changes)
      for (const [name, value] of changes) {
        if (value === undefined) expected.delete(name)
        else expected.set(name, value)
      }
      assert.deepEqual(new Map(table.entries()), expected)
      for (const name of names) assert.equal(table.get(name), expected.get(name))
      assert.deepEqual([...before.entries()], held)
    }
  })
  fc.assert(check, { numRuns: 30 })
})
