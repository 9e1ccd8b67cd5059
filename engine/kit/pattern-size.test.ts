import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { patternSize } from './pattern-size.ts'

test('repetitions are counted as if they were written out', () => {
  const sizes = ['', 'abc', 'a{3}', '(ab){3}', '(ab){2,5}', 'a{4,}', '((a{10}){10}){10}', '[a-z]{7}', '[]a]{2}'].map(
    patternSize
  )
  deepEqual(sizes, [0, 3, 4, 13, 21, 5, 1331, 8, 3])
})

test('braces that repeat nothing are characters, and what is escaped is one', () => {
  deepEqual(
    ['a{x}', '\\{3}', '\\p{Greek}{5}', '[{3}]', '\\x{1F600}', '(?i)a', 'a|b*'].map(patternSize),
    [4, 3, 6, 1, 1, 5, 4]
  )
})

test('what is no expression is counted, too, however it ends', () => {
  for (const source of ['(((', ')))', '[', '\\', 'a{', '{5}', '[[:alpha:]', `${'('.repeat(1000)}`])
    ok(patternSize(source) >= 0)
})
