import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { partsOf, textOf } from './mistakes.ts'

test('a mistake says where, what, and how to mend it', () => {
  equal(
    textOf({ path: 'binds[0].port', message: 'must be a number', hint: 'write 8080' }),
    'binds[0].port: must be a number\nwrite 8080'
  )
  equal(textOf({ path: '', message: 'no YAML', hint: null }), 'no YAML')
})

test('parts are the objects and lists of what runs', () => {
  deepEqual(
    partsOf({ version: 1, hash: 'a', binds: [1, 2], backends: { a: 1 }, none: null }).map(({ name, size }) => [
      name,
      size
    ]),
    [
      ['binds', 2],
      ['backends', 1]
    ]
  )
})
