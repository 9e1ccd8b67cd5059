import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '#backends/llm/conversation.ts'
import { compact, Fields } from './fields.ts'
import { FormatError } from './format.ts'

const fails = (read: () => unknown, field: string, message: RegExp) =>
  assert.throws(read, (error) => error instanceof FormatError && error.field === field && message.test(error.message))

test('fields are read by type, and errors have their path', () => {
  const body = Fields.of({ model: 'm', n: 1, messages: [{ role: 'user' }, 3], stream: null, word: 'c' }, '')
  assert.equal(body.string('model'), 'm')
  assert.equal(body.optionalBoolean('stream'), null)
  assert.equal(body.count('absent'), 0)
  fails(() => body.string('n'), 'n', /^must be a string$/)
  fails(() => body.string('absent'), 'absent', /^is required/)
  fails(() => body.objects('messages'), 'messages[1]', /^must be an object$/)
  fails(() => body.optionalWord('word', ['a', 'b']), 'word', /^must be one of a, b$/)
  fails(
    () =>
      Fields.of({ a: { b: 'x' } }, '')
        .object('a')
        .optionalNumber('b'),
    'a.b',
    /^must be a number$/
  )
  fails(() => Fields.of([], 'x'), 'x', /^must be an object$/)
})

test('unread fields are left over with their paths, null aside', () => {
  const rest = new Map<string, Json>()
  const item = Fields.of({ role: 'user', name: 'bob', cache: null }, 'messages[0]')
  item.string('role')
  item.leaveUnknown(rest)
  assert.deepEqual([...rest], [['messages[0].name', 'bob']])
  assert.deepEqual(compact({ a: 0, b: null, c: undefined, d: false }), { a: 0, d: false })
})
