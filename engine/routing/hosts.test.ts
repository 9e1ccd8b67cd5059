import assert from 'node:assert/strict'
import { test } from 'node:test'
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
