import { deepEqual, equal } from 'node:assert/strict'
import { it } from 'node:test'
import { parseJson } from './json.ts'

it('JSON is its value, and anything else is undefined', () => {
  deepEqual(parseJson('{"a":[1,null]}'), { a: [1, null] })
  equal(parseJson('null'), null)
  for (const text of ['', '{', 'undefined', '{"a":1}x']) equal(parseJson(text), undefined, text)
})
