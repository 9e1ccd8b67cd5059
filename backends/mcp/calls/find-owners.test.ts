/** Names of lists that sessions remember. */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { sharedNames } from './find-owners.ts'

test('of the same list of a thousand sessions the names are kept once', () => {
  const place = {}
  const of = (...names: string[]) => sharedNames(place, 'tool a', names)
  const first = of('x', 'y')
  equal(of('x', 'y'), first)
  equal(of('y', 'x', 'x'), first)
  for (const other of [of('x'), of('x', 'x'), of('x', 'y', 'z'), of('x', 'z')]) notEqual(other, first)
  deepEqual([...of('x', 'z')], ['x', 'z'])
  notEqual(sharedNames({}, 'tool a', ['x', 'z']), of('x', 'z'))
})
