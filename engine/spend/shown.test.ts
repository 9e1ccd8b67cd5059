import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { COLUMN_NAMES, type Row } from './record.ts'
import { row } from './rows.fixture.ts'
import { recordOf, recordText } from './shown.ts'

test('the text of a record is that of its JSON, whatever stands in it', () => {
  const hostile = '"\\\n\u2028\ud800,}]\u0000'
  const rows: Row[] = [
    row(),
    row({ tags: '["a","\\"b"]', guards: '[{"guard":"request[0]","action":"mask"}]', streamed: 1, costNanos: 1 }),
    row({ model: hostile, key: hostile, detail: hostile, costUnknown: hostile }),
    COLUMN_NAMES.map(() => null),
    COLUMN_NAMES.map((name) => (name === 'time' ? 0 : name === 'tags' || name === 'guards' ? '[]' : 0))
  ]
  for (const one of rows) {
    const made = JSON.stringify(recordOf((_, place) => one[place]!))
    deepEqual(JSON.parse(recordText(one)), JSON.parse(made))
    deepEqual(recordText(one), made)
  }
})
