/** Which backend is drawn before its service is asked. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { drawing, drawnFrom } from './drawn.ts'

const choice = (name: string, weight: number, isUsable = true) => ({
  ...{ name, weight, waiting: null },
  isUsable: () => isUsable,
  serve() {}
})

const drawn = (choices: readonly ReturnType<typeof choice>[]) =>
  Array.from({ length: 10 }, (_, i) => drawnFrom(choices, () => i / 10)().name).join('')

test('each backend has its share of what is drawn; what cannot be reached has none while another can', () => {
  equal(drawn([choice('a', 7), choice('b', 3)]), 'aaaaaaabbb')
  equal(drawn([choice('a', 7, false), choice('b', 3)]), 'bbbbbbbbbb')
  equal(drawn([choice('a', 1, false), choice('b', 1, false)]), 'aaaaabbbbb')
  equal(drawn([choice('a', 1)]), 'aaaaaaaaaa')
})

test('without references that wait nothing is drawn', () => {
  deepEqual([drawing([]), drawing([choice('a', 1)])], [null, null])
})
