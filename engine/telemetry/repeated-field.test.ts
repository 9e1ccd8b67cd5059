import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { field, milliseconds } from './escape.ts'
import { RepeatedField } from './repeated-field.ts'

test('the text is that of the value, whichever was before', () => {
  for (const format of ['text', 'json'] as const) {
    const host = new RepeatedField(format, 'http.host', 20)
    for (const value of ['a.example', 'a.example', 'b "x"\n', '', 'a.example', 'long'.repeat(20), 200, '200', 200, 0])
      equal(host.text(value), value === '' ? '' : field(format, 'http.host', value, 20))
  }
})

test('a duration has three decimals', () => {
  for (const ms of [0, 0.0004, 0.0006, 0.01, 0.999, 0.9996, 1, 1.05, 12.345, 999.9996, 86_400_000.25])
    equal(milliseconds(ms), ms.toFixed(3))
})
