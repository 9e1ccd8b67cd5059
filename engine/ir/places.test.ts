import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Places } from './places.ts'

const ENTRIES = [
  ['binds[0].listeners[0]', 'weir.yaml:3:9'],
  ['binds[0].listeners[0].routes[10]', 'weir.yaml:80:13'],
  ['binds[0].listeners[0].routes[2]', 'weir.yaml:20:13'],
  ['binds[0].listeners[0].routes[2].policies.csrf', 'weir.yaml:24:15'],
  ['backends.a/b/0', 'weir.yaml:90:1'],
  ['backends.ö', 'weir.yaml:91:1']
] as const

test('a path has its place, or that of the nearest thing around it', () => {
  // As another thread has it.
  const places = new Places(Places.of(ENTRIES).shared)
  for (const [path, place] of ENTRIES) assert.equal(places.find(path), place)
  assert.equal(places.find('binds[0].listeners[0].routes[2].policies.authorization.rules[1]'), 'weir.yaml:20:13')
  assert.equal(places.find('binds[0].listeners[0].routes[1]'), 'weir.yaml:3:9')
  assert.equal(places.find('binds[1].listeners[0]'), null)
  assert.equal(places.find(''), null)
})

test('the first entry of a path holds, and names that would break the lines are left out', () => {
  const places = Places.of([
    ['a', '1:1'],
    ['a', '2:2'],
    ['b\nc', '3:3'],
    ['d\te', '4:4']
  ])
  assert.deepEqual(
    ['a', 'b', 'b\nc', 'c', 'd'].map((path) => places.find(path)),
    ['1:1', null, null, null, null]
  )
  assert.equal(Places.of([]).find('a'), null)
})

test('every one of many is found', () => {
  const many = Array.from({ length: 3000 }, (_, i): [string, string] => [`binds[0].routes[${i}]`, `f:${i}:1`])
  const places = Places.of(many)
  for (const [path, place] of many) assert.equal(places.find(path), place)
})
