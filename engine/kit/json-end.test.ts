import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { JsonEnd } from './json-end.ts'

test('the end of a JSON text is found wherever it is cut, and not within texts', () => {
  for (const text of ['{}', '[{"a":"}]"}]', '{"a":"\\\\\\"}","b":[1,{"c":[]}]}', ' {"a":null} ']) {
    const bytes = Buffer.from(text)
    const at = text.trimEnd().length
    for (let cut = 0; cut <= bytes.length; cut++) {
      const end = new JsonEnd()
      equal(end.push(bytes, 0, cut), cut >= at, `${text} up to ${cut}`)
      equal(end.push(bytes, cut, bytes.length), true, text)
    }
  }
  equal(new JsonEnd().push(Buffer.from('no JSON'), 0, 7), false)
})
