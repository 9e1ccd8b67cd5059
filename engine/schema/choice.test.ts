import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atLeastOne, oneOf } from './choice.ts'
import { isHidden, refusedKeys, z } from './schema.ts'

const messages = (schema: z.ZodType, value: unknown) =>
  (schema.safeParse(value).error?.issues ?? []).filter((i) => !isHidden(i)).map((i) => i.message)

test('exactly one', () => {
  const schema = oneOf(
    { a: z.string().optional(), b: z.string().optional(), ...refusedKeys('kind', ['c']) },
    { x: z.string().optional() }
  )
  assert.deepEqual(schema.parse({ a: '1', x: '2' }), { a: '1', x: '2' })
  assert.deepEqual(messages(schema, { x: '2' }), ['must have exactly one of a, b'])
  assert.deepEqual(messages(schema, { a: '1', b: '2' }), ['must have exactly one of a, b, not a and b'])
  assert.deepEqual(messages(schema, { c: 1 }), ["kind 'c' is not in this version of weir"])
  assert.deepEqual(messages(schema, { aa: '1' }), ['Unrecognized key: "aa"'])
})

test('at least one', () => {
  const schema = atLeastOne({ a: z.string().optional(), b: z.string().optional() })
  assert.deepEqual(schema.parse({ a: '1', b: '2' }), { a: '1', b: '2' })
  assert.deepEqual(messages(schema, {}), ['must have at least one of a, b'])
})

test('a transform never sees an object whose choice was not made, even when the reason is a misspelt key', () => {
  const schema = oneOf({ a: z.string().optional() }).transform(({ a }) => a!.length)
  assert.deepEqual(messages(schema, { aa: '1' }), ['Unrecognized key: "aa"'])
  const some = atLeastOne({ b: z.string().optional() }).transform(({ b }) => b!.length)
  assert.deepEqual(messages(some, { bb: '1' }), ['Unrecognized key: "bb"'])
})

test('editors are told', () => {
  const { oneOf: choices, required } = z.toJSONSchema(oneOf({ a: z.string().optional(), b: z.string().optional() }))
  assert.deepEqual([choices, required], [[{ required: ['a'] }, { required: ['b'] }], undefined])
})
