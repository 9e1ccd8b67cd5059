import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { contentText, questionIn, received } from './messages.ts'
import { argumentsOf, fieldsOf } from './schema.ts'

test('one message comes as JSON, several as events, in pieces that end anywhere', () => {
  const json = { isEvents: false, rest: '' }
  const half = received(json, '{"id":1,')
  deepEqual(half.messages, [])
  deepEqual(received(half.inbox, '"result":{}}', true).messages, [{ id: 1, result: {} }])
  const events = { isEvents: true, rest: '' }
  const first = received(events, 'event: message\ndata: {"id":1}\n\ndata: {"id"')
  deepEqual(first.messages, [{ id: 1 }])
  deepEqual(received(first.inbox, ':2}', true).messages, [{ id: 2 }])
  deepEqual(received(json, '<html>', true).messages, [])
  deepEqual(received(json, '', true).messages, [])
})

test('what a server asks for is told from what it answers and notifies', () => {
  equal(questionIn({ id: 1, method: 'elicitation/create', params: { message: 'x' } })!.kind, 'elicitation')
  equal(questionIn({ id: 'a', method: 'sampling/createMessage' })!.kind, 'sampling')
  equal(questionIn({ id: 1, method: 'roots/list' })!.kind, 'other')
  equal(questionIn({ method: 'notifications/message' }), null)
  equal(questionIn({ id: 1, result: {} }), null)
})

test('content is its text, and what is no text is named', () => {
  equal(
    contentText({
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', mimeType: 'image/png' }
      ]
    }),
    'a\n[image image/png]'
  )
  equal(contentText({ contents: [{ uri: 'file:///a', text: 'b' }] }), 'b')
  equal(contentText({ messages: [{ role: 'user', content: { type: 'text', text: 'c' } }] }), 'user: c')
  equal(contentText({}), '')
})

const schema = {
  properties: {
    city: { type: 'string', description: 'Where.' },
    days: { type: ['integer', 'null'], default: 3 },
    unit: { enum: ['c', 'f'] },
    deep: { type: 'object' },
    loud: { type: 'boolean', default: false }
  },
  required: ['city', 'deep']
}

test('a form has a field for each property', () => {
  deepEqual(
    fieldsOf(schema).map(({ name, kind, isRequired, first }) => [name, kind, isRequired, first]),
    [
      ['city', 'text', true, ''],
      ['days', 'number', false, '3'],
      ['unit', 'choice', false, ''],
      ['deep', 'json', true, ''],
      ['loud', 'boolean', false, 'false']
    ]
  )
  deepEqual(fieldsOf(undefined), [])
})

test('what is typed becomes arguments, or is named with what is wrong', () => {
  const fields = fieldsOf(schema)
  deepEqual(argumentsOf(fields, { deep: '{"a":1}', unit: 'f', loud: 'true' }), {
    values: { city: '', days: 3, unit: 'f', deep: { a: 1 }, loud: true },
    wrong: {}
  })
  deepEqual(argumentsOf(fields, { days: 'x', deep: '{' }).wrong, {
    days: 'This is no number.',
    deep: 'This is no JSON.'
  })
  deepEqual(Object.keys(argumentsOf(fields, { days: '"3"' }).wrong), ['days', 'deep'])
})
