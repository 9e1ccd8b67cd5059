import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { eventsIn, linesIn } from './lines.ts'

test('lines are cut where they end, and the rest waits', () => {
  deepEqual(linesIn('a\nb\n'), { lines: ['a', 'b'], rest: '' })
  deepEqual(linesIn('a\nhal'), { lines: ['a'], rest: 'hal' })
  deepEqual(linesIn(''), { lines: [], rest: '' })
})

test('events have their data, whatever else they have', () => {
  deepEqual(eventsIn('event: x\ndata: {"a":1}\n\n: comment\n\ndata:b\ndata: c\r\n\r\ndata: ha'), {
    events: ['{"a":1}', 'b\nc'],
    rest: 'data: ha'
  })
})
