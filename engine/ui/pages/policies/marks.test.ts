import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { piecesOf } from './marks.ts'

const shown = (text: string, ...marks: readonly (readonly [number, number])[]) =>
  piecesOf(
    text,
    marks.map(([start, end]) => ({ start, end }))
  ).map((piece) => (piece.mark === null ? piece.text : [piece.text]))

test('pieces are the text, with marks around what they are about', () => {
  deepEqual(shown('abcdef', [1, 3], [4, 5]), ['a', ['bc'], 'd', ['e'], 'f'])
  deepEqual(shown('abc'), ['abc'])
  deepEqual(shown('abc', [0, 3]), [['abc']])
})

test('what is behind the end, or empty, still has something to point at', () => {
  deepEqual(shown('ab', [2, 2]), ['ab', [' ']])
  deepEqual(shown('abc', [1, 1]), ['a', ['b'], 'c'])
  deepEqual(shown('abc', [0, 2], [1, 3]), [['ab'], ['c']])
})
