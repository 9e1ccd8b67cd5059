import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { type Case, precision, recall, resultOf } from './score.ts'

test('spans in code points are places of the text; an overlap is enough, a span beside is wrong', () => {
  const one: Case = {
    corpus: 'c',
    kind: 'k',
    text: '😀 ab cd',
    spans: [
      [2, 4, 'Ssn'],
      [5, 7, 'Email']
    ],
    presidio: [
      [0, 1, 'Ssn'],
      [2, 3, 'Email']
    ]
  }
  const find = (text: string) => [[text.indexOf('b'), text.indexOf('b') + 1] as const, [6, 8] as const]
  const { texts, weir, presidio } = resultOf('Ssn', 'c', [one], find)
  equal(texts, 1)
  deepEqual(weir, { wanted: 1, found: 1, wrong: 1 })
  deepEqual(presidio, { wanted: 1, found: 0, wrong: 1 })
  deepEqual(
    [recall(weir), precision(weir), recall(presidio), precision(presidio)],
    ['1.000', '0.500', '0.000', '0.000']
  )
  equal(precision({ wanted: 0, found: 0, wrong: 0 }), '')
})
